import assert from "node:assert/strict";
import type { Principal } from "../../src/core/principal.ts";
import { CallEnded, whyEnded } from "../../src/core/async/abort.ts";
import { createCallsUnderWay, type RequestId } from "../../src/calls/calls_under_way.ts";

const never = new AbortController().signal;

/** Whether a cancellation by `by` of `meant` ends a call of `of` with `id`. */
function cancels(of: Principal, id: RequestId, by: Principal, meant: unknown): boolean {
  const underWay = createCallsUnderWay();
  const { signal } = underWay.begin(of, never, id);
  underWay.cancel(by, meant);
  return signal.aborted;
}

Deno.test("a cancellation reaches the caller's own call of that id, and no other", () => {
  const at = (address: string): Principal => ({ kind: "local", address });
  const token = (id: string): Principal => ({ kind: "token", id });
  const session = (id: string): Principal => ({ kind: "session", id, username: "alice" });
  const issued = (scope: string, grantId?: string): Principal => ({
    kind: "issuer",
    issuer: "https://login.example",
    subject: "7",
    groups: [],
    scopes: [scope],
    ...grantId && { grantId },
  });
  const stdio: Principal = { kind: "local" };
  const cases: readonly [Principal, RequestId, Principal, unknown, boolean][] = [
    [stdio, 1, stdio, 1, true],
    [stdio, 1, stdio, "1", false],
    [stdio, null, stdio, null, true],
    [stdio, null, stdio, undefined, false],
    [token("a"), 1, token("a"), 1, true],
    [token("a"), 1, token("b"), 1, false],
    [session("s1"), 1, session("s2"), 1, false],
    [issued("read"), 1, issued("read"), 1, true],
    [issued("read"), 1, issued("ask"), 1, false],
    [issued("read", "g1"), 1, issued("read", "g1"), 1, true],
    [issued("read", "g1"), 1, issued("read", "g2"), 1, false],
    [at("192.0.2.1"), 1, at("192.0.2.1"), 1, true],
    [at("192.0.2.1"), 1, at("192.0.2.2"), 1, false],
  ];
  for (const [of, id, by, meant, expected] of cases) {
    assert.equal(cancels(of, id, by, meant), expected, JSON.stringify([of, id, by, meant]));
  }
});

Deno.test("of two calls with one id and one token, a cancellation ends neither", () => {
  const underWay = createCallsUnderWay();
  const token = { kind: "token", id: "a" } as const;
  const [first, second] = [underWay.begin(token, never, 1), underWay.begin(token, never, 1)];
  underWay.cancel(token, 1);
  assert.deepEqual([first.signal.aborted, second.signal.aborted], [false, false]);
  first.finish();
  underWay.cancel(token, 1);
  assert.deepEqual([first.signal.aborted, second.signal.aborted], [false, true]);
});

Deno.test("what ends a principal ends its calls, and nobody else's", () => {
  const underWay = createCallsUnderWay();
  const a: Principal = { kind: "token", id: "a" };
  const [own, other] = [underWay.begin(a, never, 1), underWay.begin({ kind: "token", id: "ab" }, never, 1)];
  underWay.endPrincipal(a);
  assert.deepEqual([own.signal.aborted, other.signal.aborted], [true, false]);
});

Deno.test("a call ends when its issuer's token does, and a call with a later one of the same caller goes on", async () => {
  using underWay = createCallsUnderWay({ checkEveryMs: 1 });
  const ann = (endsAt: number): Principal => ({
    kind: "issuer",
    issuer: "https://login.example",
    subject: "ann",
    groups: [],
    endsAt,
  });
  const later = underWay.begin(ann(Date.now() + 86_400_000), never, 1);
  const { signal } = underWay.begin(ann(Date.now() + 5), never, 1);
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  assert.equal(whyEnded(signal), "its token or session has ended");
  assert.equal(later.signal.aborted, false);
});

Deno.test("a call ends when its time is over, and says so", async () => {
  const { signal, limit } = createCallsUnderWay().begin({ kind: "local" }, never);
  limit(1);
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  assert.equal(whyEnded(signal), "it took too long");
});

Deno.test("a call whose client has gone ends as left, and one that the server stops as stopped", () => {
  const underWay = createCallsUnderWay();
  const left = underWay.begin({ kind: "local" }, AbortSignal.abort());
  const stopped = underWay.begin({ kind: "local" }, AbortSignal.abort(new CallEnded("the server stops")));
  assert.equal(whyEnded(left.signal), "its caller disconnected");
  assert.equal(whyEnded(stopped.signal), "the server stops");
});
