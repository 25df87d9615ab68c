import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { untilAborted } from "../../../src/core/async/abort.ts";
import {
  createDeadline,
  createRestartableTimer,
  createSharedDeadline,
  isTimeout,
  settlesWithin,
  sleep,
  withDeadline,
} from "../../../src/core/async/deadline.ts";

const never = () => new Promise<never>(() => {});

Deno.test("withDeadline() aborts when the time is up, with a TimeoutError or the reason given", async () => {
  const run = (reason?: () => unknown) =>
    withDeadline(1, undefined, (signal) => untilAborted(never(), signal), reason);
  await assert.rejects(run(), { name: "TimeoutError" });
  const reason = new AppError("timeout", "Cannot wait: the time is up");
  await assert.rejects(run(() => reason), (error) => error === reason);
});

Deno.test("withDeadline() aborts as its caller's signal does, before it begins or later", async () => {
  const caller = new AbortController();
  const run = () => withDeadline(0, caller.signal, (signal) => untilAborted(never(), signal));
  const running = run();
  const reason = new Error("gone");
  caller.abort(reason);
  await assert.rejects(running, (error) => error === reason);
  await assert.rejects(run(), (error) => error === reason);
});

Deno.test("a deadline of 0, or one longer than a timer can be, is no limit", async () => {
  for (const ms of [0, 2 ** 31, Infinity]) {
    using deadline = createDeadline(ms);
    await sleep(5);
    assert.equal(deadline.signal.aborted, false, String(ms));
  }
});

Deno.test("a deadline's limits can be lifted, one by one", async () => {
  using deadline = createDeadline(5);
  const lift = deadline.limit(5, () => "silence");
  deadline.lift();
  lift();
  await sleep(15);
  assert.equal(deadline.signal.aborted, false);
  deadline.limit(1, () => "silence");
  await sleep(10);
  assert.equal(deadline.signal.reason, "silence");
});

Deno.test("a deadline that is disposed of aborts no more, with its time or its caller", async () => {
  const caller = new AbortController();
  const disposed = createDeadline(1, { signal: caller.signal });
  disposed[Symbol.dispose]();
  await sleep(10);
  caller.abort();
  assert.equal(disposed.signal.aborted, false);
});

Deno.test("settlesWithin() tells what came in time from what did not, and rejects as the promise does", async () => {
  assert.equal(await settlesWithin(1_000, Promise.resolve("a value")), true);
  assert.equal(await settlesWithin(1, never()), false);
  await assert.rejects(settlesWithin(1_000, Promise.reject(new Error("broken"))), { message: "broken" });
});

Deno.test("a shared deadline bounds each wait by itself, and passes on what comes before", async () => {
  const shared = createSharedDeadline(500);
  // its timer alone does not keep a process alive
  const alive = setInterval(() => {}, 100);
  const late = shared.race(never(), "late");
  assert.equal(await shared.race(Promise.resolve("value"), "late"), "value");
  await assert.rejects(shared.race(Promise.reject(new Error("broken")), "late"), { message: "broken" });
  assert.equal(await late, "late");
  clearInterval(alive);
  shared.close();
});

Deno.test("a restartable timer expires once, at the end of what was started last", async () => {
  // its timer alone does not keep a process alive
  const alive = setInterval(() => {}, 100);
  const timer = createRestartableTimer();
  const expired: string[] = [];
  const start = (ms: number, what: string) => timer.start(ms, () => expired.push(what));
  start(60_000, "long");
  start(20, "shorter");
  await sleep(60);
  assert.deepEqual(expired, ["shorter"]);
  start(5, "stopped");
  timer.stop();
  await sleep(20);
  start(5, "replaced by a longer one");
  start(40, "longer");
  await sleep(20);
  assert.deepEqual(expired, ["shorter"]);
  await sleep(60);
  assert.deepEqual(expired, ["shorter", "longer"]);
  start(2 ** 31, "in more than 25 days");
  start(Infinity, "never");
  await sleep(10);
  start(5, "closed");
  timer.close();
  start(5, "after its end");
  await sleep(20);
  assert.deepEqual(expired, ["shorter", "longer"]);
  clearInterval(alive);
});

Deno.test("isTimeout() knows an AppError and a DOMException for a time that was up", () => {
  assert.ok(isTimeout(new AppError("timeout", "late")));
  assert.ok(isTimeout(new DOMException("late", "TimeoutError")));
  assert.ok(!isTimeout(new AppError("unavailable", "gone")));
  assert.ok(!isTimeout(undefined));
});

Deno.test("sleep() ends early with its signal's reason, and leaves no timer", async () => {
  const caller = new AbortController();
  const reason = new Error("gone");
  const asleep = sleep(60_000, caller.signal);
  caller.abort(reason);
  await assert.rejects(asleep, (error) => error === reason);
  await assert.rejects(sleep(60_000, caller.signal), (error) => error === reason);
});
