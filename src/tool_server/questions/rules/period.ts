import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { quoteIfNeeded } from "../../../postgres/sql_text.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";
import { columnKind, creationDate, hasBirthdays, labelsAt, participleDate } from "./columns.ts";
import { columnAt, type Recogniser, type Scan } from "./draft.ts";
import {
  firstOf,
  matchAt,
  phraseAt,
  phraseTable,
  skipWords,
  type Token,
  wordAt,
  wordPattern,
  wordSet,
} from "./request_tokens.ts";
import { creationWords, filterLinks, groupPhrases, timeUnits } from "./phrases.ts";

/** A stretch of time as SQL: it begins at `from` and ends right before `until`. */
interface TimeSpan {
  readonly from: string;
  readonly until: string;
  /** A number that is a year only where a preposition says so. */
  readonly isBareYear?: boolean;
}

type Groups = Readonly<Record<string, string | undefined>>;

/** PostgreSQL's intervals know no quarters. */
function interval(count: number, unit: string): string {
  const [amount, name] = unit === "quarter" ? [count * 3, "month"] : [count, unit];
  return `interval '${amount} ${name}${amount === 1 ? "" : "s"}'`;
}

/** Counted from this moment. */
function trailing({ ahead, count = "1", unit = "" }: Groups): TimeSpan {
  const reach = interval(Number(count), unit);
  return ahead ? { from: "now()", until: `now() + ${reach}` } : { from: `now() - ${reach}`, until: "now()" };
}

function calendar({ ahead, back, unit = "day" }: Groups): TimeSpan {
  const shifted = (by: number) =>
    `date_trunc('${unit}', now())${by === 0 ? "" : ` ${by < 0 ? "-" : "+"} ${interval(Math.abs(by), unit)}`}`;
  const offset = ahead ? 1 : back ? -1 : 0;
  return { from: shifted(offset), until: shifted(offset + 1) };
}

const monthNames = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");

/** A day, or some months from one on; undefined where there is no such day. */
function absolute({ year = "", month = "1", day }: Groups, months = 1): TimeSpan | undefined {
  const first = [
    Number(year),
    monthNames.indexOf(month.slice(0, 3)) + 1 || Number(month),
    parseInt(day ?? "1"),
  ];
  const [from, until] = (day === undefined ? [[0, 0], [months, 0]] : [[0, 0], [0, 1]])
    .map(([months = 0, days = 0]) => {
      const [year = 0, month = 0, day = 0] = first;
      return new Date(Date.UTC(year, month - 1 + months, day + days)).toISOString().split("T")[0];
    });
  const isReal = from === first.map((part) => String(part).padStart(2, "0")).join("-");
  return isReal && until?.length === 10 ? { from: `'${from}'`, until: `'${until}'` } : undefined;
}

const unit = "(?<unit>minute|hour|day|week|month|quarter|year)s?";
const month = "(?<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|" +
  "sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const day = "(?<day>\\d{1,2}|\\d+(?:st|nd|rd|th))";
const joint = "(?:(?:,|of) )*";
const year = `${joint}(?<year>(?:19|20)\\d\\d)`;

const spanPatterns: readonly (readonly [pattern: string, read: (groups: Groups) => TimeSpan | undefined])[] =
  [
    // "the last 30 days", "past week"
    [`(?:last|past|previous|(?<ahead>next|coming)) (?<count>\\d{1,4}) ${unit}`, trailing],
    [`past ${unit}`, trailing],
    ["today|(?<back>yesterday)|(?<ahead>tomorrow)", calendar],
    [`(?:this|current|(?<back>last|previous)|(?<ahead>next)) ${unit}`, calendar],
    // "March 2026", "March 5, 2026", "5 March 2026", "the 5th of March 2026"; a month always needs its year
    [`(?:${day} ${joint})?${month} ${year}`, absolute],
    [`${month} ${day} ${year}`, absolute],
    [
      `q(?<quarter>[1-4]) ${year}`,
      ({ year, quarter }) => absolute({ year, month: `${Number(quarter) * 3 - 2}` }, 3),
    ],
    ["(?<year>\\d{4})-(?<month>\\d\\d)(?:-(?<day>\\d\\d))?", absolute],
    [`year ${year}`, (groups) => absolute(groups, 12)],
    ["(?<year>(?:19|20)\\d\\d)", (groups) => {
      const span = absolute(groups, 12);
      return span && { ...span, isBareYear: true };
    }],
  ];
const spans = spanPatterns.map(([pattern, read]) =>
  [wordPattern(`(?:(?:the|a|an|our) )*(?:${pattern})`), read] as const
);

/** The stretch of time that the words from a token on name. */
export function timeSpanAt(tokens: readonly Token[], at: number): TimeSpan & { end: number } | undefined {
  return firstOf(spans, ([pattern, read]) => {
    const found = matchAt(tokens, at, pattern);
    const span = found && read(found.groups);
    return span ? { ...span, end: found.end } : undefined;
  });
}

/** Bounds of a date as SQL expressions; `until` is not part of the period. */
interface Period {
  readonly from?: string | undefined;
  readonly until?: string | undefined;
  readonly end: number;
}

const relations = phraseTable<(span: TimeSpan) => Omit<Period, "end">>(
  [({ from, until }) => ({ from, until }), "in,during,for,of,throughout,from,on,within,over,is,="],
  [({ from }) => ({ from }), "since,starting,starting from,starting in,as of,on or after,>="],
  [({ until }) => ({ from: until }), "after,later than,>,newer than"],
  [({ from }) => ({ until: from }), "before,prior to,earlier than,<,older than"],
  [({ until }) => ({ until }), "until,till,through,on or before,<=,up to"],
);
/** A bare number after one of these is no year; "over 2000" names an amount. */
const beforeAmount = phraseTable([true, "on,within,over,is,=,>=,>,newer than,<,older than,<=,up to"]);
const rangeStarts = wordSet("between from");
const rangeMiddles = wordSet("and to until till through");
const onwards = wordSet("on onward onwards");
const agePattern = wordPattern(`(?<way>older|newer) than (?<count>\\d{1,4}) ${unit}`);

/** "between A and B", "from A to B": both ends belong to the period. "From 2025 on" has no end. */
function rangeAt(tokens: readonly Token[], at: number): Period | undefined {
  const lead = wordAt(tokens, at);
  const first = rangeStarts.has(lead) ? timeSpanAt(tokens, at + 1) : undefined;
  if (first === undefined) return undefined;
  const middle = wordAt(tokens, first.end);
  const second = rangeMiddles.has(middle) ? timeSpanAt(tokens, first.end + 1) : undefined;
  if (second !== undefined) return { from: first.from, until: second.until, end: second.end };
  return lead === "from" && onwards.has(middle) ? { from: first.from, end: first.end + 1 } : undefined;
}

function periodAt(tokens: readonly Token[], at: number): Period | undefined {
  const range = rangeAt(tokens, at);
  if (range !== undefined) return range;
  const age = matchAt(tokens, at, agePattern);
  if (age !== null) {
    const moment = `now() - ${interval(Number(age.groups.count), age.groups.unit ?? "")}`;
    return { [age.groups.way === "older" ? "until" : "from"]: moment, end: age.end };
  }
  const relation = phraseAt(tokens, at, relations);
  const span = timeSpanAt(tokens, relation?.end ?? at);
  const takesYear = relation !== undefined && phraseAt(tokens, at, beforeAmount)?.end !== relation.end;
  if (span === undefined || (span.isBareYear && !takesYear)) return undefined;
  return { ...(relation?.meaning(span) ?? span), end: span.end };
}

const lastUnit = /\bthe last (minute|hour|day|week|month|quarter|year)$/;

/** The date that a period is about where no column is named. */
function periodColumn({ draft, table }: Scan, words: string): CatalogColumn | undefined {
  const unit = lastUnit.exec(words)?.[1];
  if (unit !== undefined) {
    draft.refusals.push(
      `"${words}" may be the calendar's or the time up to now: say "last ${unit}" or "past ${unit}"`,
    );
  }
  if (draft.dateColumn !== undefined) return draft.dateColumn;
  if (/^(older|newer) than/.test(words) && hasBirthdays(table)) {
    draft.refusals.push(`"${words}" may mean somebody's age`);
  }
  const column = creationDate(table);
  if (column !== undefined && !draft.saysCreation) draft.assumedDates.push({ column, use: "period", words });
  return column;
}

const alignedDays: Readonly<Record<string, RegExp>> = {
  week: /^date_trunc\('week'/,
  month: /^'\d{4}-\d\d-01'$|^date_trunc\('(?:month|quarter|year)'/,
  quarter: /^'\d{4}-(?:01|04|07|10)-01'$|^date_trunc\('(?:quarter|year)'/,
  year: /^'\d{4}-01-01'$|^date_trunc\('year'/,
};

/** Where the rows are one for each month or the like, a period has to begin and end with one. */
function isAligned({ name }: CatalogColumn, { from, until }: Period): boolean {
  const words = identifierWords(name);
  const [, day] = Object.entries(alignedDays).find(([unit]) => words.includes(unit)) ?? [];
  return day === undefined || [from, until].every((bound) => bound === undefined || day.test(bound));
}

/** "last month", "since 2025-01-01", with or without a date column's name before it. */
export const recognisePeriod: Recogniser = (scan, start) => {
  const { tokens, draft, table } = scan;
  const match = columnAt(scan, start);
  const date = match && columnKind(match.column) === "date" ? match : undefined;
  const at = date ? skipWords(tokens, date.end, filterLinks) : start;
  const period = periodAt(tokens, at);
  if (period === undefined) return undefined;
  const { from, until, end } = period;
  const words = tokens.slice(start, end).map(({ key }) => key).join(" ");
  const column = date?.column ?? periodColumn(scan, words);
  if (column === undefined) {
    draft.refusals.push(`${table.name} has no one date column that "${words}" could mean`);
    return end;
  }
  if (!isAligned(column, period)) {
    draft.refusals.push(
      `"${words}" begins or ends within a ${column.name}, and each ${column.name} has only one row`,
    );
  }
  if (draft.periods.has(column)) {
    draft.refusals.push(`the request has two periods for ${column.name}: give one`);
  }
  draft.periods.add(column);
  const name = quoteIfNeeded(column.name);
  if (from !== undefined) draft.conditions.push(`${name} >= ${from}`);
  if (until !== undefined) draft.conditions.push(`${name} < ${until}`);
  return end;
};

/** Whether periods or groups of time follow. */
export function speaksOfTime(tokens: readonly Token[], at: number): boolean {
  const group = phraseAt(tokens, at, groupPhrases);
  return periodAt(tokens, at) !== undefined ||
    (!!group && phraseAt(tokens, group.end, timeUnits) !== undefined);
}

/** "placed", "shipped": the event whose date the request speaks about. */
export const recogniseEvent: Recogniser = ({ tokens, table, draft }, at) => {
  const creation = phraseAt(tokens, at, creationWords);
  const noun = wordStem(identifierWords(table.name).at(-1) ?? "");
  const end = creation?.end ?? at + 1;
  const word = tokens[at]?.key ?? "";
  const column = participleDate(table, word);
  if (column !== undefined && speaksOfTime(tokens, end)) {
    if (draft.saysCreation && draft.periods.size === 0 && column !== creationDate(table)) {
      draft.refusals.push(`the request does not say which of two events the time after "${word}" belongs to`);
    }
    draft.dateColumn = column;
    return end;
  }
  // a state called "created" is a state before it is an event, and "who placed order 12" asks for somebody
  const isState = table.columns.some((column) => labelsAt(tokens, at, column) !== undefined);
  const isAnswer = !draft.namesTable && tokens.slice(0, at).some(({ key }) => key === "who");
  const fits = creation?.meaning === "any" || creation?.meaning.has(noun) === true;
  if (!fits || isState || isAnswer) return undefined;
  draft.saysCreation = true;
  return end;
};
