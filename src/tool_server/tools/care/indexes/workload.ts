import { createSlices } from "../../../../core/async/yield.ts";
import type { CheckScheduler } from "../../../../postgres/guard/check_scheduler.ts";
import type { Parser } from "../../../../postgres/guard/parser.ts";
import type { SyntaxNode } from "../../../../postgres/guard/syntax_tree.ts";
import type { CallContext } from "../../../call_context.ts";
import { parametersOf } from "./table_uses.ts";

/** Longer ones are not taken apart: that would hold up other callers. */
export const maxStatementLength = 5_000;

export interface StatementToServe {
  readonly sql: string;
  readonly weight: number;
}

export type WorkloadStatement =
  & StatementToServe
  & { readonly number: number }
  & (
    | { readonly tree: SyntaxNode; readonly parameters: number }
    | { readonly skipped: string }
  );

/** The statements of a workload that the guard lets through, taken apart, and why the others are not. */
export async function readWorkload(
  statements: readonly StatementToServe[],
  { guard, parser, context }: {
    readonly guard: Pick<CheckScheduler, "check">;
    readonly parser: Pick<Parser, "parse">;
    readonly context: Pick<CallContext, "principal" | "signal" | "span">;
  },
): Promise<WorkloadStatement[]> {
  const { principal, signal, span } = context;
  const nextSlice = createSlices(signal);
  const read: WorkloadStatement[] = [];
  for (const [at, statement] of statements.entries()) {
    const { sql } = statement;
    const skip = (skipped: string) => read.push({ ...statement, number: at + 1, skipped });
    if (sql.length > maxStatementLength) {
      skip(`it is longer than ${maxStatementLength} characters`);
      continue;
    }
    // at least as many as it names; one in a text or a comment is none
    const named = Math.max(0, ...[...sql.matchAll(/\$(\d{1,5})/g)].map(([, number]) => Number(number)));
    const result = await guard.check(sql, { principal, signal, span, parameters: { length: named } });
    if (!result.ok || result.kind !== "select") {
      skip(result.ok ? "it is no query" : result.reason);
      continue;
    }
    await nextSlice();
    const parsed = parser.parse(sql);
    const tree = parsed.ok ? parsed.statements[0] : undefined;
    if (tree === undefined) skip("it cannot be taken apart");
    else read.push({ ...statement, number: at + 1, tree, parameters: parametersOf(tree) });
  }
  return read;
}
