/** A worker that checks long statements; `check_threads.ts` is its other side. */
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

/** The first message; each one after it answers a request. Requests come one at a time. */
export type ReadyMessage = "ready";

addEventListener("message", async (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  if (port === undefined) return;
  const grammar: WebAssembly.Module = event.data;
  const guard = await createStatementGuard(grammar);
  port.onmessage = ({ data: { task, sql, parameters } }: MessageEvent<CheckRequest>) => {
    const reply: CheckReply = task === "check"
      ? { task, result: guard.check(sql, { parameters }) }
      : { task, fingerprint: guard.fingerprint(sql) };
    port.postMessage(reply);
  };
  const ready: ReadyMessage = "ready";
  port.postMessage(ready);
});
