import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { type Check, note, runChecks, warning } from "../../../src/app/checks/check.ts";

const options = { limitMs: 60_000, signal: new AbortController().signal };

function check(name: string, run: Check["run"]): Check {
  return { name, run };
}

Deno.test("runChecks() keeps the order of the checks, each before what follows from it", async () => {
  const first = Promise.withResolvers<void>();
  const results = await runChecks([
    check("slow", async () => {
      await first.promise;
      return [note("here"), warning("w", "r"), check("child", () => Promise.resolve([]))];
    }),
    check("fast", () => {
      first.resolve();
      return Promise.resolve([]);
    }),
  ], options);
  assert.deepEqual(results, [
    { check: "slow", ok: true, note: "here" },
    { check: "slow", ok: false, severity: "warning", message: "w", remedy: "r" },
    { check: "child", ok: true },
    { check: "fast", ok: true },
  ]);
});

Deno.test("runChecks() makes an error of what a check throws, and of one that does not end", async () => {
  const results = await runChecks([
    check("refused", () => Promise.reject(new AppError("upstream", "Cannot read it: no"))),
    check("broken", () => Promise.reject(new TypeError("x is not a function"))),
    check("stuck", () => new Promise(() => {})),
    check("fine", () => Promise.resolve([])),
  ], { ...options, limitMs: 20 });
  const texts = results.map((result) => result.ok ? "ok" : `${result.severity}: ${result.message}`);
  assert.deepEqual(texts, [
    "error: Cannot read it: no",
    "error: The check itself failed: TypeError: x is not a function",
    "error: The check took longer than 0.02 s",
    "ok",
  ]);
});

Deno.test("runChecks() tells a check whose time is over, and ends when it is told to", async () => {
  const told = Promise.withResolvers<void>();
  await runChecks([
    check("waits", (signal) => {
      signal.addEventListener("abort", () => told.resolve());
      return new Promise(() => {});
    }),
  ], { ...options, limitMs: 5 });
  await told.promise;
  const stop = new AbortController();
  const running = runChecks([check("stuck", () => new Promise(() => {}))], {
    ...options,
    signal: stop.signal,
  });
  stop.abort(new Error("enough"));
  await assert.rejects(running, { message: "enough" });
});
