import { z } from "zod";
import { quoteIdentifier } from "../../postgres/sql_text.ts";
import { tellElapsed } from "../call_context.ts";
import { databaseArgument, type DatabaseDirectory } from "./databases/database_directory.ts";
import { defineTool, type Tool } from "./tool.ts";
import { statementErrorReply } from "./statement_reply.ts";

const undefinedTable = "42P01";

export function countRows(options: { directory: DatabaseDirectory }): Tool {
  return defineTool({
    name: "count_rows",
    title: "Count rows",
    description: "Count the rows of a table or view, or those that a condition selects: " +
      "to learn how much data there is before reading it.",
    input: z.strictObject({
      table: z.string().min(1).max(128).describe("Without its schema."),
      schema: z.string().min(1).max(128).default("public"),
      where: z.string().max(20_000).optional()
        .describe("SQL condition without WHERE, as in: status = 'pending' AND total > 100"),
      database: databaseArgument,
    }),
    output: z.object({
      database: z.string(),
      sql: z.string(),
      count: z.union([z.int(), z.string()]).describe("Text where a JSON number cannot hold it exactly."),
    }),
    annotations: { idempotentHint: true },
    async run({ table, schema, where, database: name }, { principal, signal, span, client }) {
      const database = options.directory.resolve(principal, name);
      // the line end keeps a comment in the condition from swallowing the parenthesis
      const condition = where?.trim() ? `\nWHERE (${where.trim()}\n)` : "";
      const sql = `SELECT count(*) FROM ${quoteIdentifier(schema)}.${quoteIdentifier(table)}${condition}`;
      using _progress = tellElapsed(client?.notifyProgress, "Counting the rows");
      const result = await database.read({ principal, sql, signal, span, maxRows: 1 });
      if (!result.ok) {
        const { error } = result;
        const hint = "Give the schema as `schema`, and `table` without it.";
        const isQualified = error.sqlState === undefinedTable && table.includes(".");
        return statementErrorReply(isQualified ? { ...error, hint } : error, sql, database.name);
      }
      const text = result.rows[0]?.[0] ?? "0";
      const count = Number.isSafeInteger(Number(text)) ? Number(text) : text;
      return {
        text: `Database: ${database.name}\n\nSQL Query:\n${sql}\n\nCount: ${text}`,
        data: { database: database.name, sql, count },
      };
    },
  });
}
