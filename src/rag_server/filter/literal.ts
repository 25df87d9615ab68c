import { parseAddressBlock } from "../../core/address.ts";
import type { ColumnType, ValueKind } from "../search/column_type.ts";

interface Literal {
  /** The expectation that an error names. */
  readonly expected: string;
  /** The value as PostgreSQL reads it; undefined where it does not fit. */
  readonly read: (value: unknown, type: ColumnType) => string | undefined;
}

/** A value for a column of a type as PostgreSQL reads it; undefined where it does not fit. */
export function literalOf(value: unknown, type: ColumnType): string | undefined {
  return literals[type.kind].read(value, type);
}

/** The values that fit a type, in words for an error. */
export function expectation(type: ColumnType): string {
  return literals[type.kind].expected;
}

/** Whether a text holds the one character that PostgreSQL has no place for. */
export function holdsNul(text: string): boolean {
  return text.includes("\0");
}

/** Whether PostgreSQL reads a text as a number, none so long that it would take much room. */
export function isNumberText(text: string): boolean {
  return /^[+-]?(\d{1,500}(\.\d{0,500})?|\.\d{1,500})(e[+-]?\d{1,3})?$/i.test(text);
}

function literal(expected: string, read: Literal["read"]): Literal {
  return { expected, read };
}

const literals: Readonly<Record<ValueKind, Literal>> = {
  text: literal("a text without NUL", (value) => fromText(value, (text) => text)),
  smallint: wholeNumber(16n),
  integer: wholeNumber(32n),
  bigint: wholeNumber(64n),
  numeric: literal("a number", (value) => numberText(value)),
  real: literal("a number in the range of a real", (value) => floatText(value, Math.fround)),
  double: literal("a number in the range of a double", (value) => floatText(value, (n) => n)),
  boolean: literal(
    "true or false",
    (value) => typeof value === "boolean" ? String(value) : fromText(value, booleanText),
  ),
  date: literal("a date such as 2026-01-31", (value) => fromText(value, dateText)),
  timestamp: literal(
    "a time without offset such as 2026-01-31T18:30:00",
    (value) => fromText(value, (text) => timestampText(text)?.local),
  ),
  timestamptz: literal(
    "a time such as 2026-01-31T18:30:00Z",
    (value) => fromText(value, (text) => timestampText(text)?.absolute),
  ),
  time: literal("a time of day such as 18:30:00", (value) => fromText(value, timeText)),
  uuid: literal(
    "a UUID such as 123e4567-e89b-12d3-a456-426614174000",
    (value) => fromText(value, (text) => uuidForm.test(text) ? text : undefined),
  ),
  inet: literal(
    "an address such as 192.0.2.1 or 192.0.2.0/24",
    (value) => fromText(value, (text) => parseAddressBlock(text) && text),
  ),
  enum: literal(
    "one of the values of the column's type",
    (value, { labels }) => fromText(value, (text) => labels?.includes(text) ? text : undefined),
  ),
  json: literal("a JSON value", () => undefined),
  array: literal("a list", () => undefined),
  other: literal(
    "a text or a number",
    (value) => typeof value === "number" ? numberText(value) : fromText(value, (text) => text),
  ),
};

const uuidForm = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

function fromText(value: unknown, read: (text: string) => string | undefined): string | undefined {
  return typeof value === "string" && !holdsNul(value) ? read(value) : undefined;
}

/** Numbers may also come as text, for those that a JSON number cannot hold. */
function numberText(value: unknown): string | undefined {
  const text = typeof value === "number" || typeof value === "string" ? String(value) : "";
  return isNumberText(text) ? text : undefined;
}

function wholeNumber(bits: bigint): Literal {
  const limit = 2n ** (bits - 1n);
  return literal(`a whole number from ${-limit} to ${limit - 1n}`, (value) => {
    // above this, a JSON number may not be the one that was written
    if (typeof value === "number" && !Number.isSafeInteger(value)) return undefined;
    const text = numberText(value);
    if (text === undefined || !/^[+-]?\d{1,30}$/.test(text)) return undefined;
    const whole = BigInt(text.replace("+", ""));
    return whole >= -limit && whole < limit ? String(whole) : undefined;
  });
}

function floatText(value: unknown, round: (value: number) => number): string | undefined {
  const text = numberText(value);
  if (text === undefined) return undefined;
  const rounded = round(Number(text));
  const isZero = !/[1-9]/.test(text.replace(/e.*$/i, ""));
  return Number.isFinite(rounded) && (rounded !== 0 || isZero) ? text : undefined;
}

function booleanText(text: string): string | undefined {
  const lower = text.toLowerCase();
  return lower === "true" || lower === "false" ? lower : undefined;
}

/** A date as ISO 8601 has it, if it is one of the calendar, from year 1 to 9999. */
function dateText(text: string): string | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || text < "0001") return undefined;
  const date = new Date(`${text}T00:00Z`);
  // the 30th of February is one of March
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : undefined;
}

/** A time of day without offset: `18:30`, `18:30:00`, `18:30:00.123456`. */
function timeText(text: string): string | undefined {
  return /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?$/.test(text) ? text : undefined;
}

interface TimestampText {
  /** For a column without time zone; undefined where the text has an offset other than Z. */
  readonly local: string | undefined;
  /** For a column with time zone; without an offset the text is taken to be UTC. */
  readonly absolute: string;
}

/** A date, or a date and a time with or without an offset: `2026-01-31T18:30:00+02:00`. */
function timestampText(text: string): TimestampText | undefined {
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
