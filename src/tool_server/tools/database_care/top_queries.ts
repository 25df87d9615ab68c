import { defined } from "../../../core/defined.ts";
import { z } from "zod";
import { quoteIfNeeded } from "../../../postgres/sql_text.ts";
import { createFence } from "../../../text/fence.ts";
import { formatTsv } from "../../../text/tsv.ts";
import { databaseArgument, type DatabaseDirectory } from "../databases/database_directory.ts";
import { defineTool, type Tool } from "../tool.ts";
import {
  readStatementStatistics,
  shownStatement,
  statementOrders,
  type StatementsRead,
  statementStatistics,
} from "./statement_statistics.ts";

const output = z.object({
  database: z.string(),
  order_by: z.enum(statementOrders),
  queries: z.array(statementStatistics),
  total: z.int().describe("Statements that are counted."),
  unseen: z.string().optional().describe("What the role may not see."),
});

export function topQueries({ directory }: { readonly directory: DatabaseDirectory }): Tool {
  return defineTool({
    name: "top_queries",
    title: "Show the costliest statements",
    description:
      "Show which statements have cost the database most since its statistics began, by pg_stat_statements. " +
      "Use it to find what to make faster; then explain a statement or ask recommend_indexes.",
    input: z.strictObject({
      order_by: z.enum(statementOrders).default("total_time").describe("io: blocks read and written."),
      limit: z.int().min(1).max(100).default(10),
      database: databaseArgument,
    }),
    output,
    untrusted: ["queries"],
    annotations: { idempotentHint: true },
    async run({ order_by: order, limit, database: name }, context) {
      const database = directory.resolve(context.principal, name);
      const read = await readStatementStatistics(database, context, { order, limit });
      if (!read.ok) {
        return { errorText: `Cannot show statements of database "${database.name}": ${howTo(read)}` };
      }
      const queries = read.statements.map((statement) => ({
        ...statement,
        query: shownStatement(statement.query),
        total_ms: rounded(statement.total_ms),
        mean_ms: rounded(statement.mean_ms),
        share: rounded(statement.share),
      }));
      const unseen = read.ofAllRoles
        ? undefined
        : `statements of other roles: GRANT pg_read_all_stats TO ${quoteIfNeeded(read.role)};`;
      const [first] = queries;
      const table = first === undefined ? "No statement is counted yet." : formatTsv(
        Object.keys(first),
        queries.map((query) => Object.values(query).map((value) => value === null ? null : String(value))),
      );
      return {
        text: `Database: ${database.name}\n\n${queries.length} of ${read.total} statements by ${order}` +
          `${unseen === undefined ? "" : `; not among them: ${unseen}`}\n${createFence().wrap(table)}`,
        data: {
          database: database.name,
          order_by: order,
          queries,
          total: read.total,
          ...defined({ unseen }),
        },
      };
    },
  });
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

/** How to get what pg_stat_statements gives. */
export function howTo({ why, reason }: StatementsRead & { readonly ok: false }): string {
  switch (why) {
    case "missing":
      return `${reason}. An administrator installs it: shared_preload_libraries = 'pg_stat_statements' in ` +
        "postgresql.conf (with what stands there already), a restart of the server, then in this database: " +
        "CREATE EXTENSION pg_stat_statements;";
    case "not_loaded":
      return "pg_stat_statements is not loaded. An administrator adds it to shared_preload_libraries in " +
        "postgresql.conf and restarts the server";
    case "failed":
      return reason;
  }
}
