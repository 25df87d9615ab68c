import { identifierWords, wordStem } from "../../../text/word_stem.ts";

/** A piece of a request. `start` and `end` are its place in the text, in UTF-16 units. */
export interface Token {
  readonly kind: "word" | "number" | "money" | "ordinal" | "date" | "quoted" | "symbol";
  /** What it is compared by: a word in lower case, a number's digits, a quoted text's value. */
  readonly key: string;
  /** A word's stem; the key for the rest. */
  readonly stem: string;
  readonly start: number;
  readonly end: number;
}

/** Phrases in lower case, words apart by one space, and what each stands for. */
export type PhraseTable<T> = ReadonlyMap<string, T>;

/** What a phrase stands for, and the token after it. */
export interface Phrase<T> {
  readonly meaning: T;
  readonly end: number;
}

const tokenPattern = new RegExp(
  [
    // what carries no meaning of its own: space, a compound's hyphen, a number sign, a possessive's mark
    /\s+|(?<=[\p{L}\p{N}])-(?=[\p{L}\p{N}])|#(?=\d)|(?<=[sS])['’](?![\p{L}\p{N}])/u,
    /(?<date>\d{4}-\d{2}(?:-\d{2})?(?![\w-]))/,
    /(?<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)/,
    /(?<number>(?<![\w)])-?[$€£]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?![\p{L}\p{N}_]))/u,
    /(?<ordinal>\d+(?:st|nd|rd|th)\b)/,
    /(?<word>[\p{L}\p{N}_]+(?:['’][\p{L}]+)?)/u,
    /(?<quoted>"(?:[^"]|"")*"|“[^”]*”|‘[^’]*’|'(?:[^']|''|'(?=\p{L}))*')/u,
    /(?<symbol>[<>!]=|<>|.)/,
  ].map((part) => part.source).join("|"),
  "gsu",
);

/** Splits a request into its words, numbers, dates, quoted texts and symbols; number words become numbers. */
export function tokenise(text: string): Token[] {
  const tokens = [...text.matchAll(tokenPattern)].flatMap(({ 0: source, index: start, groups = {} }) => {
    const one = (kind: Token["kind"], key = source): Token[] => [
      { kind, key, stem: key, start, end: start + source.length },
    ];
    if (groups.word !== undefined) return wordTokens(source, start);
    if (groups.date !== undefined) return one("date");
    if (groups.email !== undefined) return one("quoted");
    if (groups.ordinal !== undefined) return one("ordinal");
    if (groups.symbol !== undefined) return one("symbol");
    if (groups.quoted !== undefined) {
      return one("quoted", source.slice(1, -1).replaceAll(source.slice(-1).repeat(2), source.slice(-1)));
    }
    if (groups.number === undefined) return [];
    return one(/[$€£]/.test(source) ? "money" : "number", source.replace(/[$€£,]/g, ""));
  });
  return combineNumberWords(tokens);
}

/** An identifier such as `order_lines` is as many words as it holds; a possessive's ending goes. */
function wordTokens(source: string, start: number): Token[] {
  const word = source.replace(/['’][sS]$/, "");
  const parts = /['’]/.test(word) ? [word.toLowerCase().replace("’", "'")] : identifierWords(word);
  const lower = word.toLowerCase();
  let end = 0;
  return parts.map((key) => {
    const from = Math.max(lower.indexOf(key, end), end);
    end = from + key.length;
    return { kind: "word", key, stem: wordStem(key), start: start + from, end: start + end };
  });
}

const ones =
  ("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen " +
    "seventeen eighteen nineteen").split(" ");
const tens = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const smallNumbers: readonly (readonly [words: string, value: number])[] = [
  ["", 1],
  ["dozen", 12],
  ...ones.map((one, at) => [one, at + 1] as const),
  ...tens.flatMap((ten, index) =>
    ["", ...ones.slice(0, 9)].map((one, at) => [`${ten} ${one}`.trim(), (index + 2) * 10 + at] as const)
  ),
];
const numberWords: PhraseTable<number> = new Map(
  smallNumbers.flatMap(([words, value]) => [
    [words, value],
    [`${words} hundred`.trim(), value * 100],
    [`${words} thousand`.trim(), value * 1000],
  ]),
);

/** Puts one number in place of number words that belong together: "twenty five", "two hundred", "a dozen". */
function combineNumberWords(tokens: readonly Token[]): Token[] {
  const combined: Token[] = [];
  for (let at = 0; at < tokens.length;) {
    const found = phraseAt(tokens, at, numberWords);
    const part = tokens.slice(at, found?.end ?? at + 1);
    const key = String(found?.meaning);
    combined.push(
      ...part.slice(0, 1).map((first): Token =>
        found ? { kind: "number", key, stem: key, start: first.start, end: part.at(-1)?.end ?? 0 } : first
      ),
    );
    at += part.length;
  }
  return combined;
}

/** Words that are apart by spaces, as a set. */
export function wordSet(list: string): ReadonlySet<string> {
  return new Set(list.split(" "));
}

/** A table from meanings and their phrases, which commas separate. */
export function phraseTable<T>(...rows: readonly (readonly [meaning: T, phrases: string])[]): PhraseTable<T> {
  return new Map(
    rows.flatMap(([meaning, list]) => list.split(",").map((phrase) => [phrase.trim(), meaning])),
  );
}

const longestPhrase = 6;

/** The longest phrase of the table that starts at a token; its words are compared as they are, or by their stems. */
export function phraseAt<T>(
  tokens: readonly Token[],
  at: number,
  table: PhraseTable<T>,
  by: "key" | "stem" = "key",
): Phrase<T> | undefined {
  for (let end = Math.min(at + longestPhrase, tokens.length); end > at; end--) {
    const words = tokens.slice(at, end);
    if (words.some(({ kind }) => kind === "quoted")) continue;
    const meaning = table.get(words.map((token) => token[by]).join(" "));
    if (meaning !== undefined) return { meaning, end };
  }
  return undefined;
}

/** What a token is compared by; empty where there is none, or a quoted text, which means nothing but itself. */
export function wordAt(tokens: readonly Token[], at: number): string {
  const token = tokens[at];
  return token === undefined || token.kind === "quoted" ? "" : token.key;
}

/** The first token at or after `at` that is none of the words. */
export function skipWords(tokens: readonly Token[], at: number, words: ReadonlySet<string>): number {
  let next = at;
  while (words.has(wordAt(tokens, next))) next += 1;
  return next;
}

/** A pattern for {@linkcode matchAt}: one space is between words, and it ends where a word does. */
export function wordPattern(source: string): RegExp {
  return new RegExp(`^(?:${source})(?= |$)`);
}

const longestMatch = 12;

/** Matches a pattern with the words from a token on. A quoted text and an amount of money match nothing. */
export function matchAt(tokens: readonly Token[], at: number, pattern: RegExp) {
  const text = tokens.slice(at, at + longestMatch)
    .map(({ kind, key }) => kind === "quoted" || kind === "money" ? '"' : key).join(" ");
  const match = pattern.exec(text);
  return match && { groups: match.groups ?? {}, end: at + match[0].split(" ").length };
}
