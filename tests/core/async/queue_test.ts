import assert from "node:assert/strict";
import { createQueue } from "../../../src/core/async/queue.ts";

Deno.test("a queue does one piece of work at a time, in the order of asking, and goes on after one that fails", async () => {
  const queue = createQueue();
  const done: string[] = [];
  const first = Promise.withResolvers<void>();
  const work = [
    queue.run(() => first.promise.then(() => void done.push("first"))),
    queue.run(() => Promise.reject(new Error("second"))).catch(() => void done.push("second")),
    queue.run(() => void done.push("third")),
  ];
  await Promise.resolve();
  assert.deepEqual([done, queue.isEmpty], [[], false]);
  first.resolve();
  await Promise.all(work);
  assert.equal(done[0], "first");
  assert.deepEqual(done.toSorted(), ["first", "second", "third"]);
  assert.ok(queue.isEmpty);
});

Deno.test("whoever aborts while it waits leaves a queue, and nobody else does", async () => {
  const queue = createQueue();
  const leave = await queue.enter();
  const gone = new AbortController();
  let hasRun = false;
  const aborted = queue.run(() => void (hasRun = true), gone.signal);
  const next = queue.enter();
  const reason = new Error("gone");
  gone.abort(reason);
  await assert.rejects(aborted, (error) => error === reason);
  await assert.rejects(queue.enter(gone.signal), (error) => error === reason);
  leave();
  (await next)();
  assert.ok(queue.isEmpty);
  assert.equal(hasRun, false);
});
