import { z } from "zod";
import type { DatabaseDirectory } from "./database_directory.ts";
import { defineTool, type Tool } from "./tool.ts";

export function selectDatabase(options: { directory: DatabaseDirectory }): Tool {
  return defineTool({
    name: "select_database",
    title: "Select database",
    description: "Make a database the current one, which the other tools use where no `database` is given. " +
      "list_databases shows those that you may choose. Look at the schema again afterwards: it is another database.",
    input: z.strictObject({
      name: z.string().min(1).max(128).describe("Name of the database, as list_databases shows it."),
    }),
    output: z.object({ current: z.string() }),
    annotations: { readOnlyHint: false, idempotentHint: true },
    run({ name }, { principal }) {
      options.directory.select(principal, name);
      return Promise.resolve({ text: `Current database: ${name}`, data: { current: name } });
    },
  });
}
