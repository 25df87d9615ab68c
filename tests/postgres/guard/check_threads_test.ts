import assert from "node:assert/strict";
import { createCheckThreads } from "../../../src/postgres/guard/check_scheduler.ts";
import { compileGrammar } from "../../../src/postgres/guard/parser.ts";

const signal = new AbortController().signal;
const grammar = await compileGrammar();
const columns = (count: number) => `SELECT ${Array(count).fill("x::int").join()}`;
const short = { task: "check", sql: "SELECT 1" } as const;
/** Takes some tenths of a second. */
const long = { task: "check", sql: columns(14_000) } as const;

Deno.test("callers take turns: one that sends many waits for its own", async () => {
  using threads = createCheckThreads({ budgetMs: 60_000, grammar });
  const order: string[] = [];
  const run = async (caller: string, request: typeof long | typeof short) => {
    const { task } = await threads.run(request, { caller, signal });
    assert.equal(task, "check");
    order.push(caller);
  };
  await Promise.all([
    ...Array.from({ length: 6 }, () => run("many", long)),
    run("one", short),
    run("another", short),
  ]);
  assert.ok(
    order.lastIndexOf("many") > 5 && order.indexOf("one") < 4 && order.indexOf("another") < 4,
    `${order}`,
  );
});

Deno.test("a check beyond its budget is given up, and the next one gets a new thread", async () => {
  using threads = createCheckThreads({ budgetMs: 20, grammar });
  const by = { caller: "a", signal };
  assert.deepEqual(await threads.run(long, by), { task: "none", why: "overdue" });
  const endless = Promise.all(Array.from({ length: 3 }, () => threads.run(long, by)));
  // a new thread may need its budget to warm up
  const other = () => threads.run(short, { caller: "b", signal });
  for (let tries = 1; (await other()).task !== "check"; tries++) assert.ok(tries < 50);
  assert.deepEqual(new Set((await endless).map((reply) => reply.task)), new Set(["none"]));
});

Deno.test("no more than a hundred checks of a caller wait, and those of who has gone do not", async () => {
  using threads = createCheckThreads({ budgetMs: 60_000, grammar });
  const gone = new AbortController();
  const first = threads.run(short, { caller: "a", signal });
  const others = Array.from({ length: 100 }, () => threads.run(short, { caller: "a", signal: gone.signal }));
  await assert.rejects(threads.run(short, { caller: "a", signal }), { code: "overloaded" });
  gone.abort();
  for (const left of await Promise.all(others)) assert.deepEqual(left, { task: "none", why: "left" });
  assert.equal((await first).task, "check");
  assert.equal((await threads.run(short, { caller: "a", signal })).task, "check");
});
