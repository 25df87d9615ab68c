import { foldText } from "../../../text/words.ts";
import { wordStem } from "../../../text/word_stem.ts";
import { monthNames, monthWords, type RequestWord, type Token, wordSet } from "./request_words.ts";

export const argumentTypes = ["text", "integer", "number", "date", "month", "year"] as const;

export interface ArgumentKind {
  readonly type: typeof argumentTypes[number];
  /**
   * The values that it may have, each with the words that stand for it, folded, and the first of them as it was written;
   * absent: any of its type.
   */
  readonly values?:
    | readonly {
      readonly value: string;
      readonly words: readonly (readonly string[])[];
      readonly label: string;
    }[]
    | undefined;
  /** What a text has to fit as a whole. */
  readonly pattern?: RegExp | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

export interface QuestionArgument extends ArgumentKind {
  readonly name: string;
  readonly description: string;
  /** Of phrasings that leave it out. */
  readonly default?: string | undefined;
}

interface FoundValue {
  /** As PostgreSQL is given it. */
  readonly value: string;
  /** The word after it. */
  readonly end: number;
}

/** What a request is read from. */
export interface ValueContext {
  readonly text: string;
  readonly words: readonly RequestWord[];
  /** Whether a capital tells a name from other words: not where each word of the request begins with one. */
  readonly capitalsTell: boolean;
  /** Words that are values of arguments which list them, folded and apart by a space: they are no other text. */
  readonly listed: ReadonlySet<string>;
}

/** A text of more words is no name. */
const longestText = 6;

/** The values that the words from `at` on can stand for, longest first. */
export function valuesAt(kind: ArgumentKind, context: ValueContext, at: number): FoundValue[] {
  if (kind.values !== undefined) return listedValues(kind.values, context, at);
  switch (kind.type) {
    case "text":
      return kind.pattern === undefined ? names(context, at) : fitting(kind.pattern, context, at);
    case "integer":
    case "number":
      return numbers(kind, context, at);
    case "year":
      return numbers(
        { type: "integer", min: Math.max(1000, kind.min ?? 1000), max: Math.min(9999, kind.max ?? 9999) },
        context,
        at,
      )
        .filter(() => /^\d{4}$/.test(tokenAt(context, at)?.key ?? ""));
    case "date":
      return dates(context, at);
    case "month":
      return months(context, at);
  }
}

/** A value's words as they are compared with those of a request. */
export function valueWords(tokens: readonly Token[]): string[] {
  return tokens.map(({ kind, key }) => foldText(kind === "word" ? wordStem(key) : key));
}

function tokenAt({ words }: ValueContext, at: number): Token | undefined {
  return words[at]?.token;
}

function listedValues(
  values: NonNullable<ArgumentKind["values"]>,
  context: ValueContext,
  at: number,
): FoundValue[] {
  const found: FoundValue[] = [];
  const quoted = tokenAt(context, at)?.kind === "quoted"
    ? foldText(tokenAt(context, at)?.key ?? "")
    : undefined;
  for (const { value, words } of values) {
    for (const each of words) {
      const isHere = quoted === undefined
        ? each.every((word, place) => {
          const token = tokenAt(context, at + place);
          if (token === undefined || token.kind === "quoted" || valueWords([token])[0] !== word) return false;
          // "in" is no Indiana, and "no" no Norway
          return word.length > 2 || !/^[a-z]+$/.test(context.text.slice(token.start, token.end));
        })
        : quoted === foldText(value);
      if (isHere) found.push({ value, end: quoted === undefined ? at + each.length : at + 1 });
    }
  }
  return found.toSorted((a, b) => b.end - a.end);
}

/** Words that begin with a capital and are no names of what a free text stands for; with them a request says when. */
const times = wordSet(
  `${monthWords} monday tuesday wednesday thursday friday saturday sunday today yesterday tomorrow now day days week ` +
    "weeks month months quarter quarters year years q1 q2 q3 q4 h1 h2 easter christmas i",
);
/** Small words within a name: "Bank of America". */
const withinNames = /^(?:of|de|la|le|du|der|den|von|van|da|di|del|y|e|the)$/;

/**
 * A text that any value may have is taken from a request only where it is set off from the rest: quoted, or a name in
 * capitals. Other words may be one condition more.
 */
function names(context: ValueContext, at: number): FoundValue[] {
  const first = tokenAt(context, at);
  if (first?.kind === "quoted") return first.key.trim() === "" ? [] : [{ value: first.key, end: at + 1 }];
  // a sentence begins with a capital
  if (!context.capitalsTell || context.text.slice(0, first?.start).trim() === "") return [];
  if (/\b(?:the|an?|our)\s+$/i.test(context.text.slice(0, first?.start))) return [];
  const isName = (token: Token | undefined) =>
    token?.kind === "word" && /^\p{Lu}/u.test(context.text.slice(token.start, token.end)) &&
    !times.has(token.key);
  const found: FoundValue[] = [];
  for (let end = at; end < at + longestText; end++) {
    const token = tokenAt(context, end);
    if (token === undefined || (end > at && !areNeighbours(context, end))) break;
    if (isName(token)) found.unshift({ value: sourceOf(context, at, end), end: end + 1 });
    else if (end === at || !withinNames.test(context.text.slice(token.start, token.end))) break;
  }
  // of a run of names, a part is not what is asked for
  return found.slice(0, 1).filter(({ end }) => {
    const tokens = context.words.slice(at, end).map(({ token }) => token);
    return !context.listed.has(valueWords(tokens).join(" "));
  });
}

/** Whether nothing that was left out of the words stands before this one, but space. */
function areNeighbours(context: ValueContext, at: number): boolean {
  return !/[,;:.!?]\s/.test(between(context, at));
}

function between(context: ValueContext, at: number): string {
  const [before, after] = [tokenAt(context, at - 1), tokenAt(context, at)];
  return before === undefined || after === undefined ? "" : context.text.slice(before.end, after.start);
}

function fitting(pattern: RegExp, context: ValueContext, at: number): FoundValue[] {
  const found: FoundValue[] = [];
  for (let end = at; end < Math.min(at + longestText, context.words.length); end++) {
    const token = tokenAt(context, end);
    const text = end === at && token?.kind === "quoted" ? token.key : sourceOf(context, at, end);
    if (pattern.exec(text)?.[0] === text && text !== "") found.unshift({ value: text, end: end + 1 });
  }
  return found;
}

function sourceOf(context: ValueContext, from: number, to: number): string {
  return context.text.slice(tokenAt(context, from)?.start, tokenAt(context, to)?.end);
}

function numbers(
  { type, min = -Infinity, max = Infinity }: Pick<ArgumentKind, "type" | "min" | "max">,
  context: ValueContext,
  at: number,
): FoundValue[] {
  const token = tokenAt(context, at);
  if (token?.kind !== "number") return [];
  const isOfType = type === "integer"
    ? /^-?\d{1,18}$/.test(token.key)
    : /^-?\d{1,18}(?:\.\d{1,18})?$/.test(token.key);
  const value = Number(token.key);
  return isOfType && value >= min && value <= max ? [{ value: token.key, end: at + 1 }] : [];
}

export function monthOf(token: Token | undefined): number | undefined {
  if (token?.kind !== "word" || token.key.length < 3) return undefined;
  const key = token.key === "sept" ? "sep" : token.key;
  const found = monthNames.findIndex((name) => name === key || name.slice(0, 3) === key);
  return found < 0 ? undefined : found + 1;
}

function yearOf(token: Token | undefined): number | undefined {
  return token?.kind === "number" && /^[12]\d{3}$/.test(token.key) ? Number(token.key) : undefined;
}

/** `2026-03-01`, "1 March 2026", "March 1st, 2026": what names a day with its year. */
function dates(context: ValueContext, at: number): FoundValue[] {
  const [first, second, third] = [0, 1, 2].map((place) => tokenAt(context, at + place));
  if (first?.kind === "date") return asDate(first.key, at + 1);
  const year = yearOf(third);
  if (year === undefined) return [];
  const dayOf = (token: Token | undefined) =>
    token?.kind === "number" || token?.kind === "ordinal" ? Number.parseInt(token.key, 10) : undefined;
  const [day, month] = monthOf(first) === undefined
    ? [dayOf(first), monthOf(second)]
    : [dayOf(second), monthOf(first)];
  return day === undefined || month === undefined ? [] : asDate(isoDate(year, month, day), at + 3);
}

function asDate(text: string, end: number): FoundValue[] {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return [];
  const time = Date.parse(`${text}T00:00:00Z`);
  // 30 February
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text
    ? []
    : [{ value: text, end }];
}

/** `2026-03`, "March 2026", as its first day. */
function months(context: ValueContext, at: number): FoundValue[] {
  const [first, second] = [tokenAt(context, at), tokenAt(context, at + 1)];
  if (first?.kind === "date" && /^\d{4}-\d{2}$/.test(first.key)) return asDate(`${first.key}-01`, at + 1);
  const [month, year] = [monthOf(first), yearOf(second)];
  return month === undefined || year === undefined ? [] : asDate(isoDate(year, month, 1), at + 2);
}

function isoDate(year: number, month: number, day: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${year}-${two(month)}-${two(day)}`;
}
