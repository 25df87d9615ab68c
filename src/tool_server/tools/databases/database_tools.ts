import { z } from "zod";
import { formatTsv } from "../../../text/tsv.ts";
import { linkToSchema } from "../../resources/resource_address.ts";
import { defineTool, type Tool } from "../tool.ts";
import type { DatabaseDirectory } from "./database_directory.ts";

/** Of databases whose schema a list leads to: links are for a reader with little to choose from. */
const maxLinks = 5;

export function listDatabases(options: {
  directory: DatabaseDirectory;
  /** Whether the resource of a schema can be read. */
  linksToSchemas?: boolean;
}): Tool {
  return defineTool({
    name: "list_databases",
    title: "List databases",
    description: "List the databases that you may use, and which one tools use where no `database` is given.",
    input: z.strictObject({}),
    output: z.object({
      databases: z.array(z.object({ name: z.string(), current: z.boolean() })),
      current: z.string().nullable().describe("Name of the current database; null where none is available."),
    }),
    annotations: { idempotentHint: true },
    run(_args, { principal }) {
      const databases = options.directory.list(principal);
      return Promise.resolve({
        text: databases.length === 0 ? "No database is available to you." : formatTsv(
          ["name", "current"],
          databases.map(({ name, current }) => [name, current ? "yes" : "no"]),
        ),
        data: { databases, current: databases.find(({ current }) => current)?.name ?? null },
        ...(options.linksToSchemas && databases.length <= maxLinks && {
          links: databases.map(({ name }) => linkToSchema(name)),
        }),
      });
    },
  });
}

export function selectDatabase(options: { directory: DatabaseDirectory }): Tool {
  return defineTool({
    name: "select_database",
    title: "Select database",
    description:
      "Make a database of list_databases the current one. For a single call, pass `database` instead.",
    input: z.strictObject({ name: z.string().min(1).max(128) }),
    output: z.object({ current: z.string() }),
    annotations: { readOnlyHint: false, idempotentHint: true },
    async run({ name }, { principal }) {
      await options.directory.select(principal, name);
      return { text: `Current database: ${name}`, data: { current: name } };
    },
  });
}
