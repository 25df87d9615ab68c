import assert from "node:assert/strict";
import type { Principal } from "../../../src/core/principal.ts";
import { createUsageCounts } from "../../../src/core/quotas/usage_counts.ts";
import { createQuotas, type LimitRules } from "../../../src/core/quotas/quotas.ts";

const alice: Principal = { kind: "session", id: "s1", username: "alice" };
const token: Principal = { kind: "token", id: "token-173" };
const forever = new AbortController().signal;

/** A Monday at noon, UTC. */
const noon = Date.UTC(2026, 2, 2, 12);

function setUp(rules: LimitRules, maxWaiting = Infinity, maxWaitMs = Infinity) {
  let time = noon;
  const refused: string[] = [];
  const quotas = createQuotas({
    rules,
    now: () => time,
    waitBounds: { maxWaiting, maxWaitMs },
    onRefused: (limit) => refused.push(limit),
  });
  return { quotas, refused, pass: (ms: number) => void (time += ms) };
}

Deno.test("calls a minute: what is used up is refused until the minute ends, and costs nothing", async () => {
  const { quotas, refused, pass } = setUp({ default: { calls_per_minute: 2 } });
  pass(15_000);
  for (const _ of [1, 2]) (await quotas.begin(alice, forever))();
  for (const _ of [1, 2, 3]) {
    await assert.rejects(quotas.begin(alice, forever), {
      code: "quota_exceeded",
      message: "Cannot run the call: the limit calls_per_minute (2) is used up; try again in 45 s",
      data: { limit: "calls_per_minute", retryAfterSeconds: 45 },
    });
  }
  assert.deepEqual(refused, ["calls_per_minute", "calls_per_minute", "calls_per_minute"]);
  assert.deepEqual(quotas.usage(alice), [{
    limit: "calls_per_minute",
    maximum: 2,
    used: 2,
    remaining: 0,
    resets_at: "2026-03-02T12:01:00.000Z",
  }]);
  pass(45_000);
  (await quotas.begin(alice, forever))();
  assert.equal(quotas.usage(alice)[0]?.used, 1);
});

Deno.test("limits of all callers are told without what others have used of them", async () => {
  const { quotas } = setUp({ all: { calls_per_minute: 5, calls_at_once: 3 }, default: { rows_per_day: 1 } });
  const before = quotas.shared();
  (await quotas.begin(token, forever))();
  assert.deepEqual(quotas.shared(), before);
  assert.deepEqual(before, [
    { limit: "calls_per_minute", maximum: 5, resets_at: "2026-03-02T12:01:00.000Z" },
    { limit: "calls_at_once", maximum: 3 },
  ]);
  assert.deepEqual(quotas.usage(alice).map(({ limit }) => limit), ["rows_per_day"]);
});

Deno.test("a call that another limit refuses after it has begun has cost one of the minute", async () => {
  const { quotas } = setUp({ default: { calls_per_minute: 5, statements_per_minute: 0 } });
  (await quotas.begin(alice, forever))();
  assert.throws(() => quotas.beginStatement(alice), { code: "quota_exceeded" });
  const used = quotas.usage(alice).map(({ limit, used }) => [limit, used]);
  assert.deepEqual(Object.fromEntries(used), { calls_per_minute: 1, statements_per_minute: 0 });
});

Deno.test("all sessions of a user are one caller; another user is another", async () => {
  const { quotas } = setUp({ default: { calls_per_minute: 1 } });
  await quotas.begin(alice, forever);
  await assert.rejects(quotas.begin({ ...alice, id: "s2" }, forever), { code: "quota_exceeded" });
  await quotas.begin({ kind: "session", id: "s3", username: "bob" }, forever);
  await quotas.begin(token, forever);
});

Deno.test("rows and bytes count after the fact: a statement may go beyond, the next one not", () => {
  const { quotas, pass } = setUp({ default: { rows_per_day: 10, bytes_per_day: 1_000 } });
  quotas.beginStatement(alice);
  quotas.read(alice, 8, 100);
  quotas.beginStatement(alice);
  quotas.read(alice, 8, 100);
  assert.throws(() => quotas.beginStatement(alice), {
    code: "quota_exceeded",
    message: "Cannot run the call: the limit rows_per_day (10) is used up; try again in 43200 s",
    data: { limit: "rows_per_day", retryAfterSeconds: 43_200 },
  });
  const [rows, bytes] = quotas.usage(alice);
  assert.deepEqual([rows?.used, rows?.remaining, bytes?.used, bytes?.remaining], [16, 0, 200, 800]);
  pass(12 * 3_600_000);
  quotas.beginStatement(alice);
});

Deno.test("tokens of providers count by the day", () => {
  const { quotas } = setUp({ principals: { alice: { provider_tokens_per_day: 100 } } });
  quotas.beforeProvider(alice);
  quotas.usedTokens(alice, 150);
  assert.throws(() => quotas.beforeProvider(alice), { code: "quota_exceeded" });
  quotas.beforeProvider(token);
});

Deno.test("the limits of all callers together refuse everybody, and show in nobody's own", async () => {
  const { quotas } = setUp({ all: { calls_per_minute: 2 } });
  await quotas.begin(alice, forever);
  await quotas.begin(token, forever);
  await assert.rejects(quotas.begin(token, forever), {
    message:
      "Cannot run the call: the limit calls_per_minute (2) of all callers together is used up; try again in 60 s",
  });
  assert.deepEqual(quotas.usage(alice), []);
});

Deno.test("calls at once: more of the caller wait for their turn, and nobody else's do", async () => {
  const { quotas } = setUp({ default: { calls_at_once: 1 } });
  const leave = await quotas.begin(alice, forever);
  let isIn = false;
  const second = quotas.begin(alice, forever).then((leave) => {
    isIn = true;
    return leave;
  });
  (await quotas.begin(token, forever))();
  assert.equal(isIn, false);
  assert.deepEqual(quotas.usage(alice), [{ limit: "calls_at_once", maximum: 1, used: 1, remaining: 0 }]);
  leave();
  (await second)();
  assert.equal(quotas.usage(alice)[0]?.used, 0);
});

Deno.test("calls at once: where too many wait the call is over its quota, and has cost none", async () => {
  const { quotas, refused } = setUp({ default: { calls_at_once: 1, calls_per_minute: 10 } }, 0);
  const leave = await quotas.begin(alice, forever);
  await assert.rejects(quotas.begin(alice, forever), {
    code: "quota_exceeded",
    message:
      "Cannot run the call: the limit calls_at_once (1) is reached, and too many wait; try again in 1 s",
    data: { limit: "calls_at_once", retryAfterSeconds: 1 },
  });
  assert.deepEqual(refused, ["calls_at_once"]);
  assert.equal(quotas.usage(alice)[0]?.used, 1);
  leave();
  (await quotas.begin(alice, forever))();
});

Deno.test("calls at once: the limit that is full is named, and whether too many wait or the wait is too long", async () => {
  const rules: LimitRules = { default: { calls_at_once: 2 }, all: { calls_at_once: 3 } };
  const reached = "is reached, and too many wait; try again in 1 s";
  const { quotas } = setUp(rules, 0);
  for (const caller of [token, token]) await quotas.begin(caller, forever);
  const ofToken = { message: `Cannot run the call: the limit calls_at_once (2) ${reached}` };
  await assert.rejects(quotas.begin(token, forever), ofToken);
  await quotas.begin(alice, forever);
  await assert.rejects(quotas.begin(alice, forever), {
    message: `Cannot run the call: the limit calls_at_once (3) of all callers together ${reached}`,
  });
  await assert.rejects(quotas.begin(token, forever), ofToken);

  using impatient = setUp(rules, Infinity, 1).quotas;
  for (const caller of [alice, alice]) await impatient.begin(caller, forever);
  // the timer of those that wait keeps no process alive
  const kept = setInterval(() => {}, 1_000);
  await assert.rejects(impatient.begin(alice, forever), {
    code: "quota_exceeded",
    message:
      "Cannot run the call: the limit calls_at_once (2) is reached, and the wait is too long; try again in 1 s",
  });
  clearInterval(kept);
});

Deno.test("calls at once: who waits is let in as soon as a limit is raised or taken away", async () => {
  for (const rules of [{ default: { calls_at_once: 1 } }, { all: { calls_at_once: 1 } }]) {
    const { quotas } = setUp(rules);
    await quotas.begin(alice, forever);
    let begun = 0;
    const waiting = [1, 2, 3].map(async () => {
      await quotas.begin(alice, forever);
      begun++;
    });
    quotas.replace({ default: { calls_at_once: 3 }, all: { calls_at_once: 3 } });
    await Promise.all(waiting.slice(0, 2));
    assert.equal(begun, 2);
    quotas.replace({});
    await Promise.all(waiting);
  }
});

Deno.test("calls at once of all: other callers wait too, in the order of the admission", async () => {
  const { quotas } = setUp({ all: { calls_at_once: 1 } });
  const leave = await quotas.begin(alice, forever);
  const order: string[] = [];
  const waiting = [alice, alice, token].map(async (caller, at) => {
    const leave = await quotas.begin(caller, forever);
    order.push(`${caller.kind} ${at}`);
    leave();
  });
  leave();
  await Promise.all(waiting);
  assert.deepEqual(order, ["session 0", "token 2", "session 1"]);
});

Deno.test("a call that leaves while it waits has cost nothing", async () => {
  const { quotas } = setUp({ default: { calls_at_once: 1, calls_per_minute: 10 } });
  await quotas.begin(alice, forever);
  const gone = new AbortController();
  const waits = quotas.begin(alice, gone.signal);
  gone.abort(new Error("gone"));
  await assert.rejects(waits, { message: "gone" });
  assert.equal(quotas.usage(alice)[0]?.used, 1);
});

Deno.test("a call that leaves in another minute than it came in takes nothing from that one", async () => {
  const minute = { calls_per_minute: 10 };
  const { quotas, pass } = setUp({ default: { calls_at_once: 1, ...minute }, all: { calls_per_minute: 11 } });
  await quotas.begin(alice, forever);
  const [old, gone] = [new AbortController(), new AbortController()];
  const waits = [1, 2, 3].map(() => quotas.begin(alice, old.signal));
  pass(60_000);
  const late = [1, 2, 3, 4].map(() => quotas.begin(alice, gone.signal));
  old.abort(new Error("gone"));
  await Promise.allSettled(waits);
  const usedNow = () => quotas.usage(alice).find(({ limit }) => limit === "calls_per_minute")?.used;
  assert.equal(usedNow(), 4);
  // of all together 4 of 11 are used
  for (let left = 7; left > 0; left--) await quotas.begin({ kind: "token", id: `t${left}` }, forever);
  await assert.rejects(quotas.begin({ kind: "token", id: "one more" }, forever), { code: "quota_exceeded" });
  gone.abort(new Error("gone"));
  await Promise.allSettled(late);
  assert.equal(usedNow(), 0);
});

Deno.test("with a limit that came while a call waited, its leaving takes nothing from others", async () => {
  const { quotas } = setUp({ default: { calls_at_once: 1 } });
  await quotas.begin(alice, forever);
  const gone = new AbortController();
  const waits = quotas.begin(alice, gone.signal);
  quotas.replace({ default: { calls_at_once: 1, calls_per_minute: 1 }, all: { calls_per_minute: 1 } });
  await quotas.begin(token, forever);
  gone.abort(new Error("gone"));
  await assert.rejects(waits, { message: "gone" });
  await assert.rejects(quotas.begin({ kind: "token", id: "another" }, forever), { code: "quota_exceeded" });
});

Deno.test("without limits nothing is counted; with new ones what was used still counts", async () => {
  const { quotas } = setUp({});
  assert.equal(quotas.isOn, false);
  await quotas.begin(alice, forever);
  quotas.replace({ default: { calls_per_minute: 1 } });
  assert.equal(quotas.isOn, true);
  await quotas.begin(alice, forever);
  quotas.replace({ default: { calls_per_minute: 2 } });
  await quotas.begin(alice, forever);
  await assert.rejects(quotas.begin(alice, forever), { code: "quota_exceeded" });
  quotas.replace({ default: {} });
  assert.equal(quotas.isOn, false);
});

Deno.test("what the server reads for itself counts for nobody, what it reads for a caller for them", () => {
  const { quotas } = setUp({ default: { statements_per_minute: 1 } });
  const server: Principal = { kind: "local", isServer: true };
  for (const _ of [1, 2, 3]) quotas.beginStatement(server);
  const forAlice: Principal = { kind: "local", onBehalfOf: alice };
  quotas.beginStatement(forAlice);
  assert.throws(() => quotas.beginStatement(alice), { code: "quota_exceeded" });
  // by their own limit
  quotas.replace({
    default: { statements_per_minute: 1 },
    principals: { alice: { statements_per_minute: 2 } },
  });
  quotas.beginStatement(forAlice);
  assert.throws(() => quotas.beginStatement(forAlice), { code: "quota_exceeded" });
});

for (const limit of ["statements_per_minute", "rows_per_day", "bytes_per_day"] as const) {
  Deno.test(`${limit} that is used up refuses the next statement`, () => {
    const { quotas } = setUp({ default: { [limit]: 1 } });
    quotas.beginStatement(alice);
    quotas.read(alice, 1, 1);
    assert.throws(() => quotas.beginStatement(alice), { code: "quota_exceeded" });
    quotas.beginStatement(token);
  });
}

Deno.test("what a file has of a window that is over, and what is taken back beyond it, change no count", () => {
  let time = noon;
  const counts = createUsageCounts(() => time);
  const limit = "calls_per_minute";
  counts.add("a", limit, 2);
  counts.learn({ caller: "a", limit, start: noon - 60_000, used: 9 });
  assert.equal(counts.used("a", limit), 2);
  counts.learn({ caller: "a", limit, start: noon, used: 3 });
  assert.equal(counts.used("a", limit), 5);
  time += 60_000;
  counts.add("a", limit, -1);
  counts.add("a", limit, 1);
  assert.equal(counts.used("a", limit), 1);
});

/** Begins a call, and says whether it has been let in. */
function beginning(quotas: ReturnType<typeof setUp>["quotas"], principal: Principal) {
  const call = { isIn: false, leave: () => {} };
  quotas.begin(principal, forever).then((leave) => Object.assign(call, { isIn: true, leave }), () => {});
  return call;
}
const settled = () => new Promise((resolve) => setTimeout(resolve));

Deno.test("calls at once that run elsewhere take their caller's places here, until they end", async () => {
  const { quotas } = setUp({ default: { calls_at_once: 2 } });
  quotas.setElsewhere(new Map([["user:alice", 1]]));
  assert.deepEqual(quotas.usage(alice), [{ limit: "calls_at_once", maximum: 2, used: 1, remaining: 1 }]);
  const [first, second] = [beginning(quotas, alice), beginning(quotas, alice)];
  const other = [beginning(quotas, token), beginning(quotas, token)];
  await settled();
  assert.deepEqual([first.isIn, second.isIn, ...other.map(({ isIn }) => isIn)], [true, false, true, true]);
  assert.deepEqual(quotas.usage(alice), [{ limit: "calls_at_once", maximum: 2, used: 2, remaining: 0 }]);
  // the one here goes before the one elsewhere: there is no place yet for more than one
  quotas.setElsewhere(new Map([["user:alice", 2]]));
  first.leave();
  await settled();
  assert.equal(second.isIn, false);
  quotas.setElsewhere(new Map([["user:alice", 1]]));
  await settled();
  assert.equal(second.isIn, true);
  quotas.setElsewhere(new Map());
  assert.equal(quotas.usage(alice)[0]?.used, 1);
});

Deno.test("calls elsewhere take places of all callers together, until they end", async () => {
  const { quotas } = setUp({ all: { calls_at_once: 2 } });
  quotas.setElsewhere(new Map([["all", 1], ["user:alice", 1]]));
  const calls = [beginning(quotas, alice), beginning(quotas, token)];
  await settled();
  assert.deepEqual(calls.map(({ isIn }) => isIn), [true, false]);
  quotas.setElsewhere(new Map());
  await settled();
  assert.deepEqual(calls.map(({ isIn }) => isIn), [true, true]);
});

Deno.test("where too many wait for calls elsewhere, a call is over its quota", async () => {
  const { quotas, refused } = setUp({ default: { calls_at_once: 1 } }, 0);
  quotas.setElsewhere(new Map([["user:alice", 1]]));
  await assert.rejects(quotas.begin(alice, forever), {
    code: "quota_exceeded",
    message: /^Cannot run the call: the limit calls_at_once \(1\) is reached, and too many wait/,
  });
  assert.deepEqual(refused, ["calls_at_once"]);
});

Deno.test("what is told of calls under way is of those whose number is limited", async () => {
  const { quotas } = setUp({ principals: { alice: { calls_at_once: 1 } } });
  assert.deepEqual(quotas.underWay(), {});
  const [first, waiting] = [beginning(quotas, alice), beginning(quotas, alice)];
  await quotas.begin(token, forever);
  // one that waits runs nowhere
  assert.deepEqual(quotas.underWay(), { "user:alice": 1 });
  await settled();
  first.leave();
  await settled();
  assert.ok(waiting.isIn);
  assert.deepEqual(quotas.underWay(), { "user:alice": 1 });
  waiting.leave();
  assert.deepEqual(quotas.underWay(), {});
  quotas.replace({ all: { calls_at_once: 5 } });
  for (const each of [alice, token]) await quotas.begin(each, forever);
  // what runs elsewhere is told by those that run it
  quotas.setElsewhere(new Map([["all", 3], ["user:alice", 3]]));
  const { all, ...callers } = quotas.underWay();
  assert.deepEqual([all, Object.values(callers)], [2, [1, 1]]);
});
