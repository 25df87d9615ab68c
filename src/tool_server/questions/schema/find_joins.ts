import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import type { Join } from "./join_graph.ts";
import type { TableWords } from "./table_words.ts";

/** Finds a catalog's joins table by table, so that the caller can pause between two of them. */
export interface JoinFinder {
  /** The joins in which a table refers to another: its foreign keys, and what its other columns' names say. */
  joinsFrom(table: number): Join[];
}

const keyEndings = new Set(["id", "key", "sk", "fk", "uuid", "guid", "code", "no", "nr", "num", "number"]);
/** Where more tables than this share a name, the rest need not be looked at to see that it fits no single one. */
const ambiguous = 50;

/** A name as its stems in a row: `customers` and `Customer` give the same. */
const joined = (stems: readonly string[]): string => stems.join("_");

/** The words before a reference's ending: `customer` of `customer_id` and `customerid`; empty where it is no reference. */
function referredName(stems: readonly string[]): string {
  const last = stems.at(-1) ?? "";
  if (stems.length > 1 && keyEndings.has(last)) return joined(stems.slice(0, -1));
  return stems.length === 1 ? /^(.{3,})id$/.exec(last)?.[1] ?? "" : "";
}

function singleKey(table: CatalogTable): CatalogColumn | undefined {
  const keys = table.columns.filter((column) => column.isPrimaryKey);
  return keys.length === 1 ? keys[0] : undefined;
}

/**
 * Columns without a foreign key are taken for references where one table of the same schema, or else of the catalog,
 * goes by their name and has a key of one column of the same type: many schemas declare no keys, and views cannot.
 */
export function createJoinFinder(tables: readonly TableWords[]): JoinFinder {
  const numbers = new Map(tables.map(({ table }, at) => [qualified(table.schema, table.name), at]));
  const byName = new Map<string, number[]>();
  tables.forEach(({ table, name }, at) => {
    if (singleKey(table) === undefined) return;
    // `dim_customer` and `crm_customers` are customers too
    for (const referred of new Set([joined(name), joined(name.slice(1))])) {
      for (const key of [referred, qualified(table.schema, referred)]) {
        const known = byName.get(key);
        if (known === undefined) byName.set(key, [at]);
        else known.push(at);
      }
    }
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

  return {
    joinsFrom(from) {
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
    },
  };
}

function qualified(schema: string, name: string): string {
  return JSON.stringify([schema, name]);
}
