/** Rows of a statement, as PostgreSQL's text or as values of JavaScript; all rows are of the same length. */
export type ResultRows = readonly (readonly unknown[])[];

export interface ComparisonOptions {
  /** The question asks for the rows in this order. */
  readonly ordered?: boolean;
  /** Columns that nobody asked for do no harm. */
  readonly extraColumns?: "wrong" | "ignored";
}

/** A number keeps how many places after the point it was written with: 58.00 was rounded, 58 was counted. */
interface NumberCell {
  readonly value: number;
  readonly places: number;
}

type Cell = string | NumberCell | null;

/**
 * Whether a statement's rows are those of the gold statement: the "execution accuracy" of text-to-SQL benchmarks.
 *
 * - Names of columns do not count, nor their order. Rows are a multiset, or a list where `ordered` is set. So compares
 *   Spider's test suite (Zhong et al., 2020).
 * - A column too many is wrong, as in Spider and BIRD (Li et al., 2023). Spider 2.0 (Lei et al., 2024) ignores it; so
 *   does `extraColumns: "ignored"`.
 * - Numbers are equal where one is the other, rounded to no fewer than one place after the point: 12.35 and
 *   12.3456, but not 12 and 12.3456. Whole numbers are compared exactly.
 * - NULL equals NULL; a timestamp at midnight, in UTC where it names a zone, equals its date; trailing blanks do not
 *   count.
 */
export function sameResult(gold: ResultRows, other: ResultRows, options: ComparisonOptions = {}): boolean {
  if (gold.length !== other.length) return false;
  const wanted = columnsOf(gold);
  const given = columnsOf(other);
  if (wanted.length > given.length) return false;
  if (wanted.length < given.length && options.extraColumns !== "ignored") return false;
  return findMatch(wanted, given, options.ordered ?? false);
}

/** Tries to give each gold column one of the others, so that all rows agree; a column at a time. */
function findMatch(wanted: readonly Cell[][], given: readonly Cell[][], ordered: boolean): boolean {
  const texts = given.map((column) => JSON.stringify(column));
  const fits = wanted.map((column) => given.map((candidate) => sameRows([column], [candidate], ordered)));
  const chosen: number[] = [];

  function extend(): boolean {
    const place = chosen.length;
    if (place === wanted.length) return true;
    // equal columns lead to the same end: without this, their orders would all be tried
    const failed = new Set<string>();
    for (const [index, text = ""] of texts.entries()) {
      if (fits[place]?.[index] !== true || chosen.includes(index) || failed.has(text)) continue;
      chosen.push(index);
      // what does not agree so far will not with more columns
      if (
        sameRows(wanted.slice(0, chosen.length), chosen.map((at) => given[at] ?? []), ordered) && extend()
      ) {
        return true;
      }
      chosen.pop();
      failed.add(text);
    }
    return false;
  }

  return fits.every((candidates) => candidates.includes(true)) && extend();
}

function sameRows(wanted: readonly Cell[][], given: readonly Cell[][], ordered: boolean): boolean {
  const places = wanted.map((column, index) => [column, given[index] ?? []] as const)
    // rounding disturbs the sorting of fractions, so all else decides first
    .sort(([a], [b]) => Number(hasFraction(a)) - Number(hasFraction(b)));
  const left = rowsOf(places.map(([column]) => column));
  const right = rowsOf(places.map(([, column]) => column));
  if (!ordered) {
    left.sort(compareRows);
    right.sort(compareRows);
  }
  return left.every((row, index) =>
    row.every((cell, place) => sameCell(cell, right[index]?.[place] ?? null))
  );
}

function sameCell(one: Cell, other: Cell): boolean {
  if (!isNumber(one) || !isNumber(other)) return one === other;
  const difference = Math.abs(one.value - other.value);
  // sums of floating point numbers differ in their last digits by the order of adding
  if (difference <= 1e-9 * Math.max(Math.abs(one.value), Math.abs(other.value))) return true;
  const places = Math.min(one.places, other.places);
  return places > 0 && difference <= 0.5 * 10 ** -places * (1 + 1e-9);
}

function isNumber(cell: Cell): cell is NumberCell {
  return cell !== null && typeof cell !== "string";
}

function hasFraction(column: readonly Cell[]): boolean {
  return column.some((cell) => isNumber(cell) && cell.places > 0);
}

function columnsOf(rows: ResultRows): Cell[][] {
  const [first = []] = rows;
  return first.map((_, index) => rows.map((row) => readCell(row[index])));
}

function rowsOf(columns: readonly Cell[][]): Cell[][] {
  const [first = []] = columns;
  return first.map((_, index) => columns.map((column) => column[index] ?? null));
}

/** A code or a postal number that begins with 0 stays text. */
const plainNumber = /^-?(?:0|[1-9]\d*)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;
const midnight = /^(\d{4}-\d\d-\d\d)[ T]00:00:00(\.0+)?(Z|\+00(:?00)?)?$/;

function readCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === "boolean") return value ? "t" : "f";
  const text = (value instanceof Date ? value.toISOString() : String(value)).trimEnd();
  return readNumber(text) ?? midnight.exec(text)?.[1] ?? text;
}

function readNumber(text: string): NumberCell | undefined {
  const match = plainNumber.exec(text);
  if (match === null) return undefined;
  const [, fraction = "", exponent = "0"] = match;
  const places = Math.max(0, fraction.length - Number(exponent));
  const value = Number(text);
  // as numbers, whole ones beyond 2^53 would run together
  return places > 0 || Number.isSafeInteger(value) ? { value, places } : undefined;
}

function compareRows(one: readonly Cell[], other: readonly Cell[]): number {
  for (const [place, cell] of one.entries()) {
    const difference = compareCells(cell, other[place] ?? null);
    if (difference !== 0) return difference;
  }
  return 0;
}

function compareCells(one: Cell, other: Cell): number {
  if (one === other) return 0;
  if (one === null) return -1;
  if (other === null) return 1;
  if (isNumber(one) && isNumber(other)) return one.value - other.value;
  if (isNumber(one)) return -1;
  if (isNumber(other)) return 1;
  return one < other ? -1 : 1;
}
