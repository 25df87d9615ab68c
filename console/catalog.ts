import type { z } from "zod";
import type { schemaInfoReply } from "../src/tool_server/tools/schema_info_reply.ts";
import { callTool } from "./server.ts";

export type SchemaInfo = z.output<typeof schemaInfoReply>;
export type Table = SchemaInfo["tables"][number];
export type Column = NonNullable<Table["columns"]>[number];
export type Model = NonNullable<SchemaInfo["models"]>[number];

/** The names of the databases, and the one that is meant where nobody names one. */
export async function readDatabases(signal: AbortSignal) {
  type Databases = { readonly databases: readonly { name: string }[]; readonly current: string | null };
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
