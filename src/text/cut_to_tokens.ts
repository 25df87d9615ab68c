import { splitSentences } from "./sentences.ts";
import { countTokens, endOfTokens } from "./token_count.ts";

/**
 * The longest beginning of a text that `countTokens` finds within a budget and that ends well: with a sentence where
 * that keeps half of what fits, else with a word, else between two characters as a reader sees them.
 * @param maxTokens 0 or more
 */
export function cutToTokens(text: string, maxTokens: number): string {
  if (endOfTokens(text, maxTokens) === text.length) return text;
  let limit = endOfTokens(text, maxTokens);
  for (;;) {
    const cut = text.slice(0, goodEnd(text, limit)).trimEnd();
    if (cut === "" || countTokens(cut) <= maxTokens) return cut;
    // What a run costs depends on what follows it, so the last one may have become dearer by the cut.
    limit = cut.length - 1;
  }
}

function goodEnd(text: string, limit: number): number {
  const sentenceEnd = lastSentenceEnd(text, limit);
  if (sentenceEnd * 2 >= limit) return sentenceEnd;
  const wordEnd = lastWordEnd(text, limit);
  return wordEnd * 2 >= limit ? wordEnd : lastGraphemeEnd(text, limit);
}

/** The sentence after the limit is looked at too: it tells whether a full stop before it was one. */
function lastSentenceEnd(text: string, limit: number): number {
  const sentences = splitSentences(text.slice(0, limit + 200));
  return sentences.findLast((sentence) => sentence.end <= limit)?.end ?? 0;
}

function lastWordEnd(text: string, limit: number): number {
  let at = limit;
  while (at > 0 && !/\s/.test(text.charAt(at))) at--;
  return at;
}

/** Where the last character before the limit that is whole ends; no character is longer than the window. */
function lastGraphemeEnd(text: string, limit: number): number {
  const start = Math.max(0, limit - 100);
  const segments = new Intl.Segmenter("en", { granularity: "grapheme" }).segment(
    text.slice(start, limit + 100),
  );
  return start + (segments.containing(limit - start)?.index ?? limit - start);
}
