import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { push, type TableWords } from "./name_words.ts";

/** A way to join two tables: column by column, `from` refers to `to`. Tables are numbers into the catalog's list. */
export interface Join {
  readonly from: number;
  readonly to: number;
  readonly fromColumns: readonly string[];
  readonly toColumns: readonly string[];
  /** Whether a foreign key says so; else the columns' names do. */
  readonly isDeclared: boolean;
}

/** The other end of a join. */
export function partner(join: Join, table: number): number {
  return join.from === table ? join.to : join.from;
}

const keySuffixes = new Set(["id", "key", "sk", "fk", "uuid", "guid", "code", "no", "nr", "num", "number"]);
/** Where more tables than this share a name, the rest need not be looked at to see that it fits no single one. */
const ambiguous = 50;

/** A name as its stems in a row: `customers` and `Customer` give the same. */
const joined = (stems: readonly string[]): string => stems.join("_");

/** The numbers of items by each of their keys, in ascending order. */
export function numbersByKey<Item>(
  items: readonly Item[],
  keysOf: (item: Item) => readonly string[],
): Map<string, number[]> {
  const found = new Map<string, number[]>();
  items.forEach((item, at) => keysOf(item).forEach((key) => push(found, key, at)));
  return found;
}

/** The words before a reference's suffix: `customer` of `customer_id` and `customerid`; empty where it is no reference. */
function referredName(stems: readonly string[]): string {
  const last = stems.at(-1) ?? "";
  if (stems.length > 1 && keySuffixes.has(last)) return joined(stems.slice(0, -1));
  return stems.length === 1 ? /^(.{3,})id$/.exec(last)?.[1] ?? "" : "";
}

function singleKey(table: CatalogTable): CatalogColumn | undefined {
  const keys = table.columns.filter((column) => column.isPrimaryKey);
  return keys.length === 1 ? keys[0] : undefined;
}

/**
 * Gives a function that finds the joins in which a table refers to another, so that the caller can pause between two
 * tables: its foreign keys, and what its other columns' names say. Columns without a foreign key are taken for
 * references where one table of the same schema, or else of the catalog, goes by their name and has a key of one column
 * of the same type: many schemas declare no keys, and views cannot.
 */
export function createJoinFinder(tables: readonly TableWords[]): (table: number) => Join[] {
  const numbers = new Map(tables.map(({ table }, at) => [qualified(table.schema, table.name), at]));
  const byName = numbersByKey(tables, ({ table, name }) => {
    if (singleKey(table) === undefined) return [];
    // `dim_customer` and `crm_customers` are customers too
    return [...new Set([joined(name), joined(name.slice(1))])]
      .flatMap((referred) => [referred, qualified(table.schema, referred)]);
  });

  function declared(from: number, table: CatalogTable): Join[] {
    return table.foreignKeys.flatMap((key) => {
      const to = numbers.get(qualified(key.targetSchema, key.targetTable));
      if (to === undefined) return [];
      return [{ from, to, fromColumns: key.columns, toColumns: key.targetColumns, isDeclared: true }];
    });
  }

  function byColumnName(from: number, column: CatalogColumn, stems: readonly string[]): Join[] {
    const name = referredName(stems);
    const schema = tables[from]?.table.schema ?? "";
    if (name === "") return [];
    const [near = [], others = []] = [qualified(schema, name), name].map((key) =>
      byName.get(key)?.slice(0, ambiguous).filter((at) => at !== from)
    );
    const sameModule = near.filter((at) => tables[at]?.name[0] === tables[from]?.name[0]);
    const to = [sameModule, near, others].find((choice) => choice.length === 1)?.[0] ?? -1;
    const key = tables[to] && singleKey(tables[to].table);
    if (key === undefined || key.type !== column.type) return [];
    return [{ from, to, fromColumns: [column.name], toColumns: [key.name], isDeclared: false }];
  }

  return (from) => {
    const words = tables[from];
    if (words === undefined) return [];
    const { table } = words;
    const referring = new Set(table.foreignKeys.flatMap((key) => key.columns));
    const ownKey = singleKey(table)?.name;
    const guessed = table.columns.flatMap((column, at) =>
      referring.has(column.name) || column.name === ownKey
        ? []
        : byColumnName(from, column, words.columns[at] ?? [])
    );
    return [...declared(from, table), ...guessed];
  };
}

function qualified(schema: string, name: string): string {
  return JSON.stringify([schema, name]);
}

const longestWay = 8;
// "who changed the row" leads from everywhere to everywhere and means nothing
const auditColumn = /^(?:created|updated|modified|changed|deleted|inserted|last_\w+)_?by(?:_?id)?$/i;

/**
 * The graph of the tables and their joins. Ways through tables that everything refers to are dear; `tolls` has what
 * each table adds on top.
 */
export function createJoinGraph(tolls: readonly number[], joins: readonly Join[]) {
  const byTable: Join[][] = tolls.map(() => []);
  for (const join of joins) {
    byTable[join.from]?.push(join);
    if (join.to !== join.from) byTable[join.to]?.push(join);
  }

  /** The joins that a table takes part in, on either side; one with itself is there once. */
  function joinsOf(table: number): readonly Join[] {
    return byTable[table] ?? [];
  }

  /** What it costs to go to each partner of a table, by the cheapest join. */
  const steps = byTable.map((own, table) => {
    const costs = new Map<number, number>();
    for (const join of own) {
      const next = partner(join, table);
      const hub = Math.log2(1 + joinsOf(next).length) / 3;
      const audit = join.fromColumns.some((column) => auditColumn.test(column)) ? 4 : 0;
      const cost = 1 + hub + audit + (tolls[next] ?? 0) + (join.isDeclared ? 0 : 0.5);
      costs.set(next, Math.min(cost, costs.get(next) ?? Infinity));
    }
    return costs;
  });

  /**
   * The tables strictly between one of `sources` and `target` on the cheapest way, or undefined where there is none.
   * Dijkstra's algorithm, in buckets of a tenth, as costs are small.
   */
  function between(sources: ReadonlySet<number>, target: number): readonly number[] | undefined {
    const cost = new Map<number, number>();
    const previous = new Map<number, number>();
    const buckets: number[][] = [[...sources]];
    for (const source of sources) cost.set(source, 0);
    for (let bucket = 0; bucket < buckets.length; bucket++) {
      for (const table of buckets[bucket] ?? []) {
        const reached = cost.get(table) ?? 0;
        if (Math.floor(reached * 10) !== bucket) continue;
        if (table === target) return wayBack(previous, target);
        for (const [next, step] of steps[table] ?? []) {
          const total = reached + step;
          if (total > longestWay || total >= (cost.get(next) ?? Infinity)) continue;
          cost.set(next, total);
          previous.set(next, table);
          (buckets[Math.floor(total * 10)] ??= []).push(next);
        }
      }
    }
    return undefined;
  }

  return { joinsOf, between, areJoined: (one: number, other: number) => steps[one]?.has(other) ?? false };
}

function wayBack(previous: ReadonlyMap<number, number>, target: number): number[] {
  const way: number[] = [];
  let table = previous.get(target);
  while (table !== undefined && previous.has(table)) {
    way.unshift(table);
    table = previous.get(table);
  }
  return way;
}
