import assert from "node:assert/strict";
import type { AuditEvent } from "../../src/audit/audit_trail.ts";
import { type Call, type CallContext, type CallIncident, createCalls } from "../../src/calls/calls.ts";
import { AppError } from "../../src/core/app_error.ts";
import { CallEnded } from "../../src/core/async/abort.ts";
import { silentLogger } from "../../src/core/logger.ts";
import type { Span } from "../../src/core/tracing.ts";
import type { Principal } from "../../src/core/principal.ts";
import { createQuotas } from "../../src/core/quotas/quotas.ts";
import { recordCalls } from "../support/recorded_calls.ts";

const principal: Principal = { kind: "session", id: "s1", username: "ann" };

/** A call that says how it ended as a tool of the name `work`. */
function callOf<Result = string>(
  run: (context: CallContext) => Promise<Result>,
  given: Partial<Call<CallContext, Result>> & { readonly timeoutMs?: number; readonly isFree?: boolean } = {},
): Call<CallContext, Result> {
  const { timeoutMs, isFree, ...call } = given;
  return {
    principal,
    signal: new AbortController().signal,
    contextWith: (signal) => ({
      principal,
      signal,
      logger: silentLogger,
      requestId: "r1",
      address: "192.0.2.1",
    }),
    read: () => ({ timeoutMs: timeoutMs ?? 0, isFree, run }),
    report: (end) => ({
      counted: { of: "tool", name: "work", result: "thrown" in end ? "error" : "ok" },
      line: () => ({ event: "tool_call", tool: "work", ...("thrown" in end ? { outcome: "failed" } : {}) }),
    }),
    ...call,
  };
}

Deno.test("a call is counted and has its line before it is answered", async () => {
  const { calls, lines, counted } = recordCalls();
  assert.equal(await calls.run(callOf(() => Promise.resolve("done"))), "done");
  const [{ elapsed_ms: elapsedMs, ...line } = {}] = lines;
  assert.ok(typeof elapsedMs === "number" && elapsedMs >= 0);
  assert.deepEqual(line, {
    outcome: "ok",
    principal: "session:s1",
    user: "ann",
    address: "192.0.2.1",
    event: "tool_call",
    tool: "work",
    request: "r1",
  });
  assert.deepEqual(counted, ["work ok"]);
});

Deno.test("a call that is refused when it is read counts in no limit, and has its line", async () => {
  const quotas = createQuotas({ rules: { default: { calls_per_minute: 1 } }, now: () => 0 });
  const { calls, lines } = recordCalls({ quotas });
  const refused = callOf(() => Promise.resolve("done"), {
    read() {
      throw new AppError("invalid", "not so");
    },
  });
  for (let n = 0; n < 3; n++) await assert.rejects(calls.run(refused), { code: "invalid" });
  await calls.run(callOf(() => Promise.resolve("done")));
  await assert.rejects(calls.run(callOf(() => Promise.resolve("done"))), { code: "quota_exceeded" });
  await calls.run(callOf(() => Promise.resolve("done"), { isFree: true }));
  assert.deepEqual(lines.map((line) => line.outcome), ["failed", "failed", "failed", "ok", "failed", "ok"]);
});

Deno.test("a call gives its place back however it ends", async () => {
  const quotas = createQuotas({
    rules: { default: { calls_at_once: 1 } },
    waitBounds: { maxWaiting: 0, maxWaitMs: 0 },
    now: () => 0,
  });
  const { calls } = recordCalls({ quotas });
  await assert.rejects(calls.run(callOf(() => Promise.reject(new Error("broken")))), /broken/);
  const hold = Promise.withResolvers<string>();
  const held = calls.run(callOf(() => hold.promise));
  await new Promise((resolve) => setTimeout(resolve));
  await assert.rejects(calls.run(callOf(() => Promise.resolve("done"))), { code: "quota_exceeded" });
  hold.resolve("done");
  await held;
  assert.equal(await calls.run(callOf(() => Promise.resolve("done"))), "done");
});

Deno.test("nothing runs for a client that has gone, and its call is told as ended", async () => {
  const { calls, counted } = recordCalls();
  const call = callOf(() => assert.fail("it ran"), { signal: AbortSignal.abort() });
  await assert.rejects(calls.run(call), CallEnded);
  assert.deepEqual(counted, ["work error"]);
});

for (
  const [why, end] of [
    ["its caller cancelled it", ({ underWay }) => underWay.cancel(principal, 7)],
    ["its token or session has ended", ({ underWay }) => underWay.endPrincipal(principal)],
    ["the server stops", ({ underWay }) => underWay.endAll()],
    ["it took too long", () => {}],
  ] as const satisfies readonly (readonly [string, (calls: ReturnType<typeof createCalls>) => void])[]
) {
  Deno.test(`a call under way ends because ${why}`, async () => {
    const { calls } = recordCalls();
    const waits = ({ signal }: CallContext) =>
      new Promise<string>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const running = calls.run(callOf(waits, { id: 7, ...(why === "it took too long" && { timeoutMs: 1 }) }));
    end(calls);
    await assert.rejects(running, { why });
  });
}

Deno.test("where no account can be kept, nothing runs; where a line fails, no result is shown, but an error is", async () => {
  const audit = (admit: () => void, recordCall: (event: AuditEvent) => Promise<void>) =>
    createCalls({ audit: { admit, recordCall } });
  const full = new AppError("overloaded", "no room in the file");
  const refuse = () => {
    throw full;
  };
  await assert.rejects(audit(refuse, () => Promise.resolve()).run(callOf(() => assert.fail("it ran"))), full);
  const unwritable = audit(() => {}, () => Promise.reject(full));
  await assert.rejects(unwritable.run(callOf(() => Promise.resolve("secret"))), full);
  await assert.rejects(unwritable.run(callOf(() => Promise.reject(new Error("broken")))), /broken/);
});

Deno.test("an operator hears of an incident, with who called", async () => {
  const heard: unknown[] = [];
  const { calls } = recordCalls({
    onIncident: ({ tool, kind }: CallIncident, { principal }) => void heard.push([tool, kind, principal]),
  });
  const incident = { tool: "work", kind: "timeout" };
  await calls.run(
    callOf(() => Promise.resolve("done"), { report: () => ({ incident, line: () => undefined }) }),
  );
  assert.deepEqual(heard, [["work", "timeout", principal]]);
});

Deno.test("a call that the audit trail has no room for ends its span, and is counted", async () => {
  const counted: string[] = [];
  const ended: unknown[] = [];
  const full = new AppError("overloaded", "full");
  const calls = createCalls({
    audit: {
      admit() {
        throw full;
      },
      recordCall: () => assert.fail("it has no line"),
    },
    metrics: { toolCalled: (name, result) => void counted.push(`${name} ${result}`), queryEnded: () => {} },
  });
  const span: Span = {
    traceId: "t",
    traceparent: "p",
    begin: () => span,
    set() {},
    setText() {},
    end: (error) => void ended.push(error),
  };
  await assert.rejects(calls.run(callOf(() => assert.fail("it ran"), { span })), full);
  assert.deepEqual([counted, ended], [["work error"], ["overloaded"]]);
});
