import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createLogger, silentLogger } from "../../src/core/logger.ts";
import { createQuotas } from "../../src/core/quotas/quotas.ts";
import { createUsageCounts } from "../../src/core/quotas/usage_counts.ts";
import { sql } from "../../src/state/engine.ts";
import type { State } from "../../src/state/state.ts";
import { exchangeUsage } from "../../src/state/usage_exchange.ts";
import { fileState, testServers, testSharedStates, testStates } from "../support/state.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";
import { waitUntil } from "../support/wait_until.ts";

const noon = Date.UTC(2026, 2, 2, 12);

/** One process that counts. */
async function count(state: State, logger = silentLogger) {
  const counts = createUsageCounts(state.now);
  const quotas = { underWay: () => ({}), setElsewhere: () => {} };
  return { counts, ...await exchangeUsage({ state, counts, quotas, logger }) };
}

testStates("what was used in a window outlives the process, and no window outlives its end", async (open) => {
  let time = noon;
  const start = async () => await count(await open({ now: () => time }));
  {
    await using first = await start();
    first.counts.add("user:alice", "rows_per_day", 7);
    first.counts.add("user:alice", "calls_per_minute", 3);
  }
  time += 59_999;
  {
    await using soon = await start();
    assert.equal(soon.counts.used("user:alice", "calls_per_minute"), 3);
  }
  time += 1;
  {
    await using second = await start();
    assert.equal(second.counts.used("user:alice", "rows_per_day"), 7);
    assert.equal(second.counts.used("user:alice", "calls_per_minute"), 0);
    second.counts.add("user:alice", "rows_per_day", 2);
  }
  time += 12 * 3_600_000;
  {
    await using third = await start();
    assert.equal(third.counts.used("user:alice", "rows_per_day"), 0);
    third.counts.add("user:alice", "rows_per_day", 1);
  }
  await using fourth = await start();
  assert.equal(fourth.counts.used("user:alice", "rows_per_day"), 1);
});

testSharedStates("processes that share the state count together", async (open) => {
  await using a = await count(await open({ now: () => noon }));
  await using b = await count(await open({ now: () => noon }));
  a.counts.add("token:t", "bytes_per_day", 10);
  b.counts.add("token:t", "bytes_per_day", 5);
  await a.exchange();
  await b.exchange();
  await a.exchange();
  assert.deepEqual([a, b].map(({ counts }) => counts.used("token:t", "bytes_per_day")), [15, 15]);
  b.counts.add("token:t", "bytes_per_day", -5);
  await b.exchange();
  await a.exchange();
  assert.equal(a.counts.used("token:t", "bytes_per_day"), 10);
});

testSharedStates(
  "processes that count at the same time lose nothing and count nothing twice",
  async (open) => {
    await using a = await count(await open({ now: () => noon }));
    await using b = await count(await open({ now: () => noon }));
    for (let round = 0; round < 20; round++) {
      for (const each of [a, b]) each.counts.add("token:t", "rows_per_day", 3);
      await Promise.all([a.exchange(), b.exchange(), a.exchange()]);
    }
    await a.exchange();
    await b.exchange();
    await a.exchange();
    assert.deepEqual([a, b].map(({ counts }) => counts.used("token:t", "rows_per_day")), [120, 120]);
  },
);

testSharedStates("it also happens by itself", async (open) => {
  await using a = await count(await open({ now: () => noon }));
  await using b = await count(await open({ now: () => noon }));
  a.counts.add("token:t", "rows_per_day", 3);
  const begin = performance.now();
  while (b.counts.used("token:t", "rows_per_day") === 0) {
    assert.ok(performance.now() - begin < 10_000);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(b.counts.used("token:t", "rows_per_day"), 3);
});

testSharedStates(
  "a state that cannot be written is tried again, and nothing is lost or counted twice",
  async (open) => {
    const whole = await open({ now: () => noon });
    let isAway = false;
    const state: State = {
      ...whole,
      change: (statements, options) =>
        isAway ? Promise.reject(new Error("away")) : whole.change(statements, options),
    };
    const lines: string[] = [];
    const logger = createLogger({ level: "warn", format: "text", write: (line) => lines.push(line) });
    await using a = await count(state, logger);
    await using b = await count(await open({ now: () => noon }));
    isAway = true;
    a.counts.add("token:t", "bytes_per_day", 10);
    await a.exchange();
    await a.exchange();
    assert.equal(a.counts.used("token:t", "bytes_per_day"), 10);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /WARN .*Cannot keep what callers used; trying again/);
    isAway = false;
    await a.exchange();
    await a.exchange();
    await b.exchange();
    assert.equal(b.counts.used("token:t", "bytes_per_day"), 10);
  },
);

Deno.test("a file that another process holds is tried again, and nothing is lost or counted twice", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "state.sqlite");
  await using first = fileState(path, () => noon);
  await using second = fileState(path, () => noon);
  await using a = await count(first);
  await using b = await count(second);
  using other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  a.counts.add("token:t", "bytes_per_day", 10);
  const begin = performance.now();
  await a.exchange();
  // it holds nobody up meanwhile
  assert.ok(performance.now() - begin < 500);
  assert.equal(a.counts.used("token:t", "bytes_per_day"), 10);
  other.exec("COMMIT");
  await a.exchange();
  await a.exchange();
  await b.exchange();
  assert.equal(b.counts.used("token:t", "bytes_per_day"), 10);
});

const callers = async (state: State) => {
  const [rows = []] = await state.read([sql`SELECT caller, counted FROM usage`]);
  return rows.map(({ caller, counted }) => ({ caller, counted }));
};

testStates(
  "windows that are over leave the state: it has rows for the callers of the moment",
  async (open) => {
    let time = noon;
    const state = await open({ now: () => time });
    await using kept = await count(state);
    kept.counts.add("token:t", "rows_per_day", 7);
    for (let minute = 0; minute < 5; minute++) {
      for (let at = 0; at < 100; at++) kept.counts.add(`${minute} ${at}`, "calls_per_minute", 1);
      await kept.exchange();
      kept.counts.clearEnded();
      time += 60_000;
    }
    // they stay a minute longer, for others whose clocks may differ
    assert.ok((await callers(state)).length <= 301);
    time += 60_000;
    await kept.exchange();
    assert.deepEqual(await callers(state), [{ caller: "token:t", counted: "rows_per_day" }]);
    time += 12 * 3_600_000;
    await kept.exchange();
    assert.deepEqual(await callers(state), []);
  },
);

Deno.test("windows that are over leave the file: it grows with the callers of the moment", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "state.sqlite");
  let time = noon;
  await using state = fileState(path, () => time);
  await using kept = await count(state);
  kept.counts.add("token:t", "rows_per_day", 7);
  using file = new DatabaseSync(path);
  const sizes: number[] = [];
  for (let minute = 0; minute < 20; minute++) {
    for (let at = 0; at < 500; at++) {
      kept.counts.add(`${minute} ${at} ${"x".repeat(255)}`, "calls_per_minute", 1);
    }
    await kept.exchange();
    kept.counts.clearEnded();
    time += 60_000;
    file.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    sizes.push(Deno.statSync(path).size);
  }
  assert.ok((sizes.at(-1) ?? 0) < 2 * (sizes[3] ?? 0), sizes.join());
});

Deno.test("windows that are over are forgotten", () => {
  let time = noon;
  const counts = createUsageCounts(() => time);
  for (let at = 0; at < 100; at++) counts.add(`address:192.0.2.${at}`, "calls_per_minute", 1);
  counts.add("token:t", "rows_per_day", 1);
  time += 60_000;
  counts.clearEnded();
  assert.equal(counts.size, 1);
});

testStates("a start that cannot read the state warns of it and tries again", async (open) => {
  const whole = await open({ now: () => noon });
  {
    await using first = await count(whole);
    first.counts.add("user:alice", "rows_per_day", 7);
  }
  let isAway = true;
  const state: State = {
    ...whole,
    read: (statements) => isAway ? Promise.reject(new Error("away")) : whole.read(statements),
  };
  const lines: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => lines.push(line) });
  await using second = await count(state, logger);
  assert.equal(second.counts.used("user:alice", "rows_per_day"), 0);
  assert.equal(lines.length, 1);
  isAway = false;
  await second.exchange();
  assert.equal(second.counts.used("user:alice", "rows_per_day"), 7);
});

/** A process whose callers may run one call at once each, and all of them three. */
async function limited(state: State) {
  const counts = createUsageCounts(state.now);
  const rules = { default: { calls_at_once: 1 }, all: { calls_at_once: 3 } };
  const quotas = createQuotas({ rules, counts, now: state.now });
  const begin = (username: string) => {
    const call = { isIn: false, leave: () => {} };
    quotas.begin({ kind: "session", id: username, username }, new AbortController().signal)
      .then((leave) => Object.assign(call, { isIn: true, leave }), () => {});
    return call;
  };
  const exchanged = await exchangeUsage({ state, counts, quotas, logger: silentLogger });
  return { state, quotas, begin, ...exchanged };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

testServers("calls at once count at all processes together, until they end", async (open) => {
  await using here = await limited(await open({ now: () => noon }));
  await using there = await limited(await open({ now: () => noon }));
  const first = here.begin("alice");
  await here.exchange();
  await there.exchange();
  // one's own are not counted twice
  await here.state.catchUp();
  assert.equal(here.quotas.usage({ kind: "session", id: "x", username: "alice" })[0]?.used, 1);
  const calls = [there.begin("alice"), there.begin("bob"), there.begin("carol"), there.begin("dave")];
  await settled();
  assert.deepEqual(calls.map(({ isIn }) => isIn), [false, true, true, false]);
  first.leave();
  await here.exchange();
  await there.state.catchUp();
  assert.deepEqual(calls.map(({ isIn }) => isIn), [true, true, true, false]);
  // nothing comes back of what was told before
  await there.exchange();
  await here.exchange();
  assert.equal(here.quotas.underWay()["all"], 0);
  const next = here.begin("alice");
  await settled();
  assert.equal(next.isIn, false);
  for (const { leave } of calls) leave();
  await there.exchange();
  await here.state.catchUp();
  await waitUntil("it is let in", () => next.isIn);
});

testServers("calls of a process that is gone count no more after five seconds", async (open) => {
  let time = noon;
  const state = await open({ now: () => noon });
  const gone = await limited(state);
  await using there = await limited(await open({ now: () => time }));
  gone.begin("alice");
  await gone.exchange();
  await state[Symbol.asyncDispose]();
  await there.exchange();
  const call = there.begin("alice");
  time += 4_999;
  await there.exchange();
  await settled();
  assert.equal(call.isIn, false);
  time += 1;
  await there.exchange();
  await settled();
  assert.equal(call.isIn, true);
  await gone[Symbol.asyncDispose]();
  await there.exchange();
  // who comes later never counts them
  const late = await limited(await open({ now: () => time }));
  await using _late = late;
  assert.deepEqual(
    late.quotas.usage({ kind: "session", id: "x", username: "alice" }).map(({ used }) => used),
    [1],
  );
});

testSharedStates(
  "of more callers than are exchanged at once those who used most are told of first",
  async (open) => {
    await using here = await count(await open({ now: () => noon }));
    await using there = await count(await open({ now: () => noon }));
    for (let each = 0; each < 2_000; each++) here.counts.add(`caller ${each}`, "calls_per_minute", 1);
    here.counts.add("busy", "calls_per_minute", 40);
    here.counts.add("read", "rows_per_day", 1);
    await here.exchange();
    await there.exchange();
    assert.equal(there.counts.used("busy", "calls_per_minute"), 40);
    assert.equal(there.counts.used("read", "rows_per_day"), 1);
    assert.equal(there.counts.size, 500);
    for (let each = 0; each < 4; each++) await here.exchange();
    await there.exchange();
    assert.equal(there.counts.size, 2_002);
  },
);
