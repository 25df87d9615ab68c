import { sharedWords } from "../../src/tool_server/view/page/shared_words.ts";
import type { Citation } from "./documents_api.ts";

/** A part of an answer: words, the number of a source, or a doubt about the claim before it. */
interface Piece {
  readonly kind: "text" | "source" | "doubt";
  readonly text: string;
}

const mark = /([[【［]\s*\d{1,3}(?:\s*[,;、，–-]\s*\d{1,3})*\s*[\]】］])/u;

/** An answer whose marks such as `[2]` and `[1, 3]` are numbers, and that has a doubt behind each claim that is not verified. */
export function answerPieces(answer: string, citations: readonly Citation[]): Piece[] {
  // citations count whole characters
  const characters = [...answer];
  const doubted = citations.filter(({ verified }) => !verified);
  const starts = [0, ...doubted.map(({ end }) => end)];
  return starts.flatMap((start, at) => {
    const claim = doubted[at];
    const pieces = withNumbers(characters.slice(start, claim?.end).join(""));
    if (claim === undefined) return pieces;
    const text = claim.cited ? "not verified" : "names no source";
    return [...pieces, { kind: "doubt", text }];
  });
}

function withNumbers(text: string): Piece[] {
  return text.split(mark).flatMap((part, at): Piece[] =>
    at % 2 === 0
      ? part === "" ? [] : [{ kind: "text", text: part }]
      : numbersIn(part).map((number) => ({ kind: "source", text: `${number}` }))
  );
}

const longestRange = 100;

function numbersIn(mark: string): number[] {
  return mark.split(/[,;、，]/).flatMap((part) => {
    const [first = 0, last = first] = (part.match(/\d+/g) ?? []).map(Number);
    if (last < first || last - first > longestRange) return [first, last];
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
}

/** The sentences that cite a source. */
export function claimsOn(number: number, answer: string, citations: readonly Citation[]): string[] {
  const characters = [...answer];
  return citations.filter(({ sources }) => sources.includes(number))
    .map(({ start, end }) => characters.slice(start, end).join(""));
}

/** A source's text in parts: those that its claims have in the same words, and those between. */
export function citedWords(claims: readonly string[], text: string) {
  let from = 0;
  const parts = sharedWords(claims.join("\n"), text).flatMap((span) => {
    const before = text.slice(from, span.from);
    from = span.to;
    const cited = text.slice(span.from, span.to);
    return [{ text: before, isCited: false }, { text: cited, isCited: true }];
  });
  return [...parts, { text: text.slice(from), isCited: false }];
}

/** An address of the web, else undefined: no other is followed. */
export function webAddress(value: unknown): string | undefined {
  return typeof value === "string" && /^https?:\/\//i.test(value) ? URL.parse(value)?.href : undefined;
}
