import { z } from "zod";
import { formatTsv } from "../../text/tsv.ts";
import type { DatabaseDirectory } from "./database_directory.ts";
import { defineTool, type Tool } from "./tool.ts";

export function listDatabases(options: { directory: DatabaseDirectory }): Tool {
  return defineTool({
    name: "list_databases",
    title: "List databases",
    description: "List the databases that you may use and which of them is the current one. " +
      "Use select_database to change the current one, or pass `database` to a tool for a single call.",
    input: z.strictObject({}),
    output: z.object({
      databases: z.array(z.object({ name: z.string(), current: z.boolean() })),
      current: z.string().nullable().describe("Name of the current database; null where none is available."),
    }),
    annotations: { idempotentHint: true },
    run(_args, { principal }) {
      const databases = [...options.directory.list(principal)];
      return Promise.resolve({
        text: databases.length === 0 ? "No database is available to you." : formatTsv(
          ["name", "current"],
          databases.map(({ name, current }) => [name, current ? "yes" : "no"]),
        ),
        data: { databases, current: databases.find(({ current }) => current)?.name ?? null },
      });
    },
  });
}
