/** A date as ISO 8601 has it, if it is one of the calendar, from year 1 to 9999. */
export function dateText(text: string): string | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return undefined;
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  return text;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** A time of day without offset: `18:30`, `18:30:00`, `18:30:00.123456`. */
export function timeText(text: string): string | undefined {
  const [, hour, minute, second = NaN] =
    /^(\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?$/.exec(text)?.map(Number) ??
      [];
  if (hour === undefined || minute === undefined) return undefined;
  return hour < 24 && minute < 60 && (Number.isNaN(second) || second < 60) ? text : undefined;
}

export interface TimestampText {
  /** For a column without time zone; undefined where the text has an offset other than Z. */
  readonly local: string | undefined;
  /** For a column with time zone; without an offset the text is taken to be UTC. */
  readonly absolute: string;
}

/** A date, or a date and a time with or without an offset: `2026-01-31T18:30:00+02:00`. */
export function timestampText(text: string): TimestampText | undefined {
  const parts = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i
    .exec(text);
  const [, date = "", time = "00:00", offset = ""] = parts ?? [];
  if (dateText(date) === undefined || timeText(time) === undefined) return undefined;
  const [, hours = "0", minutes = "0"] = /^[+-](\d\d):?(\d\d)?$/.exec(offset) ?? [];
  // the farthest that PostgreSQL takes; clocks on Earth differ less
  if (Number(hours) > 15 || Number(minutes) > 59) return undefined;
  const isUtc = offset === "" || offset.toUpperCase() === "Z";
  return { local: isUtc ? `${date}T${time}` : undefined, absolute: `${date}T${time}${isUtc ? "Z" : offset}` };
}
