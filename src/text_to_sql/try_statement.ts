import type { ReadOutcome, StatementError } from "../postgres/database.ts";
import { planStatement } from "../postgres/plan_statement.ts";
import type { Question } from "./answer.ts";

export type StatementRun =
  | { readonly kind: "rows"; readonly outcome: ReadOutcome & { readonly ok: true } }
  /** `fromRows`: it failed while it read rows, so the error may quote one. */
  | { readonly kind: "failed"; readonly error: StatementError; readonly fromRows: boolean }
  | { readonly kind: "refused"; readonly reason: string };

/** Plans a statement that a model wrote, and runs it where its estimated cost allows. */
export async function tryStatement(
  { database, principal, maxRows, offset, signal }: Question,
  sql: string,
  maxPlanCost: number | undefined,
): Promise<StatementRun> {
  const plan = await planStatement(database, { principal, sql, signal });
  if (!plan.ok) return { kind: "failed", error: plan.error, fromRows: false };
  if (maxPlanCost !== undefined && plan.totalCost > maxPlanCost) {
    const { node, cost, rows } = plan.dearest;
    return {
      kind: "refused",
      reason: `Cannot run the statement: PostgreSQL estimates its cost at ${count(plan.totalCost)}, above ` +
        `llm.max_plan_cost (${count(maxPlanCost)}); ${count(cost)} of it is ${node}, about ${count(rows)} ` +
        `rows. Ask for less, as with a shorter period or one customer\n\nSQL Query:\n${sql}`,
    };
  }
  const outcome = await database.read({ principal, sql, signal, maxRows, offset });
  return outcome.ok ? { kind: "rows", outcome } : { kind: "failed", error: outcome.error, fromRows: true };
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
