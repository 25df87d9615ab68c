import { columnKind, moment, valueText } from "./cell_values.ts";
import type { Column, Row } from "./tool_result.ts";

/** A chart that rows suit: what stands beside each value, and the columns whose values can be drawn. */
export interface Chart {
  readonly kind: "bars" | "line";
  readonly label: number;
  readonly measures: readonly number[];
}

/** More bars than these are a table. */
const mostBars = 30;
const longestLabel = 60;

/**
 * The chart that rows suit: bars for one column of categories and numbers, a line for one of dates or times and numbers.
 * Undefined where that is not plain: a wrong chart is worse than none.
 */
export function chooseChart(columns: readonly Column[], rows: readonly Row[]): Chart | undefined {
  const kinds = columns.map(({ type }) => columnKind(type));
  const labels = kinds.flatMap((kind, index) => kind === "number" ? [] : [index]);
  const [label] = labels;
  if (label === undefined || labels.length > 1) return undefined;
  const measures = columns.flatMap(({ name }, index) =>
    kinds[index] === "number" && !isKey(name) && isMeasured(rows, index) ? [index] : []
  );
  if (measures.length === 0) return undefined;
  const isTime = kinds[label] === "time";
  if (!isTime && kinds[label] !== "category") return undefined;
  return (isTime ? suitsLine(rows, label) : suitsBars(rows, label))
    ? { kind: isTime ? "line" : "bars", label, measures }
    : undefined;
}

// a number that names something measures nothing
function isKey(name: string): boolean {
  return /^(?:id|.+_id)$/i.test(name);
}

function isMeasured(rows: readonly Row[], column: number): boolean {
  return rows.filter((row) => drawnNumber(row[column]) !== undefined).length >= 2;
}

/** Undefined for NULL, NaN and infinity. */
export function drawnNumber(value: unknown): number | undefined {
  if (value === null || value === "") return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

function suitsBars(rows: readonly Row[], label: number): boolean {
  const texts = rows.map((row) => row[label] === null ? null : valueText(row[label]));
  return rows.length <= mostBars && new Set(texts).size === texts.length &&
    texts.every((text) => text === null || text.length <= longestLabel);
}

function suitsLine(rows: readonly Row[], label: number): boolean {
  const times = rows.flatMap((row) => moment(row[label])?.timeMs ?? []);
  return times.length >= 3 && times.length === rows.length && new Set(times).size === times.length;
}
