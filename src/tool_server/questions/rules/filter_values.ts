import type { Value } from "./conditions.ts";
import type { Scan } from "./draft.ts";
import { phraseAt } from "./phrases.ts";
import { tableMentionAt } from "./table_mentions.ts";
import { timeSpanAt } from "./time_span.ts";
import * as vocabulary from "./vocabulary.ts";

const reservedPhrases = [
  vocabulary.requestVerbs,
  vocabulary.countPhrases,
  vocabulary.aggregates,
  vocabulary.superlatives,
  vocabulary.orderPhrases,
  vocabulary.directions,
  vocabulary.groupPhrases,
  vocabulary.timeUnits,
  vocabulary.timeAdjectives,
  vocabulary.comparisons,
  vocabulary.absencePhrases,
  vocabulary.textMatches,
  vocabulary.equalityPhrases,
  vocabulary.creationWords,
];
const reservedWords = new Set([
  ...vocabulary.fillers,
  ...vocabulary.distinctWords,
  ...vocabulary.everything,
  ...("or not no but than never if between since until before after during order limit null none empty blank set given" +
    " present known available same").split(" "),
]);

/** Whether a word means something to the reading itself, so that it cannot pass for a value unless quoted. */
function isReserved(scan: Scan, at: number): boolean {
  const { tokens, table } = scan;
  return reservedWords.has(tokens[at]?.key ?? "") || tableMentionAt(tokens, at, table) !== undefined ||
    scan.columns.at(tokens, at) !== undefined || timeSpanAt(tokens, at) !== undefined ||
    reservedPhrases.some((table) => phraseAt<unknown>(tokens, at, table) !== undefined);
}

/** Where a word ends that holds marks, as "T-shirt" and "snake_case" do. */
function endOfWord(scan: Scan, at: number): number {
  let next = at + 1;
  for (let token = tokenAfter(scan, next); token !== undefined; token = tokenAfter(scan, next)) next += 1;
  return next;
}

function tokenAfter({ tokens, source }: Scan, at: number) {
  const before = tokens[at - 1];
  const token = tokens[at];
  if (before === undefined || token === undefined || token.kind === "symbol") return undefined;
  return /^[-_]?$/.test(source.slice(before.end, token.start)) ? token : undefined;
}

/** A quoted text, a word, or several words in a row that begin with a capital letter. */
export function valueAt(
  scan: Scan,
  at: number,
): { readonly value: Value; readonly length: number } | undefined {
  const { tokens, source } = scan;
  const first = tokens[at];
  if (first === undefined) return undefined;
  if (first.kind === "quoted") return { value: { text: first.key, isQuoted: true }, length: 1 };
  if (first.kind !== "word" || isReserved(scan, at)) return undefined;
  const isCapital = (index: number) =>
    /^\p{Lu}/u.test(source.slice(tokens[index]?.start, tokens[index]?.end));
  let end = endOfWord(scan, at);
  while (isCapital(at) && tokens[end]?.kind === "word" && isCapital(end) && !isReserved(scan, end)) {
    end = endOfWord(scan, end);
  }
  return {
    value: { text: source.slice(first.start, tokens[end - 1]?.end), isQuoted: false },
    length: end - at,
  };
}
