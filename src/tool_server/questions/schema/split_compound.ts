import { wordStem } from "../../../text/word_stem.ts";
import { abbreviations } from "./abbreviations.ts";
import { wordWeight } from "./question_words.ts";
import { synonyms } from "./synonyms.ts";

/** Splits a word that is several words in one: `salesorderheader` gives the stems of sales, order, header. */
export type CompoundSplitter = (word: string) => readonly string[];

const shortestCompound = 6;
const longestCompound = 40;
const shortestPart = 3;
/** The catalog's names come first, and then the words of requests, of which there is no end. */
const mostKnown = 20_000;
/** What may be the last part though it is shorter. */
const endings = new Set(["id", "no", "nr", "dt", "cd", "pk", "fk"]);

/**
 * Knows the words in general use and those that the catalog's names have on their own. What cannot be cut into such
 * words without a rest stays as it is.
 */
export function createCompoundSplitter(catalogWords: ReadonlySet<string>): CompoundSplitter {
  const general = generalWords();
  const split = new Map<string, readonly string[]>();

  const isWhole = (word: string): boolean => general.has(word) || wordWeight(word) < 1;

  function isPart(text: string, whole: string): boolean {
    if (text.length < shortestPart || text === whole) return false;
    return general.has(text) || general.has(wordStem(text)) || catalogWords.has(wordStem(text));
  }

  /** The fewest parts, found from each place on to the end; at most one part is as short as three letters. */
  function parts(word: string): readonly string[] {
    const best: (string[] | undefined)[] = Array.from({ length: word.length }, () => undefined);
    best.push([]);
    for (let start = word.length - 1; start >= 0; start--) {
      for (let end = word.length; end > start; end--) {
        const rest = best[end];
        if (rest === undefined || rest.length + 1 >= (best[start]?.length ?? Infinity)) continue;
        const part = word.slice(start, end);
        const fits = isPart(part, word) || (end === word.length && endings.has(part));
        if (fits) best[start] = [part, ...rest];
      }
    }
    const found = best[0] ?? [];
    const short = found.filter((part) => part.length <= shortestPart && !endings.has(part)).length;
    return found.length < 2 || short > 1 ? [word] : found.map(wordStem);
  }

  return (word) => {
    if (word.length < shortestCompound || word.length > longestCompound || isWhole(word)) return [word];
    const known = split.get(word);
    if (known !== undefined) return known;
    const found = parts(word);
    if (split.size < mostKnown) split.set(word, found);
    return found;
  };
}

function generalWords(): ReadonlySet<string> {
  const found = new Set([...abbreviations.keys(), ...synonyms.keys()]);
  for (const meanings of abbreviations.values()) {
    for (const meaning of meanings) meaning.split("_").forEach((word) => found.add(wordStem(word)));
  }
  for (const word of synonyms.keys()) found.add(wordStem(word));
  return found;
}
