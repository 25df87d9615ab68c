/** Fewer words in a row, or shorter ones, are shared by chance. */
const fewestWords = 3;
const fewestCharacters = 14;
/** Of a text that is compared: more would hold up the page. */
const mostCompared = 50_000;

/** A part of a text, in UTF-16 units. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

interface Word extends Span {
  readonly key: string;
}

/** Where a source says the same as an answer: runs of words that both have, in the source's order. */
export function sharedWords(answer: string, source: string): Span[] {
  const [wordsOfAnswer, wordsOfSource] = [wordsIn(answer), wordsIn(source)];
  const starts = new Map<string, number[]>();
  for (const [at] of wordsOfAnswer.entries()) {
    const key = runKey(wordsOfAnswer, at);
    if (key !== undefined) starts.set(key, [...starts.get(key) ?? [], at].slice(0, 50));
  }
  const found: Span[] = [];
  for (let at = 0; at < wordsOfSource.length;) {
    const key = runKey(wordsOfSource, at);
    const length = Math.max(
      0,
      ...(key === undefined ? [] : starts.get(key) ?? []).map((start) =>
        runLength(wordsOfAnswer, start, wordsOfSource, at)
      ),
    );
    const [first, last] = [wordsOfSource[at], wordsOfSource[at + length - 1]];
    const isLong = first !== undefined && last !== undefined && last.to - first.from >= fewestCharacters;
    if (isLong) found.push({ from: first.from, to: last.to });
    at += isLong ? length : 1;
  }
  return found;
}

function wordsIn(text: string): Word[] {
  return Array.from(
    text.slice(0, mostCompared).matchAll(/[\p{L}\p{M}\p{N}]+(?:[.,]\p{N}+)*/gu),
    ({ 0: word, index }) => ({ key: word.toLowerCase(), from: index, to: index + word.length }),
  );
}

function runKey(words: readonly Word[], at: number): string | undefined {
  return at + fewestWords > words.length
    ? undefined
    : words.slice(at, at + fewestWords).map(({ key }) => key).join(" ");
}

function runLength(a: readonly Word[], atA: number, b: readonly Word[], atB: number): number {
  let length = 0;
  while (a[atA + length] !== undefined && a[atA + length]?.key === b[atB + length]?.key) length++;
  return length;
}
