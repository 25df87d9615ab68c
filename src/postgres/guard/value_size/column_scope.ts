import { eitherOf, madeOf, type Shape, tableColumn } from "./value_shape.ts";

export interface Column {
  /** Undefined where it may have any name. */
  readonly name: string | undefined;
  readonly shape: Shape;
  /** It stands for all columns of a stored table, whose names and number are not known. */
  readonly isTable?: true;
}

/** What a query puts out. */
export interface Query {
  readonly columns: readonly Column[];
  /** Relations that the planner sees once it has put subqueries in their places. */
  readonly relations: number;
  /** What a stored table holds is among its rows. */
  readonly readsTable: boolean;
  /** Of a common table expression. */
  readonly copies?: Copies;
}

/** How the planner puts a common table expression in the places of its name. */
export interface Copies {
  /** Nodes of all that stands in it. */
  readonly nodes: number;
  /** Where not, it is planned once, and what stands in it counts where it is named first. */
  readonly isEach: boolean;
}

/** What stands in FROM under one name, which is undefined where only its columns can be named. */
export interface Relation extends Query {
  readonly name: string | undefined;
}

/** What is around the relations of a query. */
export interface Around {
  readonly ctes: ReadonlyMap<string, Query>;
  /** Of the query around this one. */
  readonly outer: Scope | undefined;
}

/** What names mean at a place of the statement. */
export interface Scope extends Around {
  /**
   * The worst that a name may mean: a column or a whole row, of this query or of one around it, since which of them has
   * it is not always told. A column of a stored table where no query gives the name.
   */
  find(parts: readonly string[]): Shape;
  /** The columns of `*`, or of a table's. */
  all(table?: string): readonly Column[];
  readonly readsTable: boolean;
  /** The names of this scope alone. */
  names(): ReturnType<typeof createNames>;
}

interface Found {
  readonly columns: readonly Column[];
  /** The worst of each name; under undefined, of those that may have any name. */
  readonly byName: ReadonlyMap<string | undefined, Shape>;
}

export const tableColumns: readonly Column[] = [{ name: undefined, shape: tableColumn, isTable: true }];

/** `spend` is told how many columns and queries are looked into. */
export function createScope(
  relations: readonly Relation[],
  { ctes, outer }: Around,
  spend: (steps: number) => void,
): Scope {
  let names: ReturnType<Scope["names"]> | undefined;
  const scope: Scope = {
    ctes,
    outer,
    readsTable: relations.some((relation) => relation.readsTable),
    find: (parts) => parts.length > 1 ? findOf(parts.at(-2) ?? "", parts.at(-1) ?? "") : findAlone(parts[0]),
    all(table) {
      if (table === undefined) return relations.flatMap((relation) => relation.columns);
      for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
        const found = at.names().relation(table);
        if (found !== undefined) return found.columns;
      }
      return tableColumns;
    },
    names: () => names ??= createNames(relations, spend),
  };

  function findOf(table: string, name: string): Shape {
    for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
      spend(1);
      const found = at.names().relation(table);
      if (found !== undefined) return found.byName.get(name) ?? found.byName.get(undefined) ?? tableColumn;
    }
    // a column of a type of rows, as in (a).b
    return findAlone(table);
  }

  function findAlone(name = ""): Shape {
    const found: Shape[] = [];
    let row: readonly Column[] | undefined;
    for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
      spend(1);
      const { byName } = at.names().every;
      const column = byName.get(name);
      if (column !== undefined) return eitherOf([...found, column]);
      const nameless = byName.get(undefined);
      if (nameless !== undefined) found.push(nameless);
      row ??= at.names().relation(name)?.columns;
    }
    spend(row?.length ?? 0);
    if (row !== undefined) found.push(madeOf(row.map((column) => column.shape)));
    return found.length === 0 ? tableColumn : eitherOf(found);
  }

  return scope;
}

function createNames(relations: readonly Relation[], spend: (steps: number) => void) {
  const byName = Map.groupBy(relations, (relation) => relation.name);
  const found = new Map<string, Found>();
  return {
    every: findNames(relations.flatMap((relation) => relation.columns), spend),
    relation(name: string): Found | undefined {
      const named = byName.get(name);
      if (named === undefined) return undefined;
      const known = found.get(name) ?? findNames(named.flatMap((relation) => relation.columns), spend);
      found.set(name, known);
      return known;
    },
  };
}

function findNames(columns: readonly Column[], spend: (steps: number) => void): Found {
  spend(columns.length);
  const byName = new Map<string | undefined, Shape>();
  for (const [name, named] of Map.groupBy(columns, (column) => column.name)) {
    byName.set(name, eitherOf(named.map((column) => column.shape)));
  }
  return { columns, byName };
}

/** The columns under the names of an alias, as in `AS t (a, b)`; those beyond the list keep theirs. */
export function renameColumns(columns: readonly Column[], names: readonly string[]): readonly Column[] {
  if (names.length === 0) return columns;
  if (!columns.some((column) => column.isTable)) {
    return columns.map((column, at) => at < names.length ? { name: names[at], shape: column.shape } : column);
  }
  return [...spread(columns, names.length).map((shape, at) => ({ name: names[at], shape })), ...tableColumns];
}

/**
 * The shape in `others` of each of the columns, as UNION puts them in one place. Where a stored table's columns are
 * among them, the others are counted from both ends; where that does not tell, each may be the worst of all.
 */
export function alignColumns(columns: readonly Column[], others: readonly Column[]): Shape[] {
  const table = columns.findIndex((column) => column.isTable);
  if (table < 0) return spread(others, columns.length);
  const otherTable = others.findIndex((column) => column.isTable);
  const isPlain = isOnce(columns) && (otherTable < 0 || otherTable === table && isOnce(others));
  const more = others.length - columns.length;
  if (!isPlain || (otherTable < 0 ? more < -1 : more !== 0)) {
    const worst = eitherOf([tableColumn, ...others.map((column) => column.shape)]);
    return columns.map(() => worst);
  }
  const between = others.slice(table, table + more + 1).map((column) => column.shape);
  return columns.map((_, at) =>
    at === table
      ? eitherOf([tableColumn, ...between])
      : others[at < table ? at : at + more]?.shape ?? tableColumn
  );
}

/** The shapes of so many columns: those of a stored table fill what the others leave. */
function spread(columns: readonly Column[], count: number): Shape[] {
  const table = columns.findIndex((column) => column.isTable);
  const every = Array.from({ length: count }, (_, at) => at);
  if (!isOnce(columns)) {
    const worst = eitherOf(columns.map((column) => column.shape));
    return every.map(() => worst);
  }
  // after the table, columns are counted from the end
  const more = table < 0 ? 0 : count - columns.length;
  return every.map((at) => {
    if (table < 0 || at <= table) return columns[at]?.shape ?? tableColumn;
    return at <= table + more ? tableColumn : columns[at - more]?.shape ?? tableColumn;
  });
}

function isOnce(columns: readonly Column[]): boolean {
  return columns.filter((column) => column.isTable).length < 2;
}
