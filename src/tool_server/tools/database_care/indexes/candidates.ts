import type { TableUse } from "./table_uses.ts";
import type { TableStatistics } from "./table_statistics.ts";

/** An index that may help. */
export interface Candidate {
  readonly table: TableStatistics;
  readonly columns: readonly string[];
  /** Numbers of the statements that it may help. */
  readonly statements: readonly number[];
  /** What they do with its columns, in words. */
  readonly reasons: readonly string[];
  /** Rows that it would spare reading, over all its statements: a guess from statistics alone. */
  readonly sparedRows: number;
}

/** One use of a table by a statement that is run `weight` times. */
export interface WeighedUse {
  readonly statement: number;
  readonly weight: number;
  readonly table: TableStatistics;
  readonly use: TableUse;
}

/** A smaller table is read faster than its index. */
const fewRows = 1_000;
const maxColumns = 3;
/** A condition that keeps more of the rows is not worth an index. */
const largestPart = 0.2;
/** What the planner takes where it knows nothing. */
const rangePart = 1 / 3;

/** Every B-tree that one of the uses suggests and that is not there already, the one that spares most first. */
export function findCandidates(uses: readonly WeighedUse[]): Candidate[] {
  const found = new Map<string, { candidate: Candidate; statements: Set<number>; reasons: Set<string> }>();
  for (const { statement, weight, table, use } of uses) {
    if (table.rows >= 0 && table.rows < fewRows) continue;
    for (const columns of suggestedColumns(use, table)) {
      if (!isWorthwhile(columns, use, table) || isThere(columns, table)) continue;
      const key = JSON.stringify([table.schema, table.name, columns]);
      const known = found.get(key) ?? {
        candidate: { table, columns, statements: [], reasons: [], sparedRows: 0 },
        statements: new Set<number>(),
        reasons: new Set<string>(),
      };
      const rows = Math.max(table.rows, 0);
      const sparedRows = known.candidate.sparedRows + weight * rows * (1 - partOf(columns, use, table));
      known.statements.add(statement);
      known.reasons.add(reasonFor(columns, use));
      found.set(key, { ...known, candidate: { ...known.candidate, sparedRows } });
    }
  }
  return [...found.values()].map(({ candidate, statements, reasons }) => ({
    ...candidate,
    statements: [...statements],
    reasons: [...reasons],
  })).toSorted((a, b) => b.sparedRows - a.sparedRows || a.columns.length - b.columns.length);
}

function suggestedColumns(use: TableUse, table: TableStatistics): string[][] {
  const equal = [...use.equal].toSorted((a, b) => distinctValues(b, table) - distinctValues(a, table));
  const join = [...use.join];
  const range = [...use.range];
  const { order } = use;
  const lists = [
    ...[...equal, ...join, ...range, ...use.either].map((column) => [column]),
    equal,
    // the second serves statements with the range alone too
    ...range.flatMap((column) => [[...equal.slice(0, maxColumns - 1), column], [column, ...equal]]),
    ...join.flatMap((column) => [[column, ...equal], [...equal, column], [column, ...range]]),
    [...order],
    [...equal.slice(0, maxColumns - 1), ...order],
  ];
  const sortable = new Set(
    table.columns.filter(({ isSortable }) => isSortable).map(({ name }) => name),
  );
  const distinct = new Map(
    lists.map((list) => [...new Set(list)].slice(0, maxColumns))
      .filter((list) => list.length > 0 && list.every((column) => sortable.has(column)))
      .map((list) => [JSON.stringify(list), list] as const),
  );
  return [...distinct.values()];
}

/** Whether it leaves out most rows, or spares a sort. */
function isWorthwhile(columns: readonly string[], use: TableUse, table: TableStatistics): boolean {
  const isSorted = use.order.length > 0 && use.order.every((column) => columns.includes(column));
  return isSorted || use.join.has(columns[0] ?? "") || partOf(columns, use, table) <= largestPart ||
    columns.some((column) => use.range.has(column));
}

/** The part of the rows that the conditions on the columns leave, taken as independent of each other. */
function partOf(columns: readonly string[], use: TableUse, table: TableStatistics): number {
  return columns.reduce((part, column) => {
    if (use.equal.has(column) || use.join.has(column) || use.either.has(column)) {
      return part / distinctValues(column, table);
    }
    return use.range.has(column) ? part * rangePart : part;
  }, 1);
}

function distinctValues(name: string, table: TableStatistics): number {
  const distinct = table.columns.find((column) => column.name === name)?.distinct;
  // as the planner has it where nothing is known
  if (distinct === undefined || distinct === null || distinct === 0) return 200;
  return Math.max(1, distinct < 0 ? -distinct * Math.max(table.rows, 1) : distinct);
}

function isThere(columns: readonly string[], { indexes }: TableStatistics): boolean {
  return indexes.some((index) => columns.every((column, at) => index[at] === column));
}

function reasonFor(columns: readonly string[], use: TableUse): string {
  return columns.map((column) => {
    const what = use.equal.has(column) || use.either.has(column)
      ? "compared"
      : use.join.has(column)
      ? "joined"
      : use.range.has(column)
      ? "a range"
      : "sorted";
    return `${JSON.stringify(column)} ${what}`;
  }).join(", ");
}
