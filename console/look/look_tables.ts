import { callTool } from "../server.ts";

/** A table or view as `get_schema_info` tells of it. */
export interface Table {
  readonly schema: string;
  readonly name: string;
  readonly type: string;
  readonly description: string;
  /** The planner's estimate; -1 where unknown. */
  readonly estimated_rows: number;
  readonly partitions?: number;
  /** Absent in a list. */
  readonly columns?: readonly Column[];
  readonly indexes?: readonly string[];
}

export interface Column {
  readonly name: string;
  readonly data_type: string;
  readonly nullable: boolean;
  readonly description: string;
  readonly default: string;
  readonly identity: "" | "a" | "d";
  readonly is_pk: boolean;
  readonly is_unique: boolean;
  readonly is_indexed: boolean;
  /** `schema.table.column`, not quoted. */
  readonly fk_ref: string;
  readonly labels: readonly string[];
}

/** The administrator's name for something, with its SQL unless it is that of a table. */
export interface Named {
  readonly name: string;
  readonly synonyms?: readonly string[];
  readonly description: string;
  readonly sql?: string;
}

export interface Model extends Named {
  readonly measures?: readonly Named[];
  readonly dimensions?: readonly Named[];
  readonly joins?: readonly Record<"to" | "on" | "description", string>[];
}

export interface SchemaInfo {
  readonly tables: readonly Table[];
  readonly partitions_left_out: number;
  readonly models?: readonly Model[];
}

/** The other table of some references, and for each of them which columns refer to which. */
export interface Reference {
  readonly schema: string;
  readonly table: string;
  readonly keys: readonly string[];
}

/** @throws {Refused} */
export async function schemaInfo(args: object, signal?: AbortSignal): Promise<SchemaInfo> {
  const { structuredContent } = await callTool("get_schema_info", args, signal);
  return structuredContent as unknown as SchemaInfo;
}

export type Catalog = ReturnType<typeof createCatalog>;

/** A database's tables; what was read is kept. */
export function createCatalog(database: string) {
  const kept = new Map<string | undefined, Promise<SchemaInfo>>();
  return {
    database,
    /** A schema's tables with their columns, or all tables without them. @throws {Refused} */
    read(schema?: string): Promise<SchemaInfo> {
      const filter = schema === undefined ? {} : { schema_name: schema };
      const args = { database, compact: schema === undefined, ...filter };
      const read = kept.get(schema) ?? schemaInfo(args);
      kept.set(schema, read);
      read.catch(() => kept.delete(schema));
      return read;
    },
  };
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
  const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;
  const list = table.columns?.map(({ name }) => quote(name)).join(", ") ?? "*";
  const from = `${quote(table.schema)}.${quote(table.name)}`;
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
export type ForeignKeys = readonly {
  readonly columns: readonly string[];
  readonly references: {
    readonly schema: string;
    readonly table: string;
    readonly columns: readonly string[];
  };
}[];

/** The tables that the keys refer to, each once. */
export function referencesFrom(foreignKeys: ForeignKeys): Reference[] {
  const all = new Map<string, Reference>();
  for (const { columns, references } of foreignKeys) {
    const { schema, table, columns: ends } = references;
    const id = JSON.stringify([schema, table]);
    const key = `${columns.join(", ")} → ${ends.join(", ")}`;
    const keys = [...all.get(id)?.keys ?? [], key];
    all.set(id, { schema, table, keys });
  }
  return [...all.values()];
}
