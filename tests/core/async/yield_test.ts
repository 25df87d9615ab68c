import assert from "node:assert/strict";
import { createSlices, forEachInSlices } from "../../../src/core/async/yield.ts";

function keepBusy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

Deno.test("forEachInSlices() visits all in order, and lets timers fire between slow ones", async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const visited: number[] = [];
  await forEachInSlices([1, 2, 3, 4, 5], (item) => {
    visited.push(item);
    keepBusy(6);
  });
  clearInterval(timer);
  assert.deepEqual(visited, [1, 2, 3, 4, 5]);
  assert.ok(ticks >= 3, `${ticks} ticks`);
});

Deno.test("slices yield only after some milliseconds, and end with their signal's reason", async () => {
  const caller = new AbortController();
  const nextSlice = createSlices(caller.signal);
  assert.equal(nextSlice(), undefined);
  keepBusy(6);
  const yielded = nextSlice();
  assert.ok(yielded instanceof Promise);
  const reason = new Error("gone");
  caller.abort(reason);
  await assert.rejects(yielded, (error) => error === reason);
  assert.throws(() => nextSlice(), (error) => error === reason);
});
