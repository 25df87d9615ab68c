import assert from "node:assert/strict";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";

const guard = await createStatementGuard();

/** Statements of a size, at most 100,000 characters for four times the size that the test begins with. */
const families: Readonly<Record<string, readonly [size: number, write: (size: number) => string]>> = {
  "columns of no name": [400, (n) => `WITH a AS (SELECT ${list(n, "1")}) SELECT ${list(n, "x")} FROM a`],
  "columns of one name": [400, (n) => `WITH a AS (SELECT ${list(n, "1 x")}) SELECT ${list(n, "x")} FROM a`],
  "columns of one name in one call": [
    400,
    (n) => `WITH a AS (SELECT ${list(n, "1 x")}) SELECT f(${list(20 * n, "x")}) FROM a`,
  ],
  "tables of one name": [
    200,
    (n) => `SELECT f(${list(10 * n, "x")}) FROM ${list(n, `(SELECT ${list(18, "1 x")}) t`)}`,
  ],
  "tables of many names": [
    200,
    (n) =>
      `SELECT f(${Array.from({ length: n }, (_, i) => `t${i}.x`).join()}) FROM ${
        Array.from({ length: n }, (_, i) => `(SELECT ${list(18, "1 x")}) t${i}`).join()
      }`,
  ],
  "references through many queries": [
    5_000,
    (n) => `SELECT ${"(SELECT ".repeat(60)}f(${list(n, "x")})${" FROM (SELECT 1 y) t)".repeat(60)}`,
  ],
  "queries WITH queries": [
    400,
    (n) =>
      `WITH ${Array.from({ length: n }, (_, i) => `c${i} AS (SELECT 1)`).join()} SELECT f(${
        list(n, "(WITH a AS (SELECT 1) SELECT 1)")
      })`,
  ],
  "stars of stars": [
    200,
    (n) =>
      `WITH c0 AS (SELECT ${list(1_600, "1")})${
        Array.from({ length: n }, (_, i) => `, c${i + 1} AS (SELECT * FROM c${i} x)`).join("")
      } SELECT 1`,
  ],
  "columns of a recursive query": [
    400,
    (n) => recursive(Array.from({ length: n }, (_, i) => `c${i} || 'x'`), n),
  ],
  "a chain of columns of a recursive query": [
    400,
    (n) => recursive(Array.from({ length: n }, (_, i) => `c${(i + 1) % n}`), n),
  ],
  "recursive queries": [
    30,
    (n) =>
      `WITH RECURSIVE ${
        Array.from({ length: n }, (_, i) => `r${i} AS (SELECT 'a' s UNION ALL SELECT s || 'b' FROM r${i})`)
          .join()
      } SELECT 1`,
  ],
  "columns of rounds side by side": [
    400,
    (n) =>
      `WITH RECURSIVE a AS (SELECT ${list(Math.floor(n / 2), "1")}), ` +
      `b AS (SELECT * FROM a UNION ALL SELECT b.* FROM b, b) SELECT 1`,
  ],
  "columns of rounds under one name": [
    400,
    (n) =>
      `WITH RECURSIVE a AS (SELECT ${list(Math.floor(n / 2), "1")}), ` +
      `b AS (SELECT * FROM a UNION ALL SELECT b.* FROM (SELECT * FROM b) AS b(${
        list(Math.floor(n / 2), "x")
      }), b AS c WHERE x = 1) SELECT 1`,
  ],
  comments: [5_000, (n) => `SELECT 1 ${"/**/".repeat(n)}`],
  numbers: [3_000, (n) => `SELECT 1 FROM t WHERE a IN (${list(n, "1234567")})`],
  calls: [4_000, (n) => `SELECT g(${list(n, "f(a)")})`],
  names: [2_000, (n) => `SELECT g(${Array.from({ length: n }, (_, i) => `f${i}(a)`).join()})`],
  chains: [6_000, (n) => `SELECT 1${"::a.on".repeat(n / 2)}`],
};

function recursive(round: readonly string[], columns: number): string {
  const start = Array.from({ length: columns }, (_, i) => `'a' c${i}`).join();
  return `WITH RECURSIVE r AS (SELECT ${start} UNION ALL SELECT ${round.join()} FROM r) SELECT 1 FROM r`;
}

function list(count: number, item: string): string {
  return Array(count).fill(item).join();
}

Deno.test("check() takes hardly more than four times as long for what is four times as long", async (t) => {
  // the engine translates what runs often, and what it has not translated yet takes ten times as long
  for (const [size, write] of Object.values(families)) {
    for (let round = 0; round < 3; round++) guard.check(write(size));
  }
  for (const [name, [size, write]] of Object.entries(families)) {
    await t.step(name, () => {
      const [small, large] = [write(size), write(4 * size)];
      assert.ok(large.length <= 100_000, `${large.length} characters`);
      // the least ratio counts: twice that of linear time, and half of quadratic time's
      const ratios: number[] = [];
      do ratios.push(ratioOf(small, large)); while (!(Math.min(...ratios) < 8) && ratios.length < 12);
      assert.ok(Math.min(...ratios) < 8, `${ratios.map((ratio) => ratio.toFixed(1))} times as long`);
    });
  }
});

/** Measured one right after the other, so that what else the machine does slows down both. */
function ratioOf(small: string, large: string): number {
  // what takes less than a few milliseconds has no ratio worth measuring
  return timeOf(large) / Math.max(5, timeOf(small));
}

function timeOf(sql: string): number {
  const before = performance.now();
  guard.check(sql);
  return performance.now() - before;
}
