import { distance, type PdfLine, type Span } from "./page_lines.ts";

/** Rows of a table, each with a text for each column; the texts of a cell's lines are one. */
export interface PdfTable {
  readonly page: number;
  readonly rows: readonly (readonly string[])[];
}

const fewestRows = 3;
/** Of two columns without shorter texts nobody knows whether they are a table's. */
const longestOfTwo = 25;
/** A row is at most so far below the one before, in sizes of type. */
const widestRowGap = 3;

/** Tells tables, whose cells stand below each other, from other lines. Where it is in doubt, lines stay lines. */
export function* findTables(lines: readonly PdfLine[]): Iterable<PdfLine | PdfTable> {
  for (let first = 0; first < lines.length;) {
    const rows = rowsFrom(lines, first);
    const table = tableOf(rows);
    if (table === undefined) yield* rows;
    else yield table;
    first += rows.length;
  }
}

/** Between two rows at most so many lines have one cell: texts that go on, or headings between rows. */
const mostBetween = 5;

/** The lines from one on that may be a table's; else that line. */
function rowsFrom(lines: readonly PdfLine[], first: number): readonly PdfLine[] {
  let end = first + 1;
  // a caption may look like a row
  if (isRow(lines[first]) && lines.slice(first + 1, first + 3).some(isRow)) {
    for (let at = end; at < lines.length && at - end < mostBetween; at++) {
      const [last, line] = [lines[at - 1], lines[at]];
      if (last === undefined || line === undefined || !follows(last, line)) break;
      // a cell of the last row may go on
      const isNear = at === end && last.y - line.y < line.size * 1.4;
      const goesOn = isNear && (line.cells[0]?.x ?? 0) > (lines[first]?.cells[0]?.right ?? 0);
      if (isRow(line) || goesOn) end = at + 1;
    }
  }
  return lines.slice(first, end);
}

const isRow = (line: PdfLine | undefined) => line !== undefined && line.cells.length > 1;

function follows(last: PdfLine, line: PdfLine): boolean {
  return last.page === line.page && last.column === line.column && Math.abs(last.size - line.size) <= 1 &&
    last.y - line.y < line.size * widestRowGap;
}

function tableOf(lines: readonly PdfLine[]): PdfTable | undefined {
  const whole = lines.filter(isRow);
  const [head] = lines;
  if (head === undefined || whole.length < fewestRows) return undefined;
  const columns = findColumns(whole);
  if (columns.length < 2) return undefined;
  const gaps = lines.map((line, at) => (lines[at - 1]?.y ?? Infinity) - line.y);
  const usualGap = gaps.slice(1).sort((one, other) => one - other)[(gaps.length - 1) >> 1] ?? 0;
  const rows: string[][] = [];
  let isBegun = false;
  lines.forEach((line, at) => {
    const cellsAt = Map.groupBy(line.cells, (cell) => columnOf(columns, cell));
    const row = columns.map((_, column) => cellsAt.get(column)?.map(({ text }) => text).join(" ") ?? "");
    const [above, gap, gapBelow] = [rows.at(-1), gaps[at] ?? Infinity, gaps[at + 1] ?? Infinity];
    const isPart = row[0] === "" && line.cells.length === 1;
    // where cells are centred, a line is nearer to the row that it begins than to the one before
    const begins = isPart && !isBegun && gap > gapBelow * 1.2;
    const goesOn = isBegun || (!begins && (isPart || (row[0] === "" && gap < usualGap * 0.75)));
    isBegun = isPart && (isBegun || begins);
    if (above !== undefined && goesOn) {
      row.forEach((text, column) => above[column] = `${above[column]} ${text}`.trim());
    } else rows.push(row);
  });
  const isProse = columns.length === 2 &&
    columns.every((_, at) =>
      rows.filter((row) => (row[at] ?? "").length > longestOfTwo).length * 2 > rows.length
    );
  return rows.length < fewestRows || isProse ? undefined : { page: head.page, rows };
}

/** What of the width is between gaps that go down through most rows, and cells in these gaps: a column may have few. */
function findColumns(lines: readonly PdfLine[]): Span[] {
  const cells = lines.flatMap((line) => line.cells);
  const columns = coveredBy(cells, Math.floor(lines.length / 4));
  const between = cells.filter((cell) => columns.every((column) => distance(column, cell) > 0));
  const all = [...columns, ...coveredBy(between, 0)].sort((one, other) => one.x - other.x);
  const isLeftwards = lines.every(({ cells }) => (cells[0]?.x ?? 0) > (cells[1]?.x ?? 0));
  return isLeftwards ? all.reverse() : all;
}

/** The parts of the width that more than so many cells cover. */
function coveredBy(cells: readonly Span[], most: number): Span[] {
  const edges = cells.flatMap(({ x, right }) => [[x, 1], [right, -1]] as const)
    .sort(([one, step], [other, next]) => one - other || step - next);
  const parts: Span[] = [];
  let [depth, start] = [0, 0];
  for (const [x, step] of edges) {
    const before = depth;
    depth += step;
    if (before <= most && depth > most) start = x;
    else if (before > most && depth <= most) parts.push({ x: start, right: x });
  }
  return parts;
}

function columnOf(columns: readonly Span[], cell: Span): number {
  const distances = columns.map((column) => distance(column, cell));
  return distances.indexOf(Math.min(...distances));
}
