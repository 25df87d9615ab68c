import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { columnKind } from "./column_kind.ts";
import { creationDate, hasBirthdays, participleDate } from "./date_columns.ts";
import type { Recogniser, Scan } from "./draft.ts";
import { phraseAt, phraseTable, skipWords } from "./phrases.ts";
import { labelsAt } from "./labels.ts";
import { quoteIfNeeded } from "../../../postgres/sql_text.ts";
import { ageAt, type TimeSpan, timeSpanAt } from "./time_span.ts";
import type { Token } from "./tokens.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";
import { creationWords, filterLinks, groupPhrases, type TimeUnit, timeUnits } from "./vocabulary.ts";

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

const lastUnit = /\bthe last (?:minute|hour|day|week|month|quarter|year)$/;

/** The date that a period is about where no column is named. */
function periodColumn({ draft, table, tokens }: Scan, at: number, period: Period): CatalogColumn | undefined {
  const words = tokens.slice(at, at + period.length).map(({ key }) => key).join(" ");
  if (lastUnit.test(words)) {
    const unit = words.split(" ").at(-1);
    draft.problems.push(
      `"${words}" may be the calendar's or the time up to now: say "last ${unit}" or "past ${unit}"`,
    );
  }
  if (draft.dateColumn !== undefined) return draft.dateColumn;
  if (phraseAt(tokens, at, ages) !== undefined && hasBirthdays(table.columns)) {
    draft.problems.push(`"${words}" may be the age of somebody`);
  }
  const column = creationDate(table.columns);
  if (column !== undefined && !draft.saysCreation) draft.assumedDates.push({ column, use: "period", words });
  return column;
}

const alignedDays: readonly (readonly [unit: TimeUnit, day: RegExp])[] = [
  ["week", /^date_trunc\('week'/],
  ["month", /^'\d{4}-\d\d-01'$|^date_trunc\('(?:month|quarter|year)'/],
  ["quarter", /^'\d{4}-(?:01|04|07|10)-01'$|^date_trunc\('(?:quarter|year)'/],
  ["year", /^'\d{4}-01-01'$|^date_trunc\('year'/],
];

/** Where the rows are one for each month or the like, a period has to begin and end with one. */
function isAligned({ name }: CatalogColumn, { from, until }: Period): boolean {
  const words = identifierWords(name);
  const day = alignedDays.find(([unit]) => words.includes(unit))?.[1];
  return day === undefined || [from, until].every((bound) => bound === undefined || day.test(bound));
}

function addPeriod(scan: Scan, column: CatalogColumn | undefined, period: Period, at: number): void {
  const { draft } = scan;
  const words = scan.tokens.slice(at, at + period.length).map(({ key }) => key).join(" ");
  if (column === undefined) {
    draft.problems.push(`${scan.table.name} has no one date column that "${words}" could mean`);
    return;
  }
  if (!isAligned(column, period)) {
    draft.problems.push(`"${words}" begins or ends within a ${column.name}, and there is one row for each`);
  }
  if (draft.periods.has(column)) draft.problems.push(`two periods for ${column.name} are one too many`);
  draft.periods.add(column);
  const name = quoteIfNeeded(column.name);
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
  const column = isDate ? match.column : periodColumn(scan, at, period);
  addPeriod(scan, column, period, start);
  return at + period.length - start;
};

/** Whether periods or groups of time follow. */
export function speaksOfTime(tokens: readonly Token[], at: number): boolean {
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
  const { draft, tokens } = scan;
  const column = participleDate(scan.table.columns, tokens[at]?.key ?? "");
  if (column === undefined || !speaksOfTime(tokens, at + length)) {
    // "who placed order 12" asks for somebody
    const isAnswer = draft.mentions.length === 0 && tokens.slice(0, at).some(({ key }) => key === "who");
    if (!fits || isLabel(scan, at) || isAnswer) return 0;
    draft.saysCreation = true;
    return length;
  }
  if (draft.saysCreation && draft.periods.size === 0 && column !== creationDate(scan.table.columns)) {
    draft.problems.push(`it is not said which of two events the time of "${tokens[at]?.key}" is about`);
  }
  draft.dateColumn = column;
  return length;
};

/** Whether a period begins at a token. */
export function isPeriodAt(tokens: readonly Token[], at: number): boolean {
  return periodAt(tokens, at) !== undefined;
}
