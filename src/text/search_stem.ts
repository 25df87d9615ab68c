import { wordStem } from "./word_stem.ts";

/** Of those that fit, the first counts; `rest` letters at least must remain before an ending. */
const endings: readonly (readonly [ending: string, rest: number, becomes: string])[] = [
  ["ization", 3, "iz"],
  ["isation", 3, "iz"],
  ["ational", 3, "at"],
  ["fulness", 3, ""],
  ["iveness", 3, "iv"],
  ["ation", 3, "at"],
  ["ating", 3, "at"],
  ["ator", 3, "at"],
  ["ated", 3, "at"],
  ["ate", 3, "at"],
  ["ically", 4, ""],
  ["ical", 4, ""],
  ["izing", 3, "iz"],
  ["ising", 3, "iz"],
  ["ized", 3, "iz"],
  ["ised", 3, "iz"],
  ["ize", 3, "iz"],
  ["ment", 4, ""],
  ["ness", 3, ""],
  ["ing", 3, ""],
  ["edly", 3, ""],
  ["ally", 3, "al"],
  ["ity", 4, ""],
  ["ied", 2, "y"],
  ["ion", 4, ""],
  ["ive", 4, ""],
  ["ed", 3, ""],
  ["ly", 3, ""],
  ["er", 4, ""],
  ["al", 4, ""],
  ["ic", 4, ""],
  ["e", 3, ""],
];

/**
 * What an English word has in common with its inflections and near relatives ("carried", "carries" and "carry"); it is
 * no word itself. Both sides of a search go through it. Words of other alphabets stay as they are.
 * @param word folded
 */
export function searchStem(word: string): string {
  if (!/^[a-z]{3,40}$/.test(word)) return word;
  const stem = withoutEnding(wordStem(word));
  return stem.length > 3 && stem.endsWith("y") ? `${stem.slice(0, -1)}i` : stem;
}

function withoutEnding(word: string): string {
  for (const [ending, rest, becomes] of endings) {
    if (word.length - ending.length < rest || !word.endsWith(ending)) continue;
    const base = word.slice(0, -ending.length) + becomes;
    // "stopped" is "stop", but "filled" is "fill".
    return becomes === "" && /([bdgmnprt])\1$/.test(base) ? base.slice(0, -1) : base;
  }
  return word;
}
