import { foldText } from "../../../text/words.ts";
import {
  type ArgumentKind,
  monthOf,
  type QuestionArgument,
  type ValueContext,
  valuesAt,
} from "./argument_values.ts";
import { type Phrasing, placeholder, valueContext } from "./phrasing.ts";
import { monthNames, requestWords } from "./request_words.ts";
import { wordWeight } from "../schema/name_words.ts";

interface AskableTextOptions {
  readonly question: {
    readonly phrasings: readonly Phrasing[];
    readonly arguments: readonly QuestionArgument[];
  };
  readonly request: string;
  /** Words that are values of arguments which list them, as {@linkcode ValueContext} has them. */
  readonly listed: ReadonlySet<string>;
  /** In milliseconds. */
  readonly now: number;
}

/**
 * One of a question's texts with values for its arguments: what the request says, then what is like it (Germany for
 * "german", the last March for "march"), then a default or an example. Undefined where an argument has no example.
 * `said` is how many of the values have to do with the request, less those that are examples.
 */
export function askableText(
  text: string,
  { question, request, listed, now }: AskableTextOptions,
): { readonly text: string; readonly said: number } | undefined {
  const words = requestWords(request)?.words ?? [];
  const context = valueContext(request, words, listed);
  const own = new Set(
    question.phrasings.flatMap(({ parts }) => parts.map((part) => part.kind === "word" ? part.key : "")),
  );
  let said = 0;
  let isWhole = true;
  const taken = new Set<number>();
  const filled = text.replaceAll(placeholder, (written, name: string) => {
    const kind = question.arguments.find((argument) => argument.name === name);
    if (kind === undefined) return written;
    const value = saidValue(kind, context, taken) ?? likeValue(kind, context, own, now);
    const shown = value ?? kind.default ?? example(kind, name, now);
    if (value !== undefined) said++;
    else if (kind.default === undefined) said--;
    if (shown === undefined) isWhole = false;
    return written.replace(`{${name}}`, () => shown ?? "");
  });
  return isWhole ? { text: filled, said } : undefined;
}

/** @param taken gets the number of the word that the value begins with */
function saidValue(kind: ArgumentKind, context: ValueContext, taken: Set<number>): string | undefined {
  for (let at = 0; at < context.words.length; at++) {
    const [found] = taken.has(at) ? [] : valuesAt(kind, context, at);
    if (found === undefined) continue;
    taken.add(at);
    if (kind.values !== undefined) return kind.values.find(({ value }) => value === found.value)?.label;
    if (kind.type === "month") return monthText(found.value);
    return kind.type === "text" && kind.pattern === undefined ? quoted(found.value) : found.value;
  }
  return undefined;
}

/** What the request seems to mean without saying it: it is told to whoever asked, and never run. */
function likeValue(
  kind: ArgumentKind,
  { words, text }: ValueContext,
  own: ReadonlySet<string>,
  now: number,
): string | undefined {
  if (kind.values !== undefined) {
    const shared = (label: string, word: string) => {
      let length = 0;
      while (length < word.length && label[length] === word[length]) length++;
      return length;
    };
    const others = words.filter(({ key }) => !own.has(key)).map(({ token }) => foldText(token.key));
    const [best] = kind.values.map(({ label }) => ({
      label,
      length: Math.max(0, ...others.map((word) => shared(foldText(label), word))),
    })).toSorted((a, b) => b.length - a.length);
    return best !== undefined && best.length >= leastShared ? best.label : undefined;
  }
  if (kind.type === "month") {
    const month = words.map(({ token }) => monthOf(token)).find((each) => each !== undefined);
    if (month === undefined) return undefined;
    const today = new Date(now);
    const year = today.getUTCFullYear() - (month > today.getUTCMonth() + 1 ? 1 : 0);
    return `${capitalised(monthNames[month - 1] ?? "")} ${year}`;
  }
  if (kind.type !== "text" || kind.pattern !== undefined) return undefined;
  // the last words that are not the question's own
  const start =
    words.findLastIndex(({ key, token }) =>
      own.has(key) || key.startsWith("#") || wordWeight(token.key) === 0
    ) + 1;
  const [first, last] = [words[start]?.token, words.at(-1)?.token];
  return first?.kind !== "word" || last?.kind !== "word" || words.length - start > mostUnknown
    ? undefined
    : quoted(text.slice(first.start, last.end));
}

/** A name that is written in small letters has hardly more words. */
const mostUnknown = 3;
/** Letters that a value and a word of the request must begin with in common. */
const leastShared = 4;

function example(
  { type, values, pattern, min, max }: ArgumentKind,
  name: string,
  now: number,
): string | undefined {
  const today = new Date(now).toISOString().slice(0, 10);
  const within = (usual: number) => String(Math.min(Math.max(usual, min ?? -Infinity), max ?? Infinity));
  if (values !== undefined) return values[0]?.label;
  switch (type) {
    case "text":
      return pattern === undefined ? quoted(name.replaceAll("_", " ")) : undefined;
    case "integer":
    case "number":
      return within(10);
    case "year":
      return within(Number(today.slice(0, 4)));
    case "date":
      return today;
    case "month":
      return monthText(today);
  }
}

/** @param day `2026-03-01` */
function monthText(day: string): string {
  return `${capitalised(monthNames[Number(day.slice(5, 7)) - 1] ?? "")} ${day.slice(0, 4)}`;
}

function capitalised(word: string): string {
  return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;
}

function quoted(text: string): string {
  return `"${text}"`;
}
