import { eitherOf, type Shape, tableColumn } from "./growth_shape.ts";

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
  /** The worst that the column in this place may be. */
  worstAt(place: number): Shape;
  /** Both, as FROM puts them side by side. */
  beside(other: Columns): Columns;
}

export function createColumns(list: readonly OutputColumn[], open: boolean, relations: number): Columns {
  let byName: Map<string | undefined, OutputColumn[]> | undefined;
  return {
    list,
    open,
    relations,
    find(name, table) {
      byName ??= groupByName(list);
      const found = (byName.get(name) ?? byName.get(undefined) ?? [])
        .filter((column) => table === undefined || column.table === undefined || column.table === table);
      return found.length === 0 ? undefined : eitherOf(found.map((column) => column.shape));
    },
    worstAt(place) {
      if (!open) return list[place]?.shape ?? tableColumn;
      return eitherOf([tableColumn, ...list.map((column) => column.shape)]);
    },
    beside: (other) =>
      createColumns([...list, ...other.list], open || other.open, relations + other.relations),
  };
}

function groupByName(list: readonly OutputColumn[]): Map<string | undefined, OutputColumn[]> {
  const byName = new Map<string | undefined, OutputColumn[]>();
  for (const column of list) {
    const known = byName.get(column.name);
    if (known === undefined) byName.set(column.name, [column]);
    else known.push(column);
  }
  return byName;
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
