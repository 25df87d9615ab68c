import { identifierWords, wordStem } from "../../../text/word_stem.ts";

export type TokenKind = "word" | "number" | "ordinal" | "date" | "quoted" | "symbol";

/** A piece of a request. `start` and `end` are its place in the text, in UTF-16 units. */
export interface Token {
  readonly kind: TokenKind;
  /** What it is compared by: a word in lower case, a number's digits, a quoted text's value. */
  readonly key: string;
  /** A word's stem; the key for the rest. */
  readonly stem: string;
  readonly start: number;
  readonly end: number;
  /** A number written with a currency's sign. */
  readonly isMoney?: boolean;
}

const pattern = new RegExp(
  [
    /(?<space>\s+)/,
    /(?<date>\d{4}-\d{2}(?:-\d{2})?(?![\w-]))/,
    /(?<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)/,
    /(?<number>(?<![\w)])-?[$€£]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?![\p{L}\p{N}_]))/u,
    /(?<ordinal>\d+(?:st|nd|rd|th)\b)/,
    /(?<word>[\p{L}\p{N}_]+(?:['’][\p{L}]+)?)/u,
    /(?<quoted>"(?:[^"]|"")*"|“[^”]*”|‘[^’]*’|'(?:[^']|''|'(?=\p{L}))*')/u,
    /(?<symbol>[<>!]=|<>|.)/,
  ].map((part) => part.source).join("|"),
  "gsuy",
);

/** A possessive, a hyphen inside of a compound and a number sign carry no meaning of their own. */
function isSilent(text: string, start: number): boolean {
  const before = text[start - 1] ?? " ";
  const after = text[start + 1] ?? " ";
  const symbol = text[start];
  if (symbol === "-") return /[\p{L}\p{N}]/u.test(before) && /[\p{L}\p{N}]/u.test(after);
  if (symbol === "#") return /\d/.test(after);
  return (symbol === "'" || symbol === "’") && /[sS]/.test(before) && !/[\p{L}\p{N}]/u.test(after);
}

/** Splits a request into its words, numbers, dates, quoted texts and symbols; number words become numbers. */
export function tokenise(text: string): Token[] {
  const tokens: Token[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const start = match.index;
    if (/['’]/.test(match[0][0] ?? "") && isSilent(text, start)) {
      pattern.lastIndex = start + 1;
      continue;
    }
    tokens.push(...tokensOf(match.groups ?? {}, text, start));
  }
  return combineNumberWords(tokens);
}

function tokensOf(groups: Record<string, string | undefined>, text: string, start: number): Token[] {
  const one = (kind: TokenKind, source: string, key: string): Token[] => [
    { kind, key, stem: key, start, end: start + source.length },
  ];
  if (groups.date !== undefined) return one("date", groups.date, groups.date);
  if (groups.email !== undefined) return one("quoted", groups.email, groups.email);
  if (groups.number !== undefined) return [numberToken(groups.number, start)];
  if (groups.ordinal !== undefined) return one("ordinal", groups.ordinal, groups.ordinal);
  if (groups.word !== undefined) return wordTokens(groups.word, start);
  if (groups.quoted !== undefined) return one("quoted", groups.quoted, unquote(groups.quoted));
  if (groups.symbol === undefined || isSilent(text, start)) return [];
  return one("symbol", groups.symbol, groups.symbol);
}

function numberToken(source: string, start: number): Token {
  const key = source.replace(/[$€£,]/g, "");
  return { kind: "number", key, stem: key, start, end: start + source.length, isMoney: /[$€£]/.test(source) };
}

/** An identifier such as `order_lines` is as many words as it holds; a possessive's ending goes. */
function wordTokens(source: string, start: number): Token[] {
  const word = source.replace(/['’][sS]$/, "");
  const parts = /['’]/.test(word) ? [word.toLowerCase().replace("’", "'")] : identifierWords(word);
  const lower = word.toLowerCase();
  let from = 0;
  return parts.map((key) => {
    from = Math.max(lower.indexOf(key, from), from);
    const at = start + from;
    from += key.length;
    return { kind: "word", key, stem: wordStem(key), start: at, end: at + key.length };
  });
}

function unquote(source: string): string {
  const mark = source[0] ?? "";
  return source.slice(1, -1).replaceAll(mark + mark, mark);
}

const units =
  "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    .concat(" seventeen eighteen nineteen").split(" ");
const tens = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");

const values: ReadonlyMap<string, number> = new Map([
  ...units.map((word, index): [string, number] => [word, index + 1]),
  ...tens.map((word, index): [string, number] => [word, (index + 2) * 10]),
  ["dozen", 12],
]);
const multipliers: ReadonlyMap<string, number> = new Map([["hundred", 100], ["thousand", 1000]]);

/** Puts one number in place of number words that belong together: "twenty five", "two hundred", "a dozen". */
function combineNumberWords(tokens: readonly Token[]): Token[] {
  const combined: Token[] = [];
  for (let at = 0; at < tokens.length;) {
    const first = tokens[at];
    if (first === undefined) break;
    const { value, length } = numberAt(tokens, at);
    if (length === 0) {
      combined.push(first);
      at += 1;
      continue;
    }
    const key = String(value);
    combined.push({
      kind: "number",
      key,
      stem: key,
      start: first.start,
      end: tokens[at + length - 1]?.end ?? first.end,
    });
    at += length;
  }
  return combined;
}

function numberAt(tokens: readonly Token[], at: number): { value: number; length: number } {
  const wordAt = (index: number) => tokens[index]?.kind === "word" ? tokens[index].key : "";
  let value = values.get(wordAt(at));
  let length = value === undefined ? 0 : 1;
  const unit = values.get(wordAt(at + 1));
  if (value !== undefined && value >= 20 && unit !== undefined && unit < 10) {
    value += unit;
    length = 2;
  }
  const multiplier = multipliers.get(wordAt(at + length));
  if (multiplier !== undefined) return { value: (value ?? 1) * multiplier, length: length + 1 };
  return { value: value ?? 0, length };
}
