import { z } from "zod";
import { parseShallowJson } from "../../core/shallow_json.ts";
import { explainStatement } from "../../postgres/read/explain_statement.ts";
import { createFence } from "../../text/fence.ts";
import { databaseArgument } from "./arguments.ts";
import type { DatabaseDirectory } from "./database_directory.ts";
import { observePlan } from "./plan_observations.ts";
import { statementErrorText } from "./statement_error_text.ts";
import { defineTool, statementFailure, type Tool } from "./tool.ts";

export function executeExplain(options: { directory: DatabaseDirectory }): Tool {
  return defineTool({
    name: "execute_explain",
    title: "Explain a query",
    description:
      "Show how PostgreSQL runs a SELECT: the plan, and with `analyze` its real times, rows and buffers, which runs " +
      "the query (in a read-only transaction, under the time limit). Use it to find out why a query is slow and which " +
      "index would help. Pass the SELECT alone, without EXPLAIN.",
    input: z.strictObject({
      query: z.string().min(1).max(100_000).describe("The SELECT statement to explain."),
      analyze: z.boolean().default(true).describe("Run the query and show real times and row counts."),
      buffers: z.boolean().default(true).describe("Show buffer usage; only with analyze."),
      format: z.enum(["text", "json"]).default("text").describe("Format of the plan."),
      database: databaseArgument,
    }),
    output: z.object({
      database: z.string(),
      query: z.string(),
      analyze: z.boolean(),
      plan: z.union([z.string(), z.array(z.unknown())]).describe(
        "Text, or PostgreSQL's JSON plan, which is its text too where it nests deeply.",
      ),
      observations: z.array(z.string()),
    }),
    untrusted: ["plan", "observations"],
    async run({ query, analyze, buffers, format, database: name }, { principal, signal }) {
      const database = options.directory.resolve(principal, name);
      const settings = [
        ...(analyze ? ["ANALYZE", ...(buffers ? ["BUFFERS"] : [])] : []),
        `FORMAT ${format.toUpperCase()}`,
      ];
      const outcome = await explainStatement(database, {
        principal,
        sql: query.trim(),
        signal,
        options: settings,
      });
      if (!outcome.ok) {
        return statementFailure(
          statementErrorText(outcome.error, query.trim()),
          outcome.error,
          database.name,
        );
      }
      const plan = outcome.rows.map((row) => row[0] ?? "").join("\n");
      const observations = format === "text" ? observePlan(plan) : [];
      const title = analyze ? "EXPLAIN ANALYZE Results" : "EXPLAIN Results";
      const analysis = observations.length === 0
        ? ""
        : `\n\nAnalysis:\n---------\n${observations.map((line) => `- ${line}`).join("\n")}`;
      return {
        text:
          `Database: ${database.name}\n\n${title}\n${
            "=".repeat(title.length)
          }\n\nQuery: ${query.trim()}\n\n` +
          // names, and constants of views, were written by whoever may write them
          `Execution Plan:\n---------------\n${createFence().wrap(plan + analysis)}`,
        data: {
          database: database.name,
          query: query.trim(),
          analyze,
          plan: format === "json" ? planOf(plan) : plan,
          observations,
        },
      };
    },
  });
}

function planOf(text: string): string | unknown[] {
  const plan = parseShallowJson(text);
  return Array.isArray(plan) ? plan : text;
}
