import assert from "node:assert/strict";
import { planStatement } from "../../../src/postgres/read/explain.ts";
import { testWithPostgres } from "../../support/database.ts";
import { createCatalogFixture, request } from "../catalog/catalog_fixture.ts";

const schema = `
  CREATE TABLE events AS SELECT n AS id, n % 1000 AS kind FROM generate_series(1, 50000) n;
  CREATE TABLE kinds (id int PRIMARY KEY, name text);
  INSERT INTO kinds SELECT n, 'kind ' || n FROM generate_series(0, 999) n;
  ANALYZE`;

testWithPostgres("planStatement() tells cost, rows and the dearest step", async (t) => {
  await using fixture = await createCatalogFixture(schema);
  const plan = async (sql: string) => {
    const read = await planStatement(fixture.database, { ...request, sql });
    assert.ok(read.ok && read.estimate, JSON.stringify(read));
    return read.estimate;
  };

  await t.step("of a scan with a filter", async () => {
    const { totalCost, rows, dearest } = await plan("SELECT * FROM events WHERE kind = 7;");
    assert.equal(dearest.node, "Seq Scan on public.events");
    assert.equal(dearest.filter, "(events.kind = 7)");
    assert.equal(dearest.cost, totalCost);
    assert.equal(dearest.rows, rows);
    assert.ok(totalCost > 500 && rows > 10 && rows < 200);
  });

  await t.step("of a join that multiplies", async () => {
    const { totalCost, dearest } = await plan("SELECT 1 FROM events a, events b WHERE a.id <> b.kind");
    assert.equal(dearest.node, "Nested Loop");
    assert.ok(dearest.cost > totalCost * 0.9);
  });

  await t.step("of a scan that a LIMIT cuts short, as short as it is", async () => {
    const { totalCost, dearest } = await plan("SELECT * FROM events LIMIT 1");
    assert.equal(dearest.node, "Seq Scan on public.events");
    assert.ok(dearest.cost <= totalCost && totalCost < 1);
  });

  await t.step("of an index scan and a function", async () => {
    assert.equal(
      (await plan("SELECT * FROM kinds WHERE id = 5")).dearest.node,
      "Index Scan using kinds_pkey on public.kinds",
    );
    assert.equal(
      (await plan("SELECT generate_series FROM generate_series(1, 100000)")).dearest.node,
      "Function Scan on pg_catalog.generate_series",
    );
  });

  await t.step("without running it", async () => {
    await plan("SELECT 1 / (id - id) FROM events");
  });
});

testWithPostgres("planStatement() tells where in the statement it fails", async (t) => {
  await using fixture = await createCatalogFixture(schema, { statementTimeoutMs: 5_000 });
  const error = async (sql: string) => {
    const read = await planStatement(fixture.database, { ...request, sql });
    assert.ok(!read.ok);
    return read.error;
  };

  await t.step("a column that does not exist", async () => {
    assert.deepEqual(await error("SELECT 'é',\n  knid FROM events"), {
      kind: "failed",
      message: 'column "knid" does not exist',
      sqlState: "42703",
      position: 15,
      line: 2,
      hint: 'Perhaps you meant to reference the column "events.id" or the column "events.kind".',
    });
  });

  await t.step("bad grammar", async () => {
    assert.deepEqual(await error("SELEC 1"), {
      kind: "failed",
      message: 'syntax error at or near "SELEC"',
      sqlState: "42601",
      position: 1,
      line: 1,
    });
  });

  for (
    const sql of [
      "DELETE FROM events",
      "ANALYZE SELECT 1",
      "(ANALYZE) SELECT 1",
      "EXPLAIN ANALYZE SELECT 1",
      "SELECT 1; DELETE FROM events",
      "SELECT pg_read_file('x')",
      "SELECT pg_sleep(60)",
      "",
    ]
  ) {
    await t.step(`"${sql}" is not planned`, async () => {
      const { kind, position = 1 } = await error(sql);
      assert.match(kind, /refused|failed/);
      assert.ok(position >= 1 && position <= sql.length + 1);
    });
  }
});

testWithPostgres("planStatement() plans nothing that the role may not read", async () => {
  await using fixture = await createCatalogFixture(schema);
  const database = fixture.connect({ user: await fixture.createRole("reader") });
  const read = await planStatement(database, { ...request, sql: "SELECT * FROM events" });
  assert.equal(read.ok ? "" : read.error.message, "permission denied for table events");
});
