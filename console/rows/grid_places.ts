import { valueText } from "../../src/tool_server/view/page/cell_values.ts";
import type { Column, Row } from "../../src/tool_server/view/page/tool_result.ts";

/** A cell: row 0 has the headings. */
export interface Place {
  readonly row: number;
  readonly column: number;
}

/** Of a `KeyboardEvent`. */
type Key = { readonly key: string } & Readonly<Record<"ctrlKey" | "metaKey" | "altKey", boolean>>;

/** Where a key leads; undefined where it leads nowhere. `page` rows are seen at once. */
export function move(
  { row, column }: Place,
  { key, ctrlKey, metaKey, altKey }: Key,
  { rows, columns, page }: Readonly<Record<"rows" | "columns" | "page", number>>,
): Place | undefined {
  if (altKey) return undefined;
  const isFar = ctrlKey || metaKey;
  const next = {
    ArrowUp: { row: isFar ? 0 : row - 1, column },
    ArrowDown: { row: isFar ? rows : row + 1, column },
    ArrowLeft: { row, column: isFar ? 0 : column - 1 },
    ArrowRight: { row, column: isFar ? columns : column + 1 },
    PageUp: { row: row - page, column },
    PageDown: { row: row + page, column },
    Home: { row: isFar ? 0 : row, column: 0 },
    End: { row: isFar ? rows : row, column: columns },
  }[key];
  return next && {
    row: Math.min(rows, Math.max(0, next.row)),
    column: Math.min(columns - 1, Math.max(0, next.column)),
  };
}

/** Where to scroll so that `from` to `to` is within what is seen. */
export function within(scroll: number, size: number, from: number, to: number): number {
  return Math.min(from, Math.max(scroll, to - size));
}

const characterWidth = 8.1;
const narrowest = 72;
const widest = 340;

/** Where the columns begin, and the last one ends, in pixels. */
export function columnEdges(columns: readonly Column[], rows: readonly Row[]): number[] {
  const edges = [0];
  for (const [at, { name, type }] of columns.entries()) {
    const longest = Math.max(
      name.length + 2,
      type.length * 0.85,
      ...rows.map((row) => row[at] === null ? 4 : valueText(row[at]).length),
    );
    const width = Math.ceil(longest * characterWidth) + 24;
    edges.push((edges.at(-1) ?? 0) + Math.min(widest, Math.max(narrowest, width)));
  }
  return edges;
}
