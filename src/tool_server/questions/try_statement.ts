import type { StatementError } from "../../postgres/database.ts";
import { planStatement } from "../../postgres/read/plan_statement.ts";
import { placeOf } from "../../postgres/read/statement_error.ts";
import type { StatementChecks } from "../../postgres/guard/statement_checks.ts";
import type { GuardVerdict } from "../../postgres/guard/statement_guard.ts";
import { type Answer, type Question, runStatement } from "./answer.ts";

export interface TryOptions {
  readonly guard: Pick<StatementChecks, "check">;
  /** Plans that PostgreSQL estimates above this are refused; absent: none are. */
  readonly maxPlanCost?: number;
}

/** Guards and plans a statement that a model wrote, and runs it where its estimated cost allows. */
export async function tryStatement(
  question: Question,
  sql: string,
  { guard, maxPlanCost }: TryOptions,
): Promise<Answer> {
  const { database, principal, signal } = question;
  // first of all, since what is wrong with it would be told of our own EXPLAIN before it
  const refused = whyRefused(await guard.check(sql, { principal, signal }), sql);
  if (refused !== undefined) return { kind: "failed", sql, error: refused };
  const plan = await planStatement(database, { principal, sql, signal });
  if (!plan.ok) return { kind: "failed", sql, error: plan.error };
  if (maxPlanCost !== undefined && plan.totalCost > maxPlanCost) {
    const { node, cost, rows } = plan.dearest;
    return {
      kind: "refused",
      reason: `Cannot run the statement: PostgreSQL estimates its cost at ${count(plan.totalCost)}, above ` +
        `llm.max_plan_cost (${count(maxPlanCost)}); ${count(cost)} of it is ${node}, about ${count(rows)} ` +
        `rows. Ask for less, as with a shorter period or one customer\n\nSQL Query:\n${sql}`,
    };
  }
  return await runStatement(question, sql);
}

function whyRefused(verdict: GuardVerdict, sql: string): StatementError | undefined {
  if (!verdict.ok) {
    const { reason, sqlState, position } = verdict;
    const place = placeOf(sql, position);
    return sqlState === undefined
      ? { kind: "refused", message: reason, ...place }
      : { kind: "failed", message: reason, sqlState, ...place };
  }
  if (verdict.kind === "select") return undefined;
  return { kind: "refused", message: "only SELECT, VALUES, TABLE and WITH of those answer a request" };
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
