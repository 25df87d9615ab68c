import assert from "node:assert/strict";
import type { Principal } from "../../../src/core/principal.ts";
import { whyEnded } from "../../../src/core/async/abort.ts";
import { createInFlight, type RequestId } from "../../../src/tool_server/mcp/in_flight.ts";

const never = new AbortController().signal;

/** Whether a cancellation by `by` of `meant` ends a call of `of` with `id`. */
async function cancels(of: Principal, id: RequestId, by: Principal, meant: unknown): Promise<boolean> {
  const inFlight = createInFlight();
  return await inFlight.track(of, id, never, (signal) => {
    inFlight.cancel(by, meant);
    return Promise.resolve(signal.aborted);
  });
}

Deno.test("a cancellation reaches the caller's own call of that id, and no other", async () => {
  const at = (address: string): Principal => ({ kind: "local", address });
  const token = (id: string): Principal => ({ kind: "token", id });
  const session = (id: string): Principal => ({ kind: "session", id, username: "alice" });
  const stdio: Principal = { kind: "local" };
  const cases: readonly [Principal, RequestId, Principal, unknown, boolean][] = [
    [stdio, 1, stdio, 1, true],
    [stdio, 1, stdio, "1", false],
    [stdio, null, stdio, null, true],
    [stdio, null, stdio, undefined, false],
    [token("a"), 1, token("a"), 1, true],
    [token("a"), 1, token("b"), 1, false],
    [session("s1"), 1, session("s2"), 1, false],
    [at("192.0.2.1"), 1, at("192.0.2.1"), 1, true],
    [at("192.0.2.1"), 1, at("192.0.2.2"), 1, false],
  ];
  for (const [of, id, by, meant, expected] of cases) {
    assert.equal(await cancels(of, id, by, meant), expected, JSON.stringify([of, id, by, meant]));
  }
});

Deno.test("what ends a principal ends its calls, and nobody else's", async () => {
  const inFlight = createInFlight();
  const a: Principal = { kind: "token", id: "a" };
  const ended = await inFlight.track(a, 1, never, async (signal) => {
    const other = await inFlight.track({ kind: "token", id: "ab" }, 1, never, (theirs) => {
      inFlight.cancelPrincipal(a);
      return Promise.resolve(theirs.aborted);
    });
    return { own: signal.aborted, other };
  });
  assert.deepEqual(ended, { own: true, other: false });
});

Deno.test("a call ends when its issuer's token does, and a call with a later one of the same caller goes on", async () => {
  using inFlight = createInFlight({ checkEveryMs: 1 });
  const ann = (endsAt: number): Principal => ({
    kind: "issuer",
    issuer: "https://login.example",
    subject: "ann",
    groups: [],
    endsAt,
  });
  const ended = await inFlight.track(ann(Date.now() + 86_400_000), 1, never, async (later) => {
    const why = await inFlight.track(ann(Date.now() + 5), 1, never, async (signal) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return whyEnded(signal);
    });
    return { why, later: later.aborted };
  });
  assert.deepEqual(ended, { why: "its token or session has ended", later: false });
});
