import { isFunctionWord } from "../../text/function_words.ts";
import { searchStem } from "../../text/search_stem.ts";
import { words } from "../../text/words.ts";

/** The stems of a text's words in order, without those that carry no topic. */
export function topicStems(text: string): string[] {
  return words(text).filter((word) => !isFunctionWord(word)).map(searchStem);
}

/** A question's distinct stems; all its words where none carries a topic. */
export function questionStems(question: string): string[] {
  const stems = topicStems(question);
  return [...new Set(stems.length > 0 ? stems : words(question).map(searchStem))];
}

/**
 * How rare each of some stems is among texts, from 0 upwards: the inverse document frequency of Okapi BM25 (Robertson
 * and Zaragoza, The Probabilistic Relevance Framework, 2009), with one added so that it is never negative.
 */
export function rarities(
  stems: readonly string[],
  texts: readonly ReadonlySet<string>[],
): Map<string, number> {
  return new Map(stems.map((stem) => {
    const holders = texts.reduce((sum, text) => sum + (text.has(stem) ? 1 : 0), 0);
    return [stem, Math.log(1 + (texts.length - holders + 0.5) / (holders + 0.5))];
  }));
}
