import { phraseAt, phraseTable, skipWords } from "./phrases.ts";
import type { Token } from "./tokens.ts";
import { articles, type TimeUnit, timeUnits } from "./vocabulary.ts";

/** A stretch of time as SQL: it begins at `from` and ends right before `until`. */
export interface TimeSpan {
  readonly from: string;
  readonly until: string;
  readonly length: number;
  /** A number that is a year only where a preposition says so. */
  readonly isBareYear?: boolean;
}

type Reading = TimeSpan | undefined;

const months = phraseTable<number>([
  ["january,jan", 1],
  ["february,feb", 2],
  ["march,mar", 3],
  ["april,apr", 4],
  ["may", 5],
  ["june,jun", 6],
  ["july,jul", 7],
  ["august,aug", 8],
  ["september,sep,sept", 9],
  ["october,oct", 10],
  ["november,nov", 11],
  ["december,dec", 12],
]);
const dayOffsets = phraseTable<number>([["today", 0], ["yesterday", -1], ["tomorrow", 1]]);
const unitOffsets = phraseTable<number>([
  ["this,current,the current", 0],
  ["last,previous,the last,the previous", -1],
  ["next,the next", 1],
]);
const trailing = phraseTable<-1 | 1>([
  ["last,past,previous,the last,the past,the previous", -1],
  ["next,coming,the next,the coming", 1],
]);
const dateJoints = new Set([",", "of"]);

/** PostgreSQL's intervals know no quarters. */
function interval(count: number, unit: TimeUnit): string {
  const [amount, name] = unit === "quarter" ? [count * 3, "month"] : [count, unit];
  return `interval '${amount} ${name}${amount === 1 ? "" : "s"}'`;
}

function shifted(unit: TimeUnit, offset: number): string {
  const start = `date_trunc('${unit}', now())`;
  if (offset === 0) return start;
  return `${start} ${offset < 0 ? "-" : "+"} ${interval(Math.abs(offset), unit)}`;
}

const calendar = (unit: TimeUnit, offset: number, length: number): TimeSpan => ({
  from: shifted(unit, offset),
  until: shifted(unit, offset + 1),
  length,
});

function relativeSpan(tokens: readonly Token[], at: number): Reading {
  const day = phraseAt(tokens, at, dayOffsets);
  if (day !== undefined) return calendar("day", day.meaning, day.length);
  const offset = phraseAt(tokens, at, unitOffsets);
  const unit = offset && phraseAt(tokens, at + offset.length, timeUnits);
  return offset && unit && calendar(unit.meaning, offset.meaning, offset.length + unit.length);
}

/** "the last 30 days", "past week": counted back from this moment, not by the calendar. */
function trailingSpan(tokens: readonly Token[], at: number): Reading {
  const direction = phraseAt(tokens, at, trailing);
  if (direction === undefined) return undefined;
  const count = tokens[at + direction.length];
  const counted = count?.kind === "number" && /^\d{1,4}$/.test(count.key);
  const isPast = tokens[at + direction.length - 1]?.key === "past";
  if (!counted && !isPast) return undefined;
  const length = direction.length + (counted ? 1 : 0);
  const unit = phraseAt(tokens, at + length, timeUnits);
  if (unit === undefined) return undefined;
  const reach = interval(counted ? Number(count.key) : 1, unit.meaning);
  return direction.meaning < 0
    ? { from: `now() - ${reach}`, until: "now()", length: length + unit.length }
    : { from: "now()", until: `now() + ${reach}`, length: length + unit.length };
}

/** "30 days": the moment that long ago. */
export function ageAt(tokens: readonly Token[], at: number): { moment: string; length: number } | undefined {
  const count = tokens[at];
  const unit = phraseAt(tokens, at + 1, timeUnits);
  if (count?.kind !== "number" || !/^\d{1,4}$/.test(count.key) || unit === undefined) return undefined;
  return { moment: `now() - ${interval(Number(count.key), unit.meaning)}`, length: 1 + unit.length };
}

function isoDay(year: number, month: number, day: number): string | undefined {
  const date = new Date(Date.UTC(year, month - 1, day));
  if (year < 1000 || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  return date.toISOString().slice(0, 10);
}

function absolute(
  year: number,
  month: number,
  day: number | undefined,
  months: number,
  length: number,
): Reading {
  const from = isoDay(year, month, day ?? 1);
  const until = day === undefined
    ? isoDay(year + Math.floor((month - 1 + months) / 12), (month - 1 + months) % 12 + 1, 1)
    : new Date(Date.UTC(year, month - 1, day + 1)).toISOString().slice(0, 10);
  if (from === undefined || until === undefined || until.length !== 10) return undefined;
  return { from: `'${from}'`, until: `'${until}'`, length };
}

function yearAt(tokens: readonly Token[], at: number): number | undefined {
  const token = tokens[at];
  return token?.kind === "number" && /^(19|20)\d\d$/.test(token.key) ? Number(token.key) : undefined;
}

function dayOfMonthAt(tokens: readonly Token[], at: number): number | undefined {
  const token = tokens[at];
  const isDay = token?.kind === "ordinal" || (token?.kind === "number" && /^\d{1,2}$/.test(token.key));
  return isDay ? parseInt(token.key) : undefined;
}

/** "March 2026", "March 5, 2026", "5 March 2026", "the 5th of March 2026". A month always needs its year. */
function namedDate(tokens: readonly Token[], start: number): Reading {
  let at = start;
  let day = dayOfMonthAt(tokens, at);
  if (day !== undefined) at = skipWords(tokens, at + 1, dateJoints);
  const month = phraseAt(tokens, at, months);
  if (month === undefined) return undefined;
  at += month.length;
  const later = day === undefined ? dayOfMonthAt(tokens, at) : undefined;
  if (later !== undefined) {
    day = later;
    at += 1;
  }
  at = skipWords(tokens, at, dateJoints);
  const year = yearAt(tokens, at);
  return year === undefined ? undefined : absolute(year, month.meaning, day, 1, at + 1 - start);
}

function quarterSpan(tokens: readonly Token[], at: number): Reading {
  const quarter = /^q([1-4])$/.exec(tokens[at]?.key ?? "")?.[1];
  const next = skipWords(tokens, at + 1, dateJoints);
  const year = yearAt(tokens, next);
  if (quarter === undefined || year === undefined) return undefined;
  return absolute(year, Number(quarter) * 3 - 2, undefined, 3, next + 1 - at);
}

function isoSpan(tokens: readonly Token[], at: number): Reading {
  const token = tokens[at];
  if (token?.kind === "date") {
    const [year = NaN, month = NaN, day] = token.key.split("-").map(Number);
    return absolute(year, month, day, 1, 1);
  }
  const year = yearAt(tokens, at);
  const span = year === undefined ? undefined : absolute(year, 1, undefined, 12, 1);
  return span && { ...span, isBareYear: true };
}

/** The stretch of time that the words from `at` on name, with an article or "year" before it skipped. */
export function timeSpanAt(tokens: readonly Token[], start: number): TimeSpan | undefined {
  let at = skipWords(tokens, start, articles);
  const named = tokens[at]?.key === "year" && yearAt(tokens, at + 1) !== undefined;
  if (named) at += 1;
  for (const read of [trailingSpan, relativeSpan, namedDate, quarterSpan, isoSpan]) {
    const span = read(tokens, at);
    if (span !== undefined) {
      return { ...span, length: span.length + at - start, isBareYear: !named && span.isBareYear === true };
    }
  }
  return undefined;
}
