import assert from "node:assert/strict";
import { testWithPostgres } from "../../support/database.ts";
import { explainStatement, planStatement } from "../../../src/postgres/read/explain.ts";
import { createCatalogFixture, request } from "../catalog/catalog_fixture.ts";

const schema = `
  CREATE TABLE pay (tenant text, salary int);
  INSERT INTO pay SELECT 'acme', n FROM generate_series(1, 50) n;
  INSERT INTO pay SELECT 'globex', 1000 + n FROM generate_series(1, 5000) n;
  CREATE INDEX ON pay (salary);
  CREATE VIEW pay_of_owner AS SELECT * FROM pay;
  CREATE VIEW pay_of_caller WITH (security_invoker = on) AS SELECT * FROM pay;
  CREATE FUNCTION pay_of_function() RETURNS SETOF pay LANGUAGE sql STABLE AS 'SELECT * FROM pay';
  CREATE FUNCTION pay_in_plpgsql() RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT count(*) FROM pay); END';
  CREATE TABLE parts (tenant text, salary int) PARTITION BY LIST (tenant);
  CREATE TABLE parts_acme PARTITION OF parts FOR VALUES IN ('acme');
  INSERT INTO parts SELECT 'acme', n FROM generate_series(1, 50) n;
  CREATE TABLE asking (id int);
  CREATE TABLE open AS SELECT n AS id FROM generate_series(1, 5000) n;
  ALTER TABLE pay ENABLE ROW LEVEL SECURITY;
  CREATE POLICY own ON pay USING (tenant = 'acme');
  ALTER TABLE parts ENABLE ROW LEVEL SECURITY;
  CREATE POLICY own ON parts USING (tenant = 'acme');
  ALTER TABLE asking ENABLE ROW LEVEL SECURITY;
  CREATE POLICY own ON asking USING (EXISTS (SELECT FROM open WHERE open.id = asking.id));
  ANALYZE`;

async function createFixture() {
  await using opened = new AsyncDisposableStack();
  const fixture = opened.use(await createCatalogFixture(schema));
  const reader = await fixture.createRole("reader");
  await fixture.admin.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${reader}`);
  const held = fixture.connect({ user: reader });
  const kept = opened.move();
  return { fixture, reader, held, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const figures = /cost|rows|width|actual|(?<!one-)time|buffers|hit|loops|memory|wal|(?<!org\/)\b\d{3,}/i;

const spellings = [
  "EXPLAIN SELECT 1 FROM pay WHERE salary > 50",
  "explain analyze select 1 from pay",
  "EXPLAIN ANALYSE VERBOSE SELECT 1 FROM pay",
  "EXPLAIN VERBOSE SELECT 1 FROM pay",
  "EXPLAIN (ANALYZE, BUFFERS, TIMING, WAL, SUMMARY) SELECT 1 FROM pay",
  "EXPLAIN (ANALYZE OFF, SUMMARY ON) SELECT 1 FROM pay",
  "EXPLAIN (COSTS OFF, COSTS ON) SELECT 1 FROM pay",
  "EXPLAIN (COSTS 1) SELECT 1 FROM pay",
  "EXPLAIN (COSTS OFF, BUFFERS) SELECT 1 FROM pay",
  "EXPLAIN (COSTS FALSE, SUMMARY TRUE, FORMAT JSON) SELECT 1 FROM pay",
  `EXPLAIN ("costs" 'on', "analyze" 'on', FORMAT 'yaml') SELECT 1 FROM pay`,
  "EXPLAIN (FORMAT XML) SELECT 1 FROM pay",
  "/* EXPLAIN (COSTS OFF) */ EXPLAIN -- (COSTS OFF)\n /* ( */ SELECT 1 FROM pay",
  "EXPLAIN (SELECT 1 FROM pay)",
  "EXPLAIN ANALYZE (SELECT 1 FROM pay)",
  "EXPLAIN TABLE pay",
  "EXPLAIN VALUES ((SELECT max(salary) FROM pay))",
  "EXPLAIN WITH p AS MATERIALIZED (SELECT * FROM pay) SELECT 1 FROM p",
  "EXPLAIN SELECT 1 FROM pay_of_owner",
  "EXPLAIN SELECT 1 FROM pay_of_caller",
  "EXPLAIN SELECT 1 FROM pay_of_function()",
  "EXPLAIN ANALYZE SELECT pay_in_plpgsql()",
  "EXPLAIN SELECT 1 FROM parts",
  "EXPLAIN SELECT 1 FROM asking",
  "EXPLAIN SELECT 1 FROM open WHERE id IN (SELECT salary FROM pay)",
  // the planner takes it out, after it has asked
  "EXPLAIN SELECT 1 FROM open WHERE false AND id IN (SELECT salary FROM pay)",
];

testWithPostgres("EXPLAIN tells a caller whom row-level security holds no figures", async (t) => {
  await using f = await createFixture();
  for (const sql of spellings) {
    await t.step(sql, async () => {
      const result = await f.held.read({ ...request, sql });
      assert.ok(result.ok, JSON.stringify(result));
      const plan = result.rows.flat().join("\n");
      assert.doesNotMatch(plan, figures);
      assert.match(plan, /scan|result/i);
      const told = await f.fixture.database.read({ ...request, sql });
      assert.ok(told.ok && told.hidesFigures === undefined);
    });
  }
});

testWithPostgres(
  "EXPLAIN that hides its figures is refused where its options cannot be taken out",
  async () => {
    await using f = await createFixture();
    const sql = "/* a /* comment */ in a comment */ EXPLAIN ANALYZE SELECT 1 FROM pay";
    const refused = await f.held.read({ ...request, sql });
    assert.match(refused.ok ? "" : refused.error.message, /write EXPLAIN \(COSTS OFF\)$/);
    const told = await f.fixture.database.read({ ...request, sql });
    assert.match(String(told.ok && told.rows[0]), /actual time/);
    const plain = await f.held.read({ ...request, sql: sql.replace("ANALYZE", "(COSTS OFF)") });
    assert.deepEqual(plain.ok && [plain.rows[0], plain.hidesFigures], [["Seq Scan on pay"], undefined]);
  },
);

testWithPostgres("EXPLAIN tells whom no policy holds its figures, as before", async () => {
  await using f = await createFixture();
  const open = "EXPLAIN ANALYZE SELECT 1 FROM open";
  const read = await f.held.read({ ...request, sql: open });
  assert.match(String(read.ok && read.rows[0]), /cost=.*rows=5000.*actual time=/);
  // of a view, the owner is held, and the caller may not read the table itself
  await f.fixture.admin.query(`
    ALTER TABLE pay FORCE ROW LEVEL SECURITY; ALTER TABLE pay OWNER TO ${f.reader};
    CREATE VIEW theirs AS SELECT * FROM pay; ALTER VIEW theirs OWNER TO ${f.reader}`);
  const bypassing = await f.fixture.createRole("bypassing");
  await f.fixture.admin.query(
    `ALTER ROLE ${bypassing} BYPASSRLS; GRANT SELECT ON theirs, open TO ${bypassing}`,
  );
  const outside = f.fixture.connect({ user: bypassing });
  const plan = await outside.read({ ...request, sql: "EXPLAIN SELECT 1 FROM theirs" });
  assert.deepEqual(plan.ok && plan.hidesFigures, true);
  await f.fixture.admin.query(`GRANT SELECT ON pay TO ${bypassing}`);
  const all = await outside.read({ ...request, sql: "EXPLAIN SELECT 1 FROM pay" });
  assert.match(String(all.ok && all.rows[0]), /rows=5050/);
});

testWithPostgres("a plan without figures has no cost, and its errors point into the statement", async () => {
  await using f = await createFixture();
  const plan = await planStatement(f.held, { ...request, sql: "SELECT 1 FROM pay" });
  assert.deepEqual(plan, { ok: true });
  const sql = "SELECT tenant,\n salaryy FROM pay";
  const errors = await Promise.all([
    explainStatement(f.held, { ...request, sql, options: ["ANALYZE"] }),
    f.held.read({ ...request, sql: `EXPLAIN ANALYZE ${sql}` }),
  ]);
  const places = errors.map((each) => each.ok ? [] : [each.error.position, each.error.line]);
  assert.deepEqual(places, [[17, 2], [33, 2]]);
});
