/** How the values of a column are laid out, compared and drawn. */
export type ColumnKind = "number" | "time" | "category" | "other";

const numbers = [
  "bigint",
  "smallint",
  "integer",
  "real",
  "double precision",
  "numeric",
];
const times = ["date", "timestamp", "timestamp with time zone"];
const categories = ["boolean", "text", "name", "character", "character varying", "other"];

/** The kind of a column, by its PostgreSQL type; `other` as a type is mostly an enumeration or a domain. */
export function columnKind(type: string): ColumnKind {
  if (numbers.includes(type)) return "number";
  if (times.includes(type)) return "time";
  return categories.includes(type) ? "category" : "other";
}

/** A value other than null, as text: JSON as it is written. */
export function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** A moment as PostgreSQL writes it: on its own clock for labels, and in time. Both in milliseconds. */
interface Moment {
  readonly clockMs: number;
  readonly timeMs: number;
}

const momentText =
  /^(\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(\.\d+)?(?:([+-])(\d\d)(?::(\d\d))?(?::\d\d)?)?)?$/;

/** Undefined for infinity, years beyond 9999 and before Christ, and for what is no moment. */
export function moment(value: unknown): Moment | undefined {
  const found = typeof value === "string" ? momentText.exec(value) : null;
  if (found === null) return undefined;
  const [
    ,
    year,
    month,
    day,
    hour = 0,
    minute = 0,
    second = 0,
    fraction = 0,
    sign,
    zoneHour = 0,
    zoneMinute = 0,
  ] = found;
  const clockMs = Date.UTC(+(year ?? 0), +(month ?? 0) - 1, +(day ?? 0), +hour, +minute, +second) +
    +fraction * 1000;
  const offsetMs = (+zoneHour * 60 + +zoneMinute) * 60_000 * (sign === "-" ? -1 : 1);
  return { clockMs, timeMs: clockMs - offsetMs };
}

/** Less than 0 where `a` goes before `b`, which are not null. */
export function compareValues(kind: ColumnKind, a: unknown, b: unknown): number {
  if (kind === "number") return compareNumbers(valueText(a), valueText(b));
  if (kind === "time") {
    const [left, right] = [sortTime(valueText(a)), sortTime(valueText(b))];
    if (left !== right) return left - right;
  }
  return collator.compare(valueText(a), valueText(b));
}

// the same order wherever the page is shown
const collator = new Intl.Collator("en", { numeric: true });

/** Large integers are compared exactly; NaN goes after all numbers, as PostgreSQL has it. */
function compareNumbers(a: string, b: string): number {
  const [left, right] = [Number(a), Number(b)];
  if (Number.isNaN(left) || Number.isNaN(right)) {
    return Number(Number.isNaN(left)) - Number(Number.isNaN(right));
  }
  if (left !== right) return left - right;
  const areIntegers = /^-?\d+$/.test(a) && /^-?\d+$/.test(b);
  return areIntegers ? Number(BigInt(a) - BigInt(b)) : 0;
}

function sortTime(text: string): number {
  const at = moment(text)?.timeMs;
  if (at !== undefined) return at;
  const isBefore = text.startsWith("-") || text.endsWith("BC");
  return isBefore ? -Infinity : Infinity;
}
