import { z } from "zod";
import { defineTool, type Tool } from "../tool.ts";
import type { DatabaseDirectory } from "./database_directory.ts";

export function selectDatabase(options: { directory: DatabaseDirectory }): Tool {
  return defineTool({
    name: "select_database",
    title: "Select database",
    description:
      "Make a database of list_databases the current one. For a single call, pass `database` instead.",
    input: z.strictObject({
      name: z.string().min(1).max(128),
    }),
    output: z.object({ current: z.string() }),
    annotations: { readOnlyHint: false, idempotentHint: true },
    run({ name }, { principal }) {
      options.directory.select(principal, name);
      return Promise.resolve({ text: `Current database: ${name}`, data: { current: name } });
    },
  });
}
