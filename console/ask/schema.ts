import { callTool } from "../server.ts";
import type { TableName } from "./sql_names.ts";

export interface Table extends TableName {
  readonly description: string;
  /** The planner's estimate; -1 where unknown. */
  readonly estimated_rows: number;
  readonly columns?: readonly {
    readonly name: string;
    readonly data_type: string;
    readonly description: string;
  }[];
}

/** The tables of a database, read once, and their columns, read a table at a time when somebody needs them. */
export function createSchema(database: string) {
  const known = new Map<string, Promise<readonly Table[]>>();
  function read(key: string, filter: object): Promise<readonly Table[]> {
    const reading = known.get(key) ?? callTool("get_schema_info", {
      database,
      ...filter,
    }).then(({ structuredContent }) => structuredContent?.["tables"] as readonly Table[] ?? []);
    known.set(key, reading);
    // what failed is read again
    reading.catch(() => known.delete(key));
    return reading;
  }
  return {
    tables: () => read("", { compact: true }),
    async columnsOf({ schema, name }: Table) {
      const [table] = await read(JSON.stringify([schema, name]), {
        schema_name: schema,
        table_name: name,
      });
      return table?.columns ?? [];
    },
  };
}

export type Schema = ReturnType<typeof createSchema>;
