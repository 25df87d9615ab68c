import { searchStem } from "./word_stem.ts";
import { isFunctionWord, words } from "./words.ts";

/** So many letters tell what a word is about, in languages whose endings are not known. */
const letters = 6;

/** Whether a word has a figure in it. */
export function hasFigure(word: string): boolean {
  return /\p{Nd}/u.test(word);
}

/** What a text is about: the beginnings of its words, but for those that carry grammar. */
export function topicsOf(text: string): Set<string> {
  // an article in German
  const own = words(text).filter((word) => !isFunctionWord(word) && word !== "die");
  return new Set(own.map((word) => hasFigure(word) ? word : searchStem(word).slice(0, letters)));
}
