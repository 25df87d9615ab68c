import { eitherOf, madeOf, type Shape, tableColumn } from "./growth_shape.ts";

export interface OutputColumn {
  /** Undefined where it may have any name. */
  readonly name: string | undefined;
  /** What FROM calls the table that it is of; undefined where it may be called anything. */
  readonly table?: string | undefined;
  readonly shape: Shape;
}

/** The columns that a query or a FROM clause puts out. */
export interface Columns {
  readonly list: readonly OutputColumn[];
  /** It has columns of stored tables too, which are not listed. */
  readonly open: boolean;
  /** Relations that the planner sees once it has put subqueries in their places. */
  readonly relations: number;
  /** The worst of the columns that may be called so; undefined where none may. */
  find(name: string, table: string | undefined): Shape | undefined;
  /** A whole row of a table of FROM; undefined where it has a column of its own name, or none that is listed. */
  findRow(table: string): Shape | undefined;
  /** The worst that the column in this place may be. */
  worstAt(place: number): Shape;
  /** Both, as FROM puts them side by side. */
  beside(other: Columns): Columns;
}

export function createColumns(list: readonly OutputColumn[], open: boolean, relations: number): Columns {
  let byName: ReadonlyMap<string | undefined, NamedColumns> | undefined;
  let rows: ReadonlyMap<string | undefined, Shape> | undefined;
  let worst: Shape | undefined;
  return {
    list,
    open,
    relations,
    find(name, table) {
      if (list.length === 0) return undefined;
      byName ??= groupByName(list);
      const named = byName.get(name) ?? byName.get(undefined);
      if (named === undefined || table === undefined) return named?.worst;
      const found = [named.byTable.get(table), named.byTable.get(undefined)].filter((shape) =>
        shape !== undefined
      );
      return found.length === 0 ? undefined : eitherOf(found);
    },
    findRow(table) {
      byName ??= groupByName(list);
      rows ??= groupByTable(list);
      return byName.get(table)?.byTable.has(table) ? undefined : rows.get(table);
    },
    worstAt(place) {
      if (!open) return list[place]?.shape ?? tableColumn;
      return worst ??= eitherOf([tableColumn, ...list.map((column) => column.shape)]);
    },
    beside: (other) =>
      createColumns([...list, ...other.list], open || other.open, relations + other.relations),
  };
}

/** The columns of one name: the worst of them all, and the worst of each table's. */
interface NamedColumns {
  worst: Shape;
  readonly byTable: Map<string | undefined, Shape>;
}

function groupByName(list: readonly OutputColumn[]): Map<string | undefined, NamedColumns> {
  const byName = new Map<string | undefined, NamedColumns>();
  for (const { name, table, shape } of list) {
    const known = byName.get(name);
    if (known === undefined) {
      byName.set(name, { worst: shape, byTable: new Map([[table, shape]]) });
      continue;
    }
    const ofTable = known.byTable.get(table);
    known.worst = eitherOf([known.worst, shape]);
    known.byTable.set(table, ofTable === undefined ? shape : eitherOf([ofTable, shape]));
  }
  return byName;
}

function groupByTable(list: readonly OutputColumn[]): Map<string | undefined, Shape> {
  const shapes = new Map<string | undefined, Shape[]>();
  for (const { table, shape } of list) {
    const known = shapes.get(table);
    if (known === undefined) shapes.set(table, [shape]);
    else known.push(shape);
  }
  return new Map([...shapes].map(([table, columns]) => [table, madeOf(columns)]));
}

export const noColumns: Columns = createColumns([], false, 0);

/** The columns under the names of an alias, as in `AS t (a, b)`; those beyond the list keep theirs. */
export function renameColumns(columns: Columns, names: readonly string[]): Columns {
  if (names.length === 0) return columns;
  const renamed = names.map((name, at) => ({ name, shape: columns.worstAt(at) }));
  const rest = columns.list.slice(columns.open ? 0 : names.length);
  return createColumns([...renamed, ...rest], columns.open, columns.relations);
}

/** The columns as those of a table of FROM. */
export function qualifyColumns(columns: Columns, table: string | undefined): Columns {
  return createColumns(columns.list.map((column) => ({ ...column, table })), columns.open, columns.relations);
}
