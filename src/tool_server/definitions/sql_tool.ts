import { z } from "zod";
import { tellElapsed } from "../progress.ts";
import { rowsReply } from "../tools/rows_reply.ts";
import type { JsonObject } from "../content.ts";
import type { DatabaseDirectory } from "../tools/databases/database_directory.ts";
import { statementErrorReply } from "../tools/statement_error_text.ts";
import { createTool, type Tool } from "../tools/tool.ts";
import type { ToolDefinition } from "./tool_definitions.ts";

const output = z.object({
  database: z.string(),
  sql: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z.array(z.array(z.unknown())).describe("Values in the columns' order, as those of query_database."),
  row_count: z.int(),
  truncated: z.boolean().describe("Whether there are more rows than these."),
});

/** A tool that runs a definition's statement as its caller. For callers without its database it does not exist. */
export function sqlTool(
  { sql, input, database: name, maxRows, availableToUsers, ...described }: ToolDefinition,
  { directory, view }: { readonly directory: DatabaseDirectory; readonly view?: JsonObject | undefined },
): Tool {
  return createTool({
    ...described,
    input: input.type,
    inputSchema: input.schema,
    output,
    untrusted: ["columns", "rows"],
    meta: view,
    mayBecomeTask: true,
    available_to_users: availableToUsers,
    isFor: (principal) => name === undefined || directory.list(principal).some((each) => each.name === name),
    async run(args, { principal, signal, span, client }) {
      const database = directory.resolve(principal, name);
      const parameters = input.names.map((argument) =>
        // an argument may be called "constructor"
        parameterText(Object.hasOwn(args, argument) ? args[argument] : undefined)
      );
      using _progress = tellElapsed(client?.notifyProgress, "Running the statement");
      const result = await database.read({
        principal,
        sql,
        parameters,
        signal,
        span,
        ...(maxRows === undefined ? {} : { maxRows }),
      });
      if (!result.ok) return statementErrorReply(result.error, sql, database.name);
      return rowsReply({ text: sql, database }, { kind: "rows", sql, result });
    },
  });
}

/** An argument as PostgreSQL reads it, whatever type the statement gives its place; null for what is not given. */
export function parameterText(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value) && value.every(isScalar)) return `{${value.map(elementText).join(",")}}`;
  return isScalar(value) ? String(value) : JSON.stringify(value);
}

// https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
function elementText(value: unknown): string {
  if (value === null) return "NULL";
  return typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : String(value);
}

function isScalar(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}
