/** A worker that checks long statements; `check_scheduler.ts` is its other side. */
import { answerRequests } from "../../core/async/thread.ts";
import { createStatementGuard, type GuardResult } from "./statement_guard.ts";

export interface CheckRequest {
  readonly task: "check" | "fingerprint";
  readonly sql: string;
  /** How many values come with the statement. */
  readonly parameters?: { readonly length: number };
}

export type CheckReply =
  | { readonly task: "check"; readonly result: GuardResult }
  | { readonly task: "fingerprint"; readonly fingerprint: string | undefined };

answerRequests(async (grammar: WebAssembly.Module) => {
  const guard = await createStatementGuard(grammar);
  return ({ task, sql, parameters }: CheckRequest): CheckReply =>
    task === "check"
      ? { task, result: guard.check(sql, { parameters }) }
      : { task, fingerprint: guard.fingerprint(sql) };
});
