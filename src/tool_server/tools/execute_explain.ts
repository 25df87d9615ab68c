import { z } from "zod";
import { parseShallowJson } from "../../postgres/read/json_values.ts";
import { figuresHidden } from "../../postgres/read/plan_figures.ts";
import { explainStatement } from "../../postgres/read/explain.ts";
import { createFence } from "../../text/fence.ts";
import { tellElapsed } from "../call_context.ts";
import { databaseArgument, type DatabaseDirectory } from "./databases/database_directory.ts";
import { defineTool, type Tool } from "./tool.ts";
import { statementErrorReply } from "./statement_reply.ts";
import { sizeText } from "../../core/text/units.ts";

export function executeExplain(options: { directory: DatabaseDirectory }): Tool {
  return defineTool({
    name: "execute_explain",
    title: "Explain a query",
    description:
      "Show the plan of a SELECT, to find out why it is slow and which index would help. `analyze` runs it, for real " +
      "times and rows.",
    input: z.strictObject({
      query: z.string().min(1).max(100_000).describe("The SELECT, without EXPLAIN."),
      analyze: z.boolean().default(true),
      buffers: z.boolean().default(true).describe("Only with analyze."),
      format: z.enum(["text", "json"]).default("text"),
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
    async run({ query, analyze, buffers, format, database: name }, { principal, signal, span, client }) {
      const database = options.directory.resolve(principal, name);
      const sql = query.trim();
      if (/^explain\b/i.test(sql)) {
        const message = "it begins with EXPLAIN itself; send what follows, and options as arguments";
        return statementErrorReply({ kind: "refused", message }, sql, database.name);
      }
      using _progress = tellElapsed(
        client?.notifyProgress,
        analyze ? "Running the statement" : "Planning the statement",
      );
      const result = await explainStatement(database, {
        principal,
        sql,
        signal,
        span,
        options: [
          ...(analyze ? ["ANALYZE", ...(buffers ? ["BUFFERS"] : [])] : []),
          `FORMAT ${format.toUpperCase()}`,
        ],
      });
      if (!result.ok) return statementErrorReply(result.error, sql, database.name);
      const plan = result.rows.map((row) => row[0] ?? "").join("\n");
      const observations = format === "text" ? observePlan(plan) : [];
      const isRun = analyze && !result.hidesFigures;
      const title = isRun ? "EXPLAIN ANALYZE Results" : "EXPLAIN Results";
      const analysis = observations.length === 0
        ? ""
        : `\n\nAnalysis:\n---------\n${observations.map((line) => `- ${line}`).join("\n")}`;
      return {
        text: `Database: ${database.name}\n\n${title}\n${"=".repeat(title.length)}\n\nQuery: ${sql}\n\n` +
          (result.hidesFigures ? `${figuresHidden}\n\n` : "") +
          // names, and constants of views, were written by whoever may write them
          `Execution Plan:\n---------------\n${createFence().wrap(plan + analysis)}`,
        data: {
          database: database.name,
          query: sql,
          analyze: isRun,
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

interface PlanNode {
  readonly line: string;
  readonly details: readonly string[];
}

/** What in a plan of EXPLAIN's text format deserves a look, each as a sentence; none where nothing stands out. */
export function observePlan(plan: string): string[] {
  return [...new Set(planNodes(plan).flatMap((node) => observers.flatMap((observe) => observe(node) ?? [])))];
}

// a node starts a line with "->" (the first has none) and a cost; the lines until the next are its details
function planNodes(plan: string): PlanNode[] {
  const nodes: { line: string; details: string[] }[] = [];
  for (const line of plan.split("\n")) {
    if (/\(cost=[\d.]+\.\.[\d.]+ /.test(line)) {
      nodes.push({ line: line.trim().replace(/^->\s*/, ""), details: [] });
    } else nodes.at(-1)?.details.push(line.trim());
  }
  return nodes;
}

const observers: readonly ((node: PlanNode) => string | undefined)[] = [
  function discardedRows({ line, details }) {
    const table = /Seq Scan on (\S+)/.exec(line)?.[1];
    const removed = Number(find(details, /^Rows Removed by Filter: (\d+)/) ?? 0);
    const kept = actual(line)?.rows ?? 0;
    if (table === undefined || removed < 1000 || removed < kept * 9) return undefined;
    const filter = find(details, /^Filter: (.*)/);
    return `Sequential scan on ${table} reads ${kept + removed} rows to keep ${kept}; ` +
      `an index that serves ${filter ?? "its filter"} would help if this runs often`;
  },
  function misestimate({ line }) {
    const estimated = Number(/\(cost=\S+ rows=(\d+)/.exec(line)?.[1] ?? NaN);
    const seen = actual(line);
    if (seen === undefined || Number.isNaN(estimated)) return undefined;
    const ratio = Math.max(estimated, 1) / Math.max(seen.rows, 1);
    if (Math.max(estimated, seen.rows) < 1000 || (ratio < 10 && ratio > 0.1)) return undefined;
    return `${nodeName(line)} was expected to give ${estimated} rows and gave ${seen.rows}; ` +
      "statistics may be stale (ANALYZE) or the condition hard to estimate";
  },
  function spill({ line, details }) {
    const kB = find(details, /Sort Method: external.*Disk: (\d+)kB/) ?? find(details, /Disk Usage: (\d+)kB/);
    return kB === undefined
      ? undefined
      : `${nodeName(line)} spilled ${sizeText(Number(kB) * 1024)} to disk: work_mem is too small for it`;
  },
  function repeatedScan({ line }) {
    const seen = actual(line);
    const table = /Seq Scan on (\S+)/.exec(line)?.[1];
    if (table === undefined || seen === undefined || seen.loops < 100) return undefined;
    return `Sequential scan on ${table} ran ${seen.loops} times; an index on the joined column would help`;
  },
];

function nodeName(line: string): string {
  return line.split("  (cost=")[0] ?? line;
}

function actual(line: string): { rows: number; loops: number } | undefined {
  const match = /\(actual (?:time=\S+ )?rows=([\d.]+) loops=(\d+)\)/.exec(line);
  return match === null ? undefined : { rows: Number(match[1]), loops: Number(match[2]) };
}

function find(lines: readonly string[], pattern: RegExp): string | undefined {
  for (const line of lines) {
    const match = pattern.exec(line);
    if (match !== null) return match[1];
  }
  return undefined;
}
