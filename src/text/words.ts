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
