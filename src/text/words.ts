import { searchStem } from "./word_stem.ts";

const undecomposed: Readonly<Record<string, string>> = {
  "ß": "ss",
  "æ": "ae",
  "œ": "oe",
  "ø": "o",
  "ł": "l",
  "đ": "d",
};

// A number keeps its separators: 3.5 is not a 3 and a 5.
const word =
  /(?<unspaced>[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]+)|\p{Nd}+(?:[.,]\p{Nd}+)+|[[\p{L}\p{M}\p{N}]--[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]]+/gv;

/** A text in the one form in which words are compared: compatibility forms, case and diacritics gone. */
export function foldText(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]+/g, "")
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[ßæœøłđ]/g, (letter) => undecomposed[letter] ?? letter);
}

/**
 * A text's words in order, folded. Where a script writes no spaces between words, each pair of neighbouring characters
 * stands for one.
 */
export function words(text: string): string[] {
  const found: string[] = [];
  for (const { 0: run, groups } of foldText(text).matchAll(word)) {
    if (groups?.unspaced === undefined) found.push(run);
    else pushPairs([...run], found);
  }
  return found;
}

function pushPairs(characters: readonly string[], found: string[]): void {
  if (characters.length === 1) found.push(...characters);
  for (let at = 1; at < characters.length; at++) found.push(`${characters[at - 1]}${characters[at]}`);
}

const functionWords: ReadonlySet<string> = new Set((
  "a about above after again against all also am an and any are as at be because been before being below " +
  "between both but by can could did do does doing down during each either else even ever few for from further had has " +
  "have having he her here hers him his how however i if in into is it its just let like may me might more most much " +
  "must my neither no nor not now of off on once only or other our ours out over own per same shall she should since so " +
  "some such than that the their theirs them then there therefore these they this those though through thus to too " +
  "under until up upon us very via was we were what when where whether which while who whom whose why will with within " +
  "without would yet you your yours don isn doesn didn won wasn weren " +
  // Those of other languages that are no English words with a meaning of their own.
  "der das dem den ein eine einer eines einem einen und oder aber ist sind nicht mit von zu zum zur im auf bei fur wie " +
  "auch nach wird werden wenn sich durch uber aus als ich wir sie es " +
  "le la les un une et ou est sont dans sur avec pour pas que qui au aux du ce cette il elle nous vous " +
  "el los las una y o pero es del al con por para no se su como lo"
).split(" "));

/** Whether a folded word carries grammar and no topic: articles, pronouns, prepositions and the like; any single letter. */
export function isFunctionWord(word: string): boolean {
  return functionWords.has(word) || /^[a-z]$/.test(word);
}

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
