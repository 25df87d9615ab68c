import type { Token } from "./tokens.ts";
import { skipWords } from "./phrases.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";

const joints = new Set(["and", "or", ",", "&"]);

/** Labels of an enumeration as a request lists them. */
export interface LabelList {
  readonly labels: readonly string[];
  /** Tokens taken; 0 where the first is no label. */
  readonly length: number;
}

/** A label written as in PostgreSQL or with spaces; a quoted one is meant letter by letter. */
function labelAt(tokens: readonly Token[], at: number, labels: readonly string[]) {
  const first = tokens[at];
  if (first?.kind === "quoted") {
    return labels.includes(first.key) ? { label: first.key, length: 1 } : undefined;
  }
  let longest: { label: string; length: number } | undefined;
  for (const label of labels) {
    const stems = identifierWords(label).map(wordStem);
    const fits = stems.every((stem, index) => {
      const token = tokens[at + index];
      return token?.kind === "word" && token.stem === stem;
    });
    if (fits && stems.length > (longest?.length ?? 0)) longest = { label, length: stems.length };
  }
  return longest;
}

/** The labels from a token on, joined by "and", "or" or commas. */
export function labelsAt(tokens: readonly Token[], start: number, allowed: readonly string[]): LabelList {
  const labels: string[] = [];
  let end = start;
  let next = start;
  while (labels.length === 0 || next > end) {
    const found = labelAt(tokens, next, allowed);
    if (found === undefined) break;
    labels.push(found.label);
    end = next + found.length;
    next = skipWords(tokens, end, joints);
  }
  return { labels, length: end - start };
}
