import assert from "node:assert/strict";
import { yieldToEventLoop } from "../../../src/core/async/yield.ts";
import type { Principal } from "../../../src/core/principal.ts";
import {
  createCheckScheduler,
  createLateCheckScheduler,
} from "../../../src/postgres/guard/check_scheduler.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";

const signal = new AbortController().signal;
const by = { principal: { kind: "token", id: "a" }, signal } as const;
const guard = await createStatementGuard();
const columns = (count: number) => `SELECT ${Array(count).fill("x::int").join()}`;
/** Takes some tenths of a second. */
const long = columns(14_000);

Deno.test("a long statement is checked as a short one is, and off the event loop's thread", async () => {
  using checks = await createCheckScheduler();
  for (const sql of [columns(300), `${columns(300)}, pg_read_file('x')`, `${columns(300)} FROM FROM`]) {
    const result = checks.check(sql, by);
    assert.ok(result instanceof Promise);
    assert.deepEqual(await result, guard.check(sql));
    assert.equal(checks.check(sql, by), await result, "remembered");
    assert.equal(await checks.fingerprint(sql, by), guard.fingerprint(sql));
  }
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  await checks.check(long, by);
  clearInterval(timer);
  assert.ok(ticks > 5, `${ticks} turns of the event loop`);
});

Deno.test("what is remembered of a statement holds for its number of parameters alone", async () => {
  using checks = await createCheckScheduler();
  for (const sql of ["SELECT $1", `SELECT $1, ${columns(300).slice(7)}`]) {
    const accepted: boolean[] = [];
    for (const length of [1, 0, 1, 2, 0]) {
      accepted.push((await checks.check(sql, { ...by, parameters: { length } })).ok);
    }
    assert.deepEqual(accepted, [true, false, true, true, false]);
    assert.equal((await checks.check(sql, by)).ok, false);
  }
});

Deno.test("short statements are checked at once, and what is too long is refused at once", async () => {
  for (const sql of ["SELECT 1", "x".repeat(100_001)]) {
    using checks = await createCheckScheduler();
    assert.deepEqual(checks.check(sql, by), guard.check(sql));
  }
});

Deno.test("checks that come before the grammar is loaded wait for it", async () => {
  await using checks = createLateCheckScheduler({ loadAfterMs: 60_000 });
  const early = checks.check("SELECT 1 FROM FROM", by);
  assert.ok(early instanceof Promise);
  const fingerprint = checks.fingerprint("SELECT 1", by);
  assert.deepEqual(await early, guard.check("SELECT 1 FROM FROM"));
  assert.equal(await fingerprint, guard.fingerprint("SELECT 1"));
  // on a busy machine the two took so long that a third would wait its turn
  await yieldToEventLoop();
  assert.deepEqual(checks.check("SELECT 1", by), guard.check("SELECT 1"));
});

Deno.test("where the grammar cannot be loaded, the next check loads it anew", async () => {
  let tries = 0;
  const create = () =>
    ++tries < 3 ? Promise.reject(new Error("too many open files")) : createCheckScheduler();
  await using checks = createLateCheckScheduler({ loadAfterMs: 0, create });
  // the first try is the timer's: nobody waits for it
  while (tries === 0) await yieldToEventLoop();
  const both = await Promise.allSettled([checks.check("SELECT 1", by), checks.fingerprint("SELECT 1", by)]);
  assert.deepEqual(both.map(({ status }) => status), ["rejected", "rejected"]);
  assert.deepEqual(await checks.check("SELECT 1", by), guard.check("SELECT 1"));
  assert.equal(tries, 3);
});

Deno.test("addresses without a token, and users, take turns", async () => {
  const cases: (readonly [Principal, Principal])[] = [
    [{ kind: "local", address: "192.0.2.1" }, { kind: "local", address: "192.0.2.2" }],
    [{ kind: "session", id: "s1", username: "many" }, { kind: "session", id: "s2", username: "one" }],
  ];
  for (const [many, one] of cases) {
    using checks = await createCheckScheduler();
    const order: string[] = [];
    const ask = async (who: string, principal: Principal, sql: string) => {
      await checks.check(sql, { principal, signal });
      order.push(who);
    };
    await Promise.all([
      ...Array.from({ length: 6 }, (_, at) => ask("many", many, `${long}, ${at}`)),
      ask("one", one, columns(300)),
    ]);
    assert.ok(order.indexOf("one") < 3, `${order}`);
  }
  using checks = await createCheckScheduler();
  const ofOneUser = Array.from({ length: 102 }, (_, at) => {
    const principal = { kind: "session", id: `${at}`, username: "alice" } as const;
    return Promise.resolve(checks.check(`${long}, ${at}`, { principal, signal }));
  });
  const settled = Promise.allSettled(ofOneUser);
  await assert.rejects(
    ofOneUser.at(-1) ?? Promise.resolve(),
    { code: "overloaded" },
    "the sessions of a user are one caller",
  );
  checks[Symbol.dispose]();
  await settled;
});

Deno.test("many short statements at once let everything else have its turn", async () => {
  using checks = await createCheckScheduler();
  let ticks = 0;
  const timer = setInterval(() => ticks++, 0);
  const statements = Array.from(
    { length: 300 },
    (_, at) => `SELECT ${at}, ${Array(130).fill("x::int").join()}`,
  );
  const results = await Promise.all(statements.map((sql) => checks.check(sql, by)));
  clearInterval(timer);
  assert.deepEqual(results, statements.map((sql) => guard.check(sql)));
  assert.ok(ticks > 5, `${ticks} turns of the event loop`);
});

Deno.test("check() remembers its results of the latest statements, and on no others", async () => {
  using checks = await createCheckScheduler();
  const check = async (sql: string) => await checks.check(sql, by);
  const result = await check("SELECT 'remembered'");
  assert.equal(await check("SELECT 'remembered'"), result);
  for (let other = 0; other < 1_000; other++) await check(`SELECT 'another', ${other}`);
  assert.equal(await check("SELECT 'remembered'"), result);
  for (let other = 0; other < 22; other++) await check(`SELECT '${"x".repeat(99_000)}', ${other}`);
  assert.notEqual(await check("SELECT 'remembered'"), result);
  assert.deepEqual(await check("SELECT 'remembered'"), result);
  const tooLong = `SELECT '${"x".repeat(100_000)}'`;
  assert.notEqual(await check(tooLong), await check(tooLong));
});

Deno.test("a short statement whose rounds take long to follow is checked off the event loop's thread too", async () => {
  using checks = await createCheckScheduler();
  const rounds = `WITH RECURSIVE a AS (SELECT ${Array(50).fill(1).join()}),
    b AS (SELECT * FROM a, a, a, a UNION ALL SELECT b.* FROM ${Array(300).fill("b").join()}) SELECT 1`;
  assert.ok(rounds.length < 1_000);
  const result = checks.check(rounds, by);
  assert.ok(result instanceof Promise);
  assert.deepEqual(await result, guard.check(rounds));
});
