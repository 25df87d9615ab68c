import { cleanText } from "./document_builder.ts";

/** A run of text as pdf.js finds it; places are in points from the page's lower left corner. */
export interface PdfItem {
  readonly str: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly fontSize: number;
  readonly font: string;
  readonly hasEOL: boolean;
}

/** A part of the width. */
export interface Span {
  readonly x: number;
  readonly right: number;
}

/** Text on a line without a wide gap. */
export interface PdfCell extends Span {
  readonly text: string;
  readonly y: number;
  /** Rounded to half a point. */
  readonly size: number;
  readonly font: string;
}

/** A line of a column, or of the page where that has none. */
export interface PdfLine {
  /** From 1. */
  readonly page: number;
  /** Of the page, in reading order. */
  readonly column: number;
  /** In reading order; one but in rows of tables and their like. */
  readonly cells: readonly PdfCell[];
  readonly text: string;
  readonly y: number;
  readonly size: number;
  readonly font: string;
}

const rightToLeft = /[\u0590-\u08ff]/;

/** Between cells, in sizes of their type; blanks in justified lines are narrower. */
const cellGap = 0.9;

/**
 * A page's lines in the order in which people read them: column by column, above and below what is wider than one.
 *
 * @param starts where columns begin on the pages before, in points; takes those of this page
 */
export function pageLines(cells: readonly PdfCell[], page: number, starts: Set<number>): PdfLine[] {
  const isLeftwards = cells.filter(({ text }) => rightToLeft.test(text)).length * 2 > cells.length;
  return columnsOf(cells, isLeftwards, starts).flatMap((found, column) =>
    rowsOf(found).map((cellsOfRow) => {
      const row = joinCells(cellsOfRow, isLeftwards);
      const widest = row.reduce((most, cell) => cell.text.length > most.text.length ? cell : most);
      const text = row.map((cell) => cell.text).join(" ");
      return { page, column, cells: row, text, y: widest.y, size: widest.size, font: widest.font };
    })
  );
}

/** Runs without wide gaps between them as one, in the file's order. */
export function cellsOf(items: readonly PdfItem[]): PdfCell[] {
  const cells: PdfCell[] = [];
  let run: PdfItem[] = [];
  const end = () => {
    const text = runText(run);
    if (text !== "") {
      const shown = run.filter(({ str }) => str.trim() !== "");
      const widest = shown.reduce((most, item) => item.str.length > most.str.length ? item : most);
      cells.push({
        text,
        x: shown.reduce((least, { x }) => Math.min(least, x), Infinity),
        right: shown.reduce((most, { x, width }) => Math.max(most, x + width), -Infinity),
        y: widest.y,
        size: Math.round(widest.fontSize * 2) / 2,
        font: widest.font,
      });
    }
    run = [];
  };
  for (const item of items) {
    const last = run.findLast(({ str }) => str.trim() !== "");
    if (last !== undefined && item.str.trim() !== "") {
      const size = Math.max(item.fontSize, last.fontSize);
      const gap = distance(spanOf(last), spanOf(item));
      if (Math.abs(item.y - last.y) > size * 0.5 || gap > size * cellGap) end();
    }
    run.push(item);
    if (item.hasEOL) end();
  }
  end();
  return cells;
}

const spanOf = ({ x, width }: PdfItem): Span => ({ x, right: x + width });

/** Negative where they overlap. */
export function distance(one: Span, other: Span): number {
  return Math.max(other.x - one.right, one.x - other.right);
}

function runText(run: readonly PdfItem[]): string {
  let text = "";
  let last: PdfItem | undefined;
  for (const item of run) {
    const gap = last === undefined ? 0 : item.x - (last.x + last.width);
    if (gap > item.fontSize * 0.2 && !/\s$/.test(text)) text += " ";
    text += item.str;
    if (item.str !== "") last = item;
  }
  return lineText(text);
}

/** What a line of print says: type has one sign for letters that touch. */
export function lineText(text: string): string {
  return cleanText(text).replace(/[\ufb00-\ufb06]/g, (ligature) => ligature.normalize("NFKC"))
    .replace(/\s+/g, " ").trim();
}

/** What stands before an item of a list, and where there is nothing else on the line also before an item or a heading. */
const [mark, loneMark] = [/^[•▪◦●○■]$/, /^(?:[–—*-]|\(?\w{1,3}[.)]|\[\w{1,4}\]|\d+(?:\.\d+)*)$/];

/** A line's cells in reading order, without those that are none: marks, and what is as near as words are. */
function joinCells(row: readonly PdfCell[], isLeftwards: boolean): PdfCell[] {
  const direction = isLeftwards ? -1 : 1;
  const joined: PdfCell[] = [];
  for (const cell of row.toSorted((one, other) => (one.x - other.x) * direction)) {
    const last = joined.at(-1);
    const isMark = last !== undefined &&
      (mark.test(last.text) || (joined.length === 1 && row.length === 2 && loneMark.test(last.text)));
    if (last === undefined || (!isMark && distance(last, cell) > cell.size * cellGap)) joined.push(cell);
    else {
      const [x, right] = [Math.min(last.x, cell.x), Math.max(last.right, cell.right)];
      joined[joined.length - 1] = { ...last, text: `${last.text} ${cell.text}`, x, right };
    }
  }
  return joined;
}

/** Cells of the same height, from top to bottom. */
export const rowsOf = (cells: readonly PdfCell[]): PdfCell[][] => divided(cells, 0, 0.5);

/**
 * Cells in groups, from top to bottom.
 *
 * @param at which cell of its group the next one is near to: 0 the first, -1 the last
 * @param gap the least distance between groups, in sizes of type
 */
function divided(cells: readonly PdfCell[], at: number, gap: number): PdfCell[][] {
  const groups: PdfCell[][] = [];
  for (const cell of cells.toSorted((one, other) => other.y - one.y)) {
    const above = groups.at(-1)?.at(at);
    if (above !== undefined && above.y - cell.y < Math.max(above.size, cell.size) * gap) {
      groups.at(-1)?.push(cell);
    } else groups.push([cell]);
  }
  return groups;
}

/** Of text in columns: a line's letters, a first page's lines, and what most lines have of the longest; tables have less. */
const [shortestLine, fewestLines, fullLine] = [18, 4, 0.7];
/** In points. */
const narrowestGutter = 4;
const mostTried = 50;

/** Cells by the columns of their page, in reading order. What spans several columns is one of its own. */
function columnsOf(cells: readonly PdfCell[], isLeftwards: boolean, starts: Set<number>): PdfCell[][] {
  const found = findGutter(cells, starts);
  if (found === undefined) {
    // tables and lists may stand above or below the columns, behind a wide gap
    const parts = divided(cells, -1, 1.7);
    const at = parts.findIndex((part) => part.length < cells.length && findGutter(part, starts, true));
    if (at < 0) return [[...cells]];
    return [parts.slice(0, at).flat(), parts[at] ?? [], parts.slice(at + 1).flat()]
      .flatMap((part) => part.length > 0 ? columnsOf(part, isLeftwards, starts) : []);
  }
  const columns: PdfCell[][] = [];
  let [left, right, spanning]: [PdfCell[], PdfCell[], PdfCell[]] = [[], [], []];
  const end = () => {
    if (spanning.length > 0) columns.push(spanning);
    for (const side of isLeftwards ? [right, left] : [left, right]) {
      if (side.length > 0) columns.push(...columnsOf(side, isLeftwards, starts));
    }
    [left, right, spanning] = [[], [], []];
  };
  for (const cell of cells.toSorted((one, other) => other.y - one.y)) {
    if (found.spanning.has(cell)) {
      if (left.length + right.length > 0) end();
      spanning.push(cell);
    } else (cell.x < found.x ? left : right).push(cell);
  }
  end();
  return columns;
}

/** Where the column begins that the fewest cells reach into; a part of a page is full of text, as no table is. */
function findGutter(cells: readonly PdfCell[], starts: Set<number>, isPart = false) {
  const rows = rowsOf(cells);
  const tableRows = rows.filter((row) =>
    row.length > 2 && row.every(({ text }) => text.length < shortestLine)
  );
  // what stands alone above or below both columns may hide the gap between them
  const inner = rows.filter((row, at) => row.length > 1 || (at > 0 && at < rows.length - 1)).flat();
  for (const x of columnStarts(inner)) {
    const sideOf = (cell: PdfCell) => cell.right < x ? "left" : cell.x >= x ? "right" : "spanning";
    const spanning = new Set(cells.filter((cell) => sideOf(cell) === "spanning"));
    for (const row of tableRows) {
      const sides = new Set(row.map(sideOf));
      if (sides.has("left") && sides.has("right")) row.forEach((cell) => spanning.add(cell));
    }
    const rest = cells.filter((cell) => !spanning.has(cell));
    if (spanning.size > rest.length) continue;
    const { true: left = [], false: right = [] } = Object.groupBy(rest, (cell) => `${cell.right < x}`);
    const fewest = !isPart && starts.has(Math.round(x)) ? 1 : fewestLines;
    if (isText(left, fewest, isPart) && isText(right, fewest, isPart)) {
      starts.add(Math.round(x));
      return { x, spanning };
    }
  }
  return undefined;
}

/** Where a column may begin, those first that the fewest cells reach over. */
function columnStarts(cells: readonly PdfCell[]): number[] {
  const edges = cells.flatMap(({ x, right }) => [[x, 1], [right, -1]] as const)
    .sort(([one, step], [other, next]) => one - other || step - next);
  const starts: { readonly x: number; readonly crossing: number }[] = [];
  let crossing = 0;
  edges.forEach(([x, step], at) => {
    const [last = x, lastStep] = edges[at - 1] ?? [];
    if (step > 0 && lastStep === -1 && x - last >= narrowestGutter) starts.push({ x, crossing });
    crossing += step;
  });
  return starts.sort((one, other) => one.crossing - other.crossing).slice(0, mostTried).map(({ x }) => x);
}

/** Numbers may stand at the ends of a text's lines. */
function isText(cells: readonly PdfCell[], fewest: number, isFull: boolean): boolean {
  const texts = cells.filter(({ text }) => /\p{L}/u.test(text));
  const lengths = texts.map(({ text }) => text.length).sort((one, other) => one - other);
  const usual = lengths[Math.floor(lengths.length / (isFull ? 3 : 2))] ?? 0;
  return lengths.length >= fewest && usual >= shortestLine &&
    (!isFull || usual >= (lengths.at(-1) ?? 0) * fullLine);
}
