import assert from "node:assert/strict";
import { createCalls } from "../../src/calls/calls.ts";
import { createRecentCalls, latestOf } from "../../src/calls/recent_calls.ts";
import type { Principal } from "../../src/core/principal.ts";

const session = (id: string, username: string): Principal => ({ kind: "session", id, username });
const counted = (name: string) => ({ of: "tool" as const, name, result: "ok" });

Deno.test("the newest 1,000 calls stay in mind, and the newest 200 are told", () => {
  let time = 0;
  const calls = createRecentCalls({ now: () => ++time });
  for (let n = 1; n <= 1_150; n++) calls.add(session("1", n % 6 === 0 ? "alice" : "bob"), counted(`${n}`), 1);
  const all = calls.latest(undefined).map(({ name }) => Number(name));
  assert.deepEqual(all, Array.from({ length: 200 }, (_, at) => 1_150 - at));
  // of the oldest 150 nothing is left
  const alices = calls.latest("user:alice").map(({ name }) => Number(name));
  assert.deepEqual([alices.length, alices[0], alices.at(-1)], [166, 1_146, 156]);
});

Deno.test("a user's sessions are one caller, and addresses are told apart where nobody is asked", () => {
  const calls = createRecentCalls();
  calls.add(session("1", "alice"), counted("one"), 1.26);
  calls.add(session("2", "alice"), { ...counted("two"), details: () => ({ about: "shop", rows: 3 }) }, 2);
  calls.add({ kind: "token", id: "alice" }, counted("three"), 3);
  calls.add({ kind: "local", address: "192.0.2.1" }, counted("four"), 4);
  assert.deepEqual(calls.latest("user:alice").map(({ at: _at, ...call }) => call), [
    { name: "two", of: "tool", about: "shop", rows: 3, result: "ok", elapsedMs: 2, caller: "alice" },
    { name: "one", of: "tool", result: "ok", elapsedMs: 1.3, caller: "alice" },
  ]);
  assert.deepEqual(calls.latest("address:192.0.2.1").map(({ caller }) => caller), ["192.0.2.1"]);
  assert.deepEqual(calls.latest("address:192.0.2.2"), []);
});

Deno.test("of several processes' calls the newest come first", () => {
  const call = (at: string) => ({
    at,
    name: at,
    of: "tool" as const,
    result: "ok",
    elapsedMs: 1,
    caller: "a",
  });
  const names = latestOf([
    call("2026-01-02T00:00:00.000Z"),
    call("2026-01-03T00:00:00.000Z"),
    call("2026-01-01T00:00:00.000Z"),
  ])
    .map(({ at }) => at.slice(9, 10));
  assert.deepEqual(names, ["3", "2", "1"]);
});

Deno.test("calls that do not count are not kept in mind, and those that throw are", async () => {
  const recentCalls = createRecentCalls();
  using calls = createCalls({ recentCalls });
  const principal = session("1", "alice");
  const run = (isCounted: boolean, work: () => Promise<string>) =>
    calls.run({
      principal,
      signal: new AbortController().signal,
      contextWith: (signal) => ({ principal, signal, logger: undefined as never }),
      read: () => ({ run: work }),
      report: (end) => ({
        counted: isCounted ? { ...counted("t"), result: "thrown" in end ? "failed" : "ok" } : undefined,
        line: () => undefined,
      }),
    });
  await run(false, () => Promise.resolve(""));
  await run(true, () => Promise.resolve(""));
  await assert.rejects(run(true, () => Promise.reject(new Error("x"))));
  assert.deepEqual(recentCalls.latest(undefined).map(({ result }) => result), ["failed", "ok"]);
});
