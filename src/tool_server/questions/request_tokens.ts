import { identifierWords, wordStem } from "../../text/word_stem.ts";

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
interface Phrase<T> {
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

/** An identifier such as `order_lines` is as many words as it holds; a possessive's "s" goes. */
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

const ones = [
  "",
  ...("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen " +
    "sixteen seventeen eighteen nineteen").split(" "),
];
const tens = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const numberWords: PhraseTable<number> = new Map([
  ...ones.map((one, at) => [one, at] as const),
  ["dozen", 12] as const,
  ...tens.flatMap((ten, at) =>
    ones.slice(0, 10).map((one, unit) => [`${ten} ${one}`, at * 10 + 20 + unit] as const)
  ),
].flatMap(([words, value]) => [
  [words.trim(), value],
  [`${words.trim()} hundred`.trim(), (value || 1) * 100],
  [`${words.trim()} thousand`.trim(), (value || 1) * 1000],
]));

/** Puts one number in place of number words that belong together: "twenty five", "two hundred", "a dozen". */
function combineNumberWords(tokens: readonly Token[]): Token[] {
  let next = 0;
  return tokens.flatMap((token, at): Token[] => {
    if (at < next) return [];
    const found = phraseAt(tokens, at, numberWords);
    next = found?.end ?? at + 1;
    const key = String(found?.meaning);
    return found
      ? [{ kind: "number", key, stem: key, start: token.start, end: tokens[next - 1]?.end ?? token.end }]
      : [token];
  });
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
