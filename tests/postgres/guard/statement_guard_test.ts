import assert from "node:assert/strict";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";

const guard = await createStatementGuard();

Deno.test("check() says what kind of read a statement is", () => {
  for (
    const [sql, kind] of [
      ["SELECT 1", "select"],
      ["VALUES (1)", "select"],
      ["TABLE t", "select"],
      ["WITH a AS (SELECT 1) SELECT * FROM a", "select"],
      ["EXPLAIN SELECT 1", "explain"],
      ["SHOW ALL", "show"],
    ] as const
  ) {
    const result = guard.check(sql);
    assert.equal(result.ok && result.kind, kind, sql);
  }
});

Deno.test("check() gives a reason that tells what to write instead", () => {
  const reasons: [string, string][] = [
    ["", "there is no statement; write a SELECT"],
    ["SELECT 1; SELECT 2", "there is more than one statement; send one at a time"],
    [
      "DELETE FROM t",
      "DELETE is not a read; only SELECT, VALUES, TABLE, WITH of those, EXPLAIN and SHOW run here",
    ],
    [
      "CREATE TABLE t AS SELECT 1",
      "CREATE TABLE AS is not a read; only SELECT, VALUES, TABLE, WITH of those, EXPLAIN and SHOW run here",
    ],
    ["SELECT 1 INTO t", "SELECT INTO makes a table; leave out INTO and the rows are returned"],
    ["SELECT 1 FROM t FOR UPDATE", "FOR UPDATE and FOR SHARE lock rows; leave the clause out"],
    ["SELECT $1", "parameters such as $1 have no value here; write the value itself"],
    [
      "SELECT nextval('s')",
      "nextval() is not allowed: it changes a sequence; read last_value from the sequence instead",
    ],
    ["SELECT pg_sleep(x)", "pg_sleep() is not allowed without a plain number of seconds; write pg_sleep(1)"],
    [
      "EXPLAIN DELETE FROM t",
      "DELETE is not a read; only SELECT, VALUES, TABLE, WITH of those, EXPLAIN and SHOW run here",
    ],
    [
      "SELECT repeat(repeat('a', n), 1000) FROM t",
      "repeat() repeats a value that may be long in every row or grow with the rows; repeat it less, or a shorter value",
    ],
    [
      "SELECT repeat('a', 100000)",
      "the count of repeat() has no bound, or makes a value longer than 65536 characters; write least(count, 100)",
    ],
    [
      "WITH RECURSIVE r (s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r) SELECT s FROM r",
      "a recursive query doubles a value in every round, because it uses a column twice or more for the next value; add to it instead (path || id), or keep its parts in separate columns",
    ],
    [
      "SELECT array_agg(a) && array_agg(b) FROM t",
      "&& compares two values that are collected from rows (as string_agg, array_agg or ARRAY(SELECT …) do) or otherwise long, which may take hours, and no timeout stops it; compare the rows themselves before collecting them (a join, WHERE EXISTS), or collect with DISTINCT",
    ],
  ];
  for (const [sql, reason] of reasons) {
    const result = guard.check(sql);
    assert.equal(result.ok ? "accepted" : result.reason, reason, sql);
  }
});

Deno.test("check() lets parameters through only where there are values for them", () => {
  const cases: [string, number, string][] = [
    ["SELECT name FROM t WHERE id = $1 AND made >= $2::date LIMIT $3", 3, "accepted"],
    ["SELECT round(avg(total), $1) FROM t WHERE made > now() - make_interval(days => $2)", 2, "accepted"],
    ["SELECT * FROM t WHERE a = $1 OR b ILIKE '%' || $1 || '%'", 1, "accepted"],
    ["SELECT $2", 1, "$2 has no value here; there are values up to $1"],
    ["SELECT $0", 1, "$0 has no value here; there are values up to $1"],
    ["SELECT $1", 0, "parameters such as $1 have no value here; write the value itself"],
    [
      "SELECT pg_sleep($1)",
      1,
      "pg_sleep() is not allowed without a plain number of seconds; write pg_sleep(1)",
    ],
    [
      "SELECT repeat('a', $1)",
      1,
      "the count of repeat() has no bound, or makes a value longer than 65536 characters; write least(count, 100)",
    ],
    ["SELECT repeat('a', least($1, 100))", 1, "accepted"],
    [
      "DELETE FROM t WHERE id = $1",
      1,
      "DELETE is not a read; only SELECT, VALUES, TABLE, WITH of those, EXPLAIN and SHOW run here",
    ],
  ];
  for (const [sql, length, expected] of cases) {
    const result = guard.check(sql, { parameters: { length } });
    assert.equal(result.ok ? "accepted" : result.reason, expected, sql);
  }
});

Deno.test("check() counts positions in characters, from 1", () => {
  const places: [string, number][] = [
    ["SELECT frm x FROM FROM", 19],
    ["SELECT 'é', '😀' FROM FROM", 22],
    ["SELECT 'é😀', pg_read_file('x')", 14],
    ["SELECT pg_ls_dir('.')", 8],
    ["SELECT 1,\n  $1", 13],
  ];
  for (const [sql, position] of places) {
    const result = guard.check(sql);
    assert.equal(result.ok ? undefined : result.position, position, sql);
  }
});

Deno.test("check() passes on PostgreSQL's own words on a syntax error", () => {
  assert.deepEqual(guard.check("SELECT * FRM t"), {
    ok: false,
    rule: "grammar",
    reason: 'syntax error at or near "FRM"',
    sqlState: "42601",
    position: 10,
  });
});

Deno.test("check() names everything that could make a function run", () => {
  const result = guard.check(
    `SELECT o.total, (o).x, s.f(a::my.kind), n BETWEEN 1 AND 2, b |+| c, "Odd"('x'), ARRAY[e]
     FROM shop.orders o TABLESAMPLE sampler(1) JOIN other USING (id) ORDER BY d USING <#`,
  );
  assert.ok(result.ok);
  const names = result.names.map(({ kind, schema, name }) =>
    `${kind} ${schema === undefined ? "" : schema + "."}${name}`
  );
  assert.deepEqual(names.sort(), [
    "column a",
    "column b",
    "column c",
    "column d",
    "column e",
    "column id",
    "column n",
    "column o",
    "column x",
    "field x",
    "function Odd",
    "function s.f",
    "function sampler",
    "listed o",
    "listed total",
    "operator <#",
    "operator <=",
    "operator =",
    "operator >=",
    "operator |+|",
    "relation other",
    "relation shop.orders",
    "row Odd",
    "row s.f",
    "row shop.orders",
    "row_field total",
    "type Odd",
    "type my.kind",
    "type s.f",
    "type x",
    "use array",
    "use join",
    "use sort",
  ]);
});

Deno.test("check() tells columns that are only listed from others, and what sorts, joins or collects", () => {
  for (
    const [sql, expected] of [
      ["SELECT a FROM t", "listed a"],
      ["SELECT a AS x FROM t", "column a"],
      ["SELECT a FROM (SELECT b FROM t) s", "column b, listed a"],
      ["SELECT a FROM t ORDER BY b", "column b, listed a, use sort"],
      ["SELECT a FROM t ORDER BY 1", "column a, use sort"],
      ["SELECT a FROM t, s", "listed a, use join"],
      ["SELECT sum(1) OVER () FROM t", "use sort"],
      ["SELECT array_agg(b ORDER BY b) FROM t", "column b, use sort"],
    ] as const
  ) {
    const result = guard.check(sql);
    assert.ok(result.ok, sql);
    const told = result.names.filter(({ kind }) => ["column", "listed", "use"].includes(kind));
    assert.equal(told.map(({ kind, name }) => `${kind} ${name}`).sort().join(", "), expected, sql);
  }
});

Deno.test("check() names functions that only an older server's grammar would see as such", () => {
  const result = guard.check(
    "SELECT json_value('{}', '$.a'), t.* FROM json_table('[]', '$' COLUMNS (a int PATH '$')) t",
  );
  assert.ok(result.ok);
  const functions = result.names.filter(({ kind }) => kind === "function").map(({ name }) => name);
  assert.deepEqual(functions.sort(), ["json_exists", "json_query", "json_table", "json_value"]);
});

Deno.test("check() tells how long a statement asks to sleep", () => {
  for (const [sql, sleepMs] of [["SELECT pg_sleep(2), pg_sleep(1.5)", 2_000], ["SELECT 1", 0]] as const) {
    const result = guard.check(sql);
    assert.equal(result.ok && result.sleepMs, sleepMs);
  }
});

Deno.test("check() takes the type that a function is told as a cast to it", () => {
  const casts: [string, string[] | undefined][] = [
    ["'Integer'", ["integer"]],
    ["'my.kind(3)[]'", ["my.kind"]],
    ["'double precision'", []],
    ["'timestamp with time zone'", []],
    ["'\"Odd\"'", undefined],
    ["'a' || 'b'", undefined],
    ["t.kind", undefined],
  ];
  for (const [argument, types] of casts) {
    const result = guard.check(`SELECT pg_input_is_valid('5', ${argument})`);
    const named = result.ok ? result.names.filter(({ kind }) => kind === "type").slice(1) : undefined;
    assert.deepEqual(
      named?.map(({ schema, name }) => (schema === undefined ? "" : schema + ".") + name),
      types,
      argument,
    );
  }
});

Deno.test("check() takes a text of the longest length, and none that is longer", () => {
  assert.ok(guard.check(`SELECT ${"1".repeat(100_000 - 7)}`).ok);
  assert.ok(!guard.check(`SELECT ${"1".repeat(100_000 - 6)}`).ok);
});

Deno.test("no statement reads the schema in which servers keep sessions and keys", async () => {
  const guard = await createStatementGuard();
  for (
    const sql of [
      "SELECT * FROM postern_state.records",
      'SELECT 1 WHERE EXISTS (SELECT FROM "postern_state"."clock")',
      "WITH a AS (SELECT value FROM Postern_State.records) SELECT * FROM a",
      "EXPLAIN SELECT * FROM postern_state.usage",
    ]
  ) {
    const result = guard.check(sql);
    assert.ok(!result.ok && /postern_state holds sessions and keys/.test(result.reason), sql);
  }
  assert.ok(guard.check("SELECT 'postern_state.records'").ok);
});
