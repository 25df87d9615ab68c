import assert from "node:assert/strict";
import { executeExplain, observePlan } from "../../../src/tool_server/tools/execute_explain.ts";
import { assertHas } from "../../support/assert_has.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { callTool, createToolFixture } from "../../support/tool_fixture.ts";
import { librarySchema } from "./library_schema.ts";

testWithPostgres("execute_explain shows the plan of a query", async (t) => {
  await using database = await createTestDatabase();
  await database.query(librarySchema);
  await database.query(
    "CREATE TABLE events AS SELECT n AS id, n % 1000 AS kind FROM generate_series(1, 20000) AS n; ANALYZE",
  );
  await using fixture = await createToolFixture({ library: { database } });
  const tool = executeExplain(fixture);

  await t.step("with real times and buffers, and what stands out", async () => {
    const { text, data } = await callTool(tool, { query: "SELECT * FROM events WHERE kind = 7;" });
    assert.match(text, /^EXPLAIN ANALYZE Results\n=+\n\nQuery: SELECT \* FROM events WHERE kind = 7;\n/m);
    assert.match(text, /Execution Plan:\n-+\n<data-[0-9a-f]{32}>\nSeq Scan on events .*\(actual time=/);
    assert.match(text, /Buffers: /);
    assert.match(text, /Analysis:\n-+\n- Sequential scan on events reads 20000 rows to keep 20/);
    assert.equal(data["analyze"], true);
  });

  await t.step("without running it", async () => {
    const { text } = await callTool(tool, { query: "SELECT * FROM books", analyze: false });
    assert.match(text, /^EXPLAIN Results$/m);
    assert.doesNotMatch(text, /actual time/);
  });

  await t.step("as JSON", async () => {
    const { data } = await callTool(tool, { query: "SELECT * FROM books", format: "json", buffers: false });
    assertHas(data["plan"], [{ Plan: { "Node Type": "Seq Scan" } }]);
  });

  await t.step("a fault points into the query, not into what was put before it", async () => {
    const { text, isError } = await callTool(tool, { query: "SELECT nope FROM books" });
    assert.equal(isError, true);
    assert.match(text, /Position: line 1, character 8\n {2}SELECT nope FROM books\n {9}\^/);
  });

  await t.step("a query that begins with EXPLAIN is told to leave it out", async () => {
    const { text, isError } = await callTool(tool, { query: " explain (ANALYZE) SELECT 1" });
    assert.equal(isError, true);
    assert.equal(
      text,
      "Cannot run the statement: it begins with EXPLAIN itself; send what follows, and options as arguments",
    );
  });

  const writes = [
    "DELETE FROM books",
    "INSERT INTO authors (name) VALUES ('x')",
    "WITH gone AS (DELETE FROM books RETURNING id) SELECT * FROM gone",
    "SELECT 1; DELETE FROM books",
    "CREATE TABLE x AS SELECT 1",
    "EXECUTE stmt",
  ];
  for (const query of writes) {
    await t.step(`${query} is not run by being explained`, async () => {
      assert.equal((await callTool(tool, { query })).isError, true);
      assert.deepEqual(await database.query("SELECT count(*) FROM books"), [["251"]]);
    });
  }
});

Deno.test("observePlan() sees a spill, a misestimate and a scan repeated for each row", () => {
  const plan = `Nested Loop  (cost=0.00..10.00 rows=1 width=4) (actual time=0.1..9.0 rows=5000 loops=1)
  ->  Sort  (cost=1.00..2.00 rows=5000 width=4) (actual time=0.1..9.0 rows=5000 loops=1)
        Sort Method: external merge  Disk: 2048kB
  ->  Seq Scan on lines  (cost=0.00..1.00 rows=1 width=4) (actual time=0.1..9.0 rows=1 loops=5000)
        Filter: (id = 1)
        Rows Removed by Filter: 99`;
  assert.deepEqual(observePlan(plan), [
    "Nested Loop was expected to give 1 rows and gave 5000; statistics may be stale (ANALYZE) or the condition hard to estimate",
    "Sort spilled 2 MiB to disk: work_mem is too small for it",
    "Sequential scan on lines ran 5000 times; an index on the joined column would help",
  ]);
});

Deno.test("observePlan() has nothing to say of a plan that is fine", () => {
  const plan =
    "Index Scan using a on b  (cost=0.1..8.1 rows=1 width=4) (actual time=0.01..0.02 rows=1 loops=1)";
  assert.deepEqual(observePlan(plan), []);
});
