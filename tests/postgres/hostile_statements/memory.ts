import { type HostileStatement, named } from "./hostile_statement.ts";

const nest = (depth: number, expression: string, innermost = "SELECT 1 AS a") => {
  let sql = innermost;
  for (let level = 0; level < depth; level++) sql = `SELECT ${expression} AS a FROM (${sql}) t${level}`;
  return sql;
};

const chain = (depth: number, kind: string, first: string, next: (before: string) => string) => {
  const ctes = Array.from(
    { length: depth },
    (_, level) => `c${level} AS ${kind} (${level === 0 ? first : next(`c${level - 1}`)})`,
  );
  return `WITH ${ctes.join(", ")} SELECT length(a::text) FROM c${depth - 1}`;
};

/** Short statements that would take gigabytes, or minutes in which no timeout counts. */
export const memory: readonly HostileStatement[] = [
  ...named([
    "select repeat(repeat(repeat('x',1000),1000),1000)",
    "SELECT length(repeat(repeat('x', 100000), 10000))",
    "SELECT repeat('x', 1000000000)",
    "SELECT repeat('x', 1e9::int)",
    "SELECT repeat('x', 1000 * 1000 * 1000)",
    "SELECT repeat('x', '1000000000')",
    "SELECT repeat('x', n) FROM (VALUES (1000000000)) v (n)",
    "SELECT repeat('x', n) FROM (SELECT 1000000000 AS n) v",
    "SELECT repeat('x', n * n) FROM (SELECT 30000 AS n) v",
    "SELECT repeat('x', column1) FROM (VALUES (1000000000)) v",
    "SELECT repeat('x', (SELECT 1000000000))",
    "SELECT repeat('x', abs(hashtext('abc')))",
    "SELECT repeat('x', CASE WHEN true THEN 1000000000 ELSE id END) FROM orders",
    "SELECT repeat('x', coalesce(1000000000, id::int)) FROM orders",
    "SELECT repeat('x', g) FROM generate_series(1000000000, 1000000001) g",
    "SELECT repeat('x', unnest) FROM unnest(ARRAY[1000000000])",
    "SELECT repeat(repeat('x', id::int), 1000) FROM orders",
    "SELECT repeat('x', id::int), repeat('y', id::int) FROM orders",
    "SELECT lpad('x', 1000000000)",
    "SELECT rpad(lpad('x', 1000000), 1000000000, 'y')",
    "SELECT format('%1000000000s', 'x')",
    "SELECT format('%*s', 1000000000, 'x')",
    "SELECT format('%' || '1000000000s', 'x')",
    "SELECT array_fill(0, ARRAY[100000000])",
    "SELECT array_fill('x'::text, ARRAY[10000, 10000])",
    "SELECT array_fill(0, ARRAY[n]) FROM (VALUES (100000000)) v (n)",
    "SELECT 'x'::char(10000000)",
    "SELECT bpchar('x'::bpchar, 1000000000, true)",
    "SELECT polygon(60000000, circle '((0,0),1)')",
    "SELECT overlay(repeat('x', 1000000000) PLACING 'y' FROM 1)",
    "WITH RECURSIVE r (s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r) SELECT max(length(s)) FROM r",
    "WITH RECURSIVE r (s) AS (SELECT 'x' UNION ALL SELECT concat(s, s) FROM r) SELECT max(length(s)) FROM r",
    "WITH RECURSIVE r (s) AS (SELECT 'x' UNION ALL SELECT replace(s, 'x', 'xx') FROM r) SELECT max(length(s)) FROM r",
    "WITH RECURSIVE r (s) AS (SELECT ARRAY[1] UNION ALL SELECT s || s FROM r) SELECT max(cardinality(s)) FROM r",
  ]),
  {
    name: "replace() in itself",
    sql: `SELECT length(${"replace(".repeat(9)}'xxxxxxxxxx'${",'x','xxxxxxxxxx')".repeat(9)})`,
  },
  {
    name: "format() with one argument many times",
    sql: `SELECT ${"format('%1$s%1$s%1$s%1$s', ".repeat(15)}'x'${")".repeat(15)}`,
  },
  {
    name: "quote_literal() in itself",
    sql: `SELECT length(${"quote_literal(".repeat(28)}''''${")".repeat(28)})`,
  },
  { name: "rows in rows as text", sql: `SELECT ${"(ROW(".repeat(30)}'"'${")::text)".repeat(30)}` },
  { name: "forty wide bit strings", sql: `SELECT ${Array(40).fill("B'1'::bit(83886080)").join(", ")}` },
  {
    name: "500 long powers",
    sql: `SELECT ${Array(500).fill("length(power(7::numeric, 150000)::text)").join("+")}`,
  },
  { name: "subqueries that double an expression", sql: nest(24, "a + a") },
  { name: "the same with CASE", sql: nest(20, "CASE WHEN a > 1 THEN a ELSE a END") },
  { name: "the same with text", sql: nest(27, "a || a", "SELECT 'x' AS a") },
  {
    name: "the same with an unnamed column",
    sql: 'SELECT "?column?" + "?column?" FROM ('.repeat(24) + "SELECT 1 + 1" + ") t".repeat(24),
  },
  {
    name: "the same through common table expressions",
    sql: chain(24, "", "SELECT 1 AS a", (c) => `SELECT a + a AS a FROM ${c}`),
  },
  {
    name: "materialized, the values double",
    sql: chain(28, "MATERIALIZED", "SELECT 'xxxxxxxxxx' AS a", (c) => `SELECT a || a AS a FROM ${c}`),
  },
  {
    name: "not materialized, the tables double",
    sql: chain(
      14,
      "NOT MATERIALIZED",
      "SELECT 1 AS a FROM pg_class",
      (c) => `SELECT x.a FROM ${c} x, ${c} y`,
    ),
  },
];
