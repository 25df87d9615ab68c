import type { VendorFault } from "./send_reply.ts";
import type { AskedCompletion, VendorScript } from "./vendor_wire.ts";

export interface ScriptOptions {
  /** A whole answer, or the pieces in which a stream brings it; "It is 42." in two pieces where absent. */
  readonly answer?: string | readonly string[] | ((asked: AskedCompletion) => string | readonly string[]);
  /** The vector of a text; where absent, one of 8 numbers that differs from text to text. */
  readonly embed?: (text: string) => readonly number[];
  /** How well a document fits; where absent, the words that it shares with the query, counted. */
  readonly score?: (query: string, document: string) => number;
  /** Every answer reaches the longest one allowed. */
  readonly isCut?: boolean;
}

/** What a vendor's model says, and how a fault of the model changes it. */
export function createScript(options: ScriptOptions, fault: VendorFault | undefined): VendorScript {
  const { answer = ["It is ", "42."], embed = exampleVector, score = sharedWords, isCut = false } = options;
  return {
    isCut,
    answer(asked) {
      if (fault === "empty answer") return [];
      const said = typeof answer === "function" ? answer(asked) : answer;
      return typeof said === "string" ? [said] : said;
    },
    embed(texts, dimensions) {
      const vectors = texts.map((text) => embed(text).slice(0, dimensions));
      if (fault === "wrong dimensions") return vectors.map((vector) => vector.slice(1));
      if (fault === "too few vectors") return vectors.slice(1);
      // JSON has no NaN: it becomes null
      if (fault === "a number that is none") return vectors.map((vector) => [...vector.slice(1), NaN]);
      return vectors;
    },
    score: (query, documents) => documents.map((document) => score(query, document)),
  };
}

function exampleVector(text: string): number[] {
  const sum = [...text].reduce((total, char) => total + (char.codePointAt(0) ?? 0), 0);
  return Array.from({ length: 8 }, (_, place) => Math.fround(Math.sin(sum + place)));
}

function sharedWords(query: string, document: string): number {
  const words = new Set(document.toLowerCase().split(/\W+/));
  return query.toLowerCase().split(/\W+/).filter((word) => words.has(word)).length;
}
