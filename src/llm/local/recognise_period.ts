import type { CatalogColumn } from "../../core/catalog.ts";
import { columnKind } from "./column_kind.ts";
import { creationDate, participleDate } from "./date_columns.ts";
import type { Recogniser, Scan } from "./draft.ts";
import { phraseAt, phraseTable, skipWords } from "./phrases.ts";
import { labelsAt } from "./labels.ts";
import { quoteIdentifier } from "./quote_sql.ts";
import { ageAt, type TimeSpan, timeSpanAt } from "./time_span.ts";
import type { Token } from "./tokens.ts";
import { identifierWords, wordStem } from "../../text/word_stem.ts";
import { creationWords, filterLinks, groupPhrases, timeUnits } from "./vocabulary.ts";

/** Bounds of a date as SQL expressions; `until` is not part of the period. */
interface Period {
  readonly from?: string;
  readonly until?: string;
  readonly length: number;
}

interface Bounds {
  readonly of: (span: TimeSpan) => { from?: string; until?: string };
  /** Whether a bare number after it is a year; "over 2000" names an amount. */
  readonly takesYear: boolean;
}
const within: Bounds["of"] = ({ from, until }) => ({ from, until });
const since: Bounds["of"] = ({ from }) => ({ from });
const after: Bounds["of"] = ({ until }) => ({ from: until });
const before: Bounds["of"] = ({ from }) => ({ until: from });
const upTo: Bounds["of"] = ({ until }) => ({ until });
const bounds = phraseTable<Bounds>([
  ["in,during,for,of,throughout,from", { of: within, takesYear: true }],
  ["on,within,over,is,=", { of: within, takesYear: false }],
  ["since,starting,starting from,starting in,as of,on or after", { of: since, takesYear: true }],
  [">=", { of: since, takesYear: false }],
  ["after,later than", { of: after, takesYear: true }],
  [">,newer than", { of: after, takesYear: false }],
  ["before,prior to,earlier than", { of: before, takesYear: true }],
  ["<,older than", { of: before, takesYear: false }],
  ["until,till,through,on or before", { of: upTo, takesYear: true }],
  ["<=,up to", { of: upTo, takesYear: false }],
]);
const rangeStarts = new Set(["between", "from"]);
const rangeMiddles = new Set(["and", "to", "until", "till", "through"]);
const onwards = new Set(["on", "onward", "onwards"]);

/** "between A and B", "from A to B": both ends belong to the period. */
function rangeAt(tokens: readonly Token[], at: number): Period | undefined {
  if (!rangeStarts.has(tokens[at]?.key ?? "")) return undefined;
  const first = timeSpanAt(tokens, at + 1);
  if (first === undefined) return undefined;
  const middle = at + 1 + first.length;
  if (!rangeMiddles.has(tokens[middle]?.key ?? "")) return undefined;
  const second = timeSpanAt(tokens, middle + 1);
  return second && { from: first.from, until: second.until, length: middle + 1 + second.length - at };
}

/** "from 2025 on" has no end, "from 2025" alone is that year. */
function openRangeAt(tokens: readonly Token[], at: number): Period | undefined {
  if (tokens[at]?.key !== "from") return undefined;
  const span = timeSpanAt(tokens, at + 1);
  const end = at + 1 + (span?.length ?? 0);
  return span && onwards.has(tokens[end]?.key ?? "") ? { from: span.from, length: end + 1 - at } : undefined;
}

const ages = phraseTable<"from" | "until">([["older than", "until"], ["newer than", "from"]]);

/** "older than 30 days". */
function agePeriodAt(tokens: readonly Token[], at: number): Period | undefined {
  const lead = phraseAt(tokens, at, ages);
  const age = lead && ageAt(tokens, at + lead.length);
  return lead && age && { [lead.meaning]: age.moment, length: lead.length + age.length };
}

function periodAt(tokens: readonly Token[], at: number): Period | undefined {
  const range = rangeAt(tokens, at) ?? openRangeAt(tokens, at) ?? agePeriodAt(tokens, at);
  if (range !== undefined) return range;
  const lead = phraseAt(tokens, at, bounds);
  const length = lead?.length ?? 0;
  const span = timeSpanAt(tokens, at + length);
  if (span === undefined || (span.isBareYear === true && lead?.meaning.takesYear !== true)) return undefined;
  return { ...(lead?.meaning.of ?? within)(span), length: length + span.length };
}

function addPeriod(scan: Scan, column: CatalogColumn | undefined, period: Period, at: number): void {
  const { draft } = scan;
  const words = scan.tokens.slice(at, at + period.length).map(({ key }) => key).join(" ");
  if (column === undefined) {
    draft.problems.push(`${scan.table.name} has no one date column that "${words}" could mean`);
    return;
  }
  if (draft.periods.has(column)) draft.problems.push(`two periods for ${column.name} are one too many`);
  draft.periods.add(column);
  const name = quoteIdentifier(column.name);
  if (period.from !== undefined) draft.conditions.push(`${name} >= ${period.from}`);
  if (period.until !== undefined) draft.conditions.push(`${name} < ${period.until}`);
}

/** "last month", "since 2025-01-01", with or without a date column's name before it. */
export const recognisePeriod: Recogniser = (scan, start) => {
  const match = scan.columns.at(scan.tokens, start);
  const isDate = match !== undefined && "column" in match && columnKind(match.column) === "date";
  const at = isDate ? skipWords(scan.tokens, start + match.length, filterLinks) : start;
  const period = periodAt(scan.tokens, at);
  if (period === undefined) return 0;
  const column = isDate ? match.column : scan.draft.dateColumn ?? creationDate(scan.table.columns);
  addPeriod(scan, column, period, start);
  return at + period.length - start;
};

function speaksOfTime(tokens: readonly Token[], at: number): boolean {
  if (isPeriodAt(tokens, at)) return true;
  const group = phraseAt(tokens, at, groupPhrases);
  return group !== undefined && phraseAt(tokens, at + group.length, timeUnits) !== undefined;
}

/** A state called "created" is a state before it is an event. */
function isLabel({ tokens, table }: Scan, at: number): boolean {
  return table.columns.some(({ labels }) => labelsAt(tokens, at, labels).length > 0);
}

/** "placed", "shipped": the event whose date the request speaks about. */
export const recogniseEvent: Recogniser = (scan, at) => {
  const creation = phraseAt(scan.tokens, at, creationWords);
  const noun = wordStem(identifierWords(scan.table.name).at(-1) ?? "");
  const fits = creation !== undefined && (creation.meaning === "any" || creation.meaning.has(noun));
  const length = creation?.length ?? 1;
  const column = participleDate(scan.table.columns, scan.tokens[at]?.key ?? "");
  if (column === undefined || !speaksOfTime(scan.tokens, at + length)) {
    return fits && !isLabel(scan, at) ? length : 0;
  }
  scan.draft.dateColumn = column;
  return length;
};

/** Whether a period begins at a token. */
export function isPeriodAt(tokens: readonly Token[], at: number): boolean {
  return periodAt(tokens, at) !== undefined;
}
