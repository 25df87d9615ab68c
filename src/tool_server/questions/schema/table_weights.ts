import type { CatalogTable } from "../../../postgres/catalog/catalog.ts";
import type { TableWords } from "./name_words.ts";

/** What is left of a table's weight where the planner knows it to be empty. */
export const emptyFactor = 0.6;

/** How often a table is meant, as far as the catalog tells: one that many join and that holds many rows; from 0. */
export function tableWeight(table: CatalogTable, joinCount: number, copyFactor: number): number {
  const rows = Math.max(0, table.estimatedRows);
  const emptiness = table.estimatedRows === 0 ? emptyFactor : 1;
  return copyFactor * emptiness * (Math.log2(1 + joinCount) + 0.3 * Math.log10(1 + rows));
}

const nextOfSchema = 0.8;

/** All tables, those first that tell most about the database; each schema's best come before any schema's tenth. */
export function overviewOrder(tables: readonly CatalogTable[], weights: readonly number[]): number[] {
  const weight = (table: number) => weights[table] ?? 0;
  const bySchema = Map.groupBy(tables.keys(), (table) => tables[table]?.schema ?? "");
  const value = new Map<number, number>();
  for (const members of bySchema.values()) {
    members.sort((a, b) => weight(b) - weight(a) || a - b);
    members.forEach((table, at) => value.set(table, weight(table) * nextOfSchema ** at));
  }
  return [...value.keys()].sort((a, b) => (value.get(b) ?? 0) - (value.get(a) ?? 0) || a - b);
}

/** Words that no table has in its name but a copy. */
const marks = new Set(
  "archive archived arch archiv arc backup bak bkp old tmp temp staging stg legacy obsolete".split(" "),
);
/** Words that make a copy of a table whose name without them is another's. */
const marksBesideOriginal = new Set(
  "copy deprecated test dummy trash deleted import raw snapshot shadow stage history hist log audit".split(
    " ",
  ),
);
const pastMarks = /^(?:arch\w*|arc|hist\w*|old|(?:19|20)\d\d\w*)$/;
/** Those that are often asked for in their own right. */
const mildMarks = new Set(["history", "hist", "log", "audit"]);
const period = /^(?:(?:19|20)\d\d(?:q[1-4]|\d\d(?:\d\d)?)?|[yq]\d{1,4}|p\d+|v\d+|\d+)$/;

/** What makes a table look like another's copy. */
export interface CopyMarks {
  /** The words that say so; a request that has one of them asks for the copy. */
  readonly words: readonly string[];
  /** The number of the table whose earlier rows this one looks to hold, where there is one. */
  readonly archiveOf?: number | undefined;
  /** What the table's score is multiplied by, above 0 to 1; 1 for a table that is no copy. */
  readonly factor: number;
}

/**
 * Recognizes archives, backups, staging tables and the like by their names: `orders_old`, `archive.orders`,
 * `orders_2019`. Marks count for more where the table without them exists.
 */
export function createCopyFinder(tables: readonly TableWords[]): (words: TableWords) => CopyMarks {
  const originals = new Map(tables.map(({ name }, at) => [name.join("_"), at]));
  const inSchema = new Map(tables.map(({ table, name }, at) => [`${table.schema} ${name.join("_")}`, at]));

  return ({ table, schema, name }) => {
    const sure = [...schema, ...name].filter((stem) => marks.has(stem));
    const inName = name.filter((stem) =>
      marks.has(stem) || marksBesideOriginal.has(stem) || period.test(stem)
    );
    const rest = name.filter((stem) => !inName.includes(stem)).join("_");
    const original = inSchema.get(`${table.schema} ${rest}`) ?? originals.get(rest);
    if (inName.length > 0 && original !== undefined) {
      const isMild = inName.every((stem) => mildMarks.has(stem));
      const archiveOf = inName.some((stem) => pastMarks.test(stem)) ? original : undefined;
      return { words: [...new Set([...inName, ...sure])], archiveOf, factor: isMild ? 0.8 : 0.3 };
    }
    // by its schema alone it goes by its original's own name, and so needs no link to it
    return sure.length > 0 && rest !== "" ? { words: sure, factor: 0.5 } : { words: [], factor: 1 };
  };
}
