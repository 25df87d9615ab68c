import assert from "node:assert/strict";
import { createSingleFlight } from "../../../src/core/async/single_flight.ts";

const stays = new AbortController().signal;

Deno.test("callers at the same time share one piece of work, and later ones get another", async () => {
  const flight = createSingleFlight<number>();
  let count = 0;
  const work = () => Promise.resolve(++count);
  assert.deepEqual(
    await Promise.all([flight.join(stays, work), flight.share(work), flight.join(stays, work)]),
    [1, 1, 1],
  );
  assert.equal(await flight.share(work), 2);
});

Deno.test("a caller that leaves aborts the work only where it was the last, and nobody shares it", async () => {
  const flight = createSingleFlight<void>();
  const signals: AbortSignal[] = [];
  const work = (signal: AbortSignal) => {
    signals.push(signal);
    return new Promise<never>(() => {});
  };
  const [one, other] = [new AbortController(), new AbortController()];
  const left = [flight.join(one.signal, work), flight.join(other.signal, work)].map((joined) =>
    joined.catch(() => "left")
  );
  one.abort();
  assert.equal(await left[0], "left");
  assert.equal(signals[0]?.aborted, false);
  other.abort();
  assert.equal(await left[1], "left");
  assert.equal(signals[0]?.aborted, true);

  const last = new AbortController();
  const joined = flight.join(last.signal, work).catch(() => "left");
  void flight.share(() => assert.fail("there is one under way"));
  last.abort();
  assert.equal(await joined, "left");
  assert.equal(signals[1]?.aborted, false);
});

Deno.test("where another's work fails, a caller that joined tries its own, and one that shares fails too", async () => {
  const flight = createSingleFlight<string>();
  const failing = () => Promise.reject(new Error("broken"));
  const first = flight.join(stays, failing).catch((error) => error.message);
  const second = flight.join(stays, () => Promise.resolve("own"));
  const shared = flight.share(() => Promise.resolve("own")).catch((error) => error.message);
  assert.deepEqual(await Promise.all([first, second, shared]), ["broken", "own", "broken"]);
});

Deno.test("joinNext() takes no work that began before it", async () => {
  const flight = createSingleFlight<string>();
  const old = Promise.withResolvers<string>();
  const first = flight.join(stays, () => old.promise);
  const next = flight.joinNext(stays, () => Promise.resolve("new"));
  old.resolve("old");
  assert.deepEqual(await Promise.all([first, next]), ["old", "new"]);
});
