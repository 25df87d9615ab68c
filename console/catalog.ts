import { callTool } from "./server.ts";

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

/** The names of the databases, and the one that is meant where nobody names one. */
export async function readDatabases(signal: AbortSignal) {
  interface Databases {
    readonly databases: readonly { readonly name: string }[];
    readonly current: string | null;
  }
  const { databases, current } = await callTool<Databases>("list_databases", {}, signal);
  const names = databases.map(({ name }) => name);
  return { names, usual: current ?? names[0] };
}

export type Catalog = ReturnType<typeof createCatalog>;

/** A database's tables; what was read is kept. */
export function createCatalog(database: string) {
  const kept = new Map<string, Promise<SchemaInfo>>();
  return {
    database,
    /** All tables without their columns, or those of a schema, or one, with them. @throws {Refused} */
    read(schema_name?: string, table_name?: string): Promise<SchemaInfo> {
      const args = { database, compact: schema_name === undefined, schema_name, table_name };
      const key = JSON.stringify(args);
      const read = kept.get(key) ?? callTool<SchemaInfo>("get_schema_info", args);
      kept.set(key, read);
      // what failed is read again
      read.catch(() => kept.delete(key));
      return read;
    },
  };
}
