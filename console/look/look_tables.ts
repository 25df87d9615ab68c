import type { Table } from "../catalog.ts";
import { quotedName } from "../sql_names.ts";

/** The other table of some references, and for each of them which columns refer to which. */
export interface Reference extends Readonly<Record<"schema" | "table", string>> {
  readonly keys: readonly string[];
}

/** Those whose schema, name or comment has all words of `search`. */
export function findTables(tables: readonly Table[], search: string): readonly Table[] {
  const words = search.toLowerCase().split(/\s+/);
  return tables.filter(({ schema, name, description }) => {
    const text = `${schema}.${name} ${description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Names the columns: `*` fails where the caller may read only some of them. */
export function selectFirst(table: Table, most: number): string {
  const list = table.columns?.map(({ name }) => quotedName(name)).join(", ") ?? "*";
  const from = `${quotedName(table.schema)}.${quotedName(table.name)}`;
  return `SELECT ${list}\nFROM ${from}\nLIMIT ${most}`;
}

/** The other tables that refer to `target`, each once. */
export function referencesTo(tables: readonly Table[], target: Table): Reference[] {
  const prefix = `${target.schema}.${target.name}.`;
  const ends = new Map(target.columns?.map(({ name }) => [prefix + name, name]));
  return tables.flatMap(({ schema, name: table, columns = [] }) => {
    const keys = columns.filter(({ fk_ref }) => ends.has(fk_ref))
      .map(({ name, fk_ref }) => `${name} → ${ends.get(fk_ref)}`);
    const isOther = schema !== target.schema || table !== target.name;
    return isOther && keys.length > 0 ? [{ schema, table, keys }] : [];
  });
}

/** A table's foreign keys, as its resource has them. */
type ForeignKeys = readonly {
  readonly columns: readonly string[];
  readonly references: Omit<Reference, "keys"> & { readonly columns: readonly string[] };
}[];

/** The tables that the keys refer to, each once. */
export function referencesFrom(foreignKeys: ForeignKeys): Reference[] {
  const idOf = ({ references: { schema, table } }: ForeignKeys[number]) => JSON.stringify([schema, table]);
  return Array.from(Map.groupBy(foreignKeys, idOf), ([id, keys]) => {
    const [schema, table] = JSON.parse(id);
    const ends = keys.map(({ columns, references }) => [columns, references.columns]);
    return { schema, table, keys: ends.map((pair) => pair.map((names) => names.join(", ")).join(" → ")) };
  });
}
