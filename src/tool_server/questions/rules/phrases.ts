import type { Token } from "./tokens.ts";

/** Phrases in lower case, words apart by one space, and what each stands for. */
export type PhraseTable<T> = ReadonlyMap<string, T>;

const longestPhraseWords = 5;

/** A table from meanings to phrases that are separated by commas. */
export function phraseTable<T>(rows: readonly (readonly [phrases: string, meaning: T])[]): PhraseTable<T> {
  const table = new Map<string, T>();
  for (const [phrases, meaning] of rows) {
    for (const phrase of phrases.split(",")) table.set(phrase.trim(), meaning);
  }
  return table;
}

/** The longest phrase of the table that starts at a token. */
export function phraseAt<T>(
  tokens: readonly Token[],
  at: number,
  table: PhraseTable<T>,
): { readonly meaning: T; readonly length: number } | undefined {
  for (let length = Math.min(longestPhraseWords, tokens.length - at); length > 0; length--) {
    const words = tokens.slice(at, at + length);
    if (words.some((token) => token.kind === "quoted")) continue;
    const meaning = table.get(words.map((token) => token.key).join(" "));
    if (meaning !== undefined) return { meaning, length };
  }
  return undefined;
}

/** The first token at or after `at` that is none of the words. */
export function skipWords(tokens: readonly Token[], at: number, words: ReadonlySet<string>): number {
  let next = at;
  for (let token = tokens[next]; token !== undefined && token.kind !== "quoted" && words.has(token.key);) {
    next += 1;
    token = tokens[next];
  }
  return next;
}
