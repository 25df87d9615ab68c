import { defined } from "../../core/defined.ts";
import type { Database, ReadRequest, ReadResult } from "../database.ts";
import { type StatementError, withoutPrefix } from "./statement_error.ts";

type CallersStatement = Pick<ReadRequest, "principal" | "sql" | "signal" | "span">;

/**
 * Runs EXPLAIN with the options given on a caller's statement, which is guarded with it. The place of an error counts
 * in the statement, not in what is put before it.
 *
 * @throws {AppError} as `Database.read`
 */
export async function explainStatement(
  database: Database,
  { options, sql, ...request }: CallersStatement & { readonly options: readonly string[] },
): Promise<ReadResult> {
  const sent = `EXPLAIN (${options.join(", ")}) ${sql}`;
  const result = await database.read({ ...request, sql: sent });
  return result.ok ? result : { ok: false, error: withoutPrefix(result.error, sent, sql) };
}

type StatementPlan =
  | {
    readonly ok: true;
    /** Optional: left out where row-level security holds the caller, whom figures would tell of rows of others. */
    readonly estimate?: {
      /** In the planner's units: 1 is about the read of one page in sequence. */
      readonly totalCost: number;
      readonly rows: number;
      readonly dearest: PlanNode;
    };
  }
  | { readonly ok: false; readonly error: StatementError };

/** One step of a plan. */
export interface PlanNode {
  /** `Seq Scan on public.events`. */
  readonly node: string;
  /** Its own, without that of the steps below it. */
  readonly cost: number;
  /** The planner's expectations of it. */
  readonly rows: number;
  /** The condition that it tests each row by, as PostgreSQL writes it. */
  readonly filter?: string;
}

// EXPLAIN's JSON; only what is read here
interface JsonPlan {
  readonly "Node Type": string;
  readonly "Total Cost": number;
  readonly "Plan Rows": number;
  readonly "Schema"?: string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Function Name"?: string;
  readonly "CTE Name"?: string;
  readonly "Filter"?: string;
  readonly "Plans"?: readonly JsonPlan[];
}

/**
 * Plans a caller's statement without running it, under the guard and bounds of any other read. The position of an error
 * counts in the statement itself.
 *
 * @throws {AppError} `unavailable` where there is no connection, or it is lost on the way
 */
export async function planStatement(database: Database, request: CallersStatement): Promise<StatementPlan> {
  // VERBOSE tells the schemas
  const result = await explainStatement(database, { ...request, options: ["VERBOSE", "FORMAT JSON"] });
  if (!result.ok) return result;
  const parsed: readonly { readonly Plan?: JsonPlan }[] = JSON.parse(result.rows[0]?.[0] || "[]");
  const plan = parsed[0]?.Plan;
  if (plan === undefined) {
    return {
      ok: false,
      error: { kind: "failed", message: "PostgreSQL's plan of the statement cannot be read" },
    };
  }
  if (result.hidesFigures) return { ok: true };
  const totalCost = plan["Total Cost"];
  return {
    ok: true,
    estimate: { totalCost, rows: plan["Plan Rows"], dearest: dearestOf(plan, totalCost) },
  };
}

/**
 * `share` is how much of a step's cost the plan has to pay: under a LIMIT a step is not run to its end, but its total
 * cost is told as if it were.
 */
function dearestOf(plan: JsonPlan, share: number): PlanNode {
  const below = plan.Plans ?? [];
  const shares = below.map((child) => Math.min(child["Total Cost"], share));
  const own = Math.max(0, share - shares.reduce((sum, cost) => sum + cost, 0));
  const filter = plan.Filter;
  return below
    .map((child, index) => dearestOf(child, shares[index] ?? 0))
    .reduce((dearest, node) => node.cost > dearest.cost ? node : dearest, {
      node: nodeName(plan),
      cost: own,
      rows: plan["Plan Rows"],
      ...defined({ filter }),
    });
}

function nodeName(plan: JsonPlan): string {
  const { Schema: schema, "Index Name": index } = plan;
  const target = plan["Relation Name"] ?? plan["Function Name"] ?? plan["CTE Name"];
  const using = index === undefined ? "" : target === undefined ? ` on ${index}` : ` using ${index}`;
  const on = target === undefined ? "" : ` on ${schema === undefined ? "" : `${schema}.`}${target}`;
  return `${plan["Node Type"]}${using}${on}`;
}
