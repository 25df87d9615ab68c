import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { readCatalogState } from "../../../src/postgres/catalog/catalog.ts";
import { readFingerprint } from "../../../src/postgres/catalog/catalog_fingerprint.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { startCluster, testWithCluster } from "../../support/postgres_cluster.ts";
import { createCatalogFixture, request } from "./catalog_fixture.ts";

const schema = `
  CREATE SCHEMA shop;
  CREATE TYPE mood AS ENUM ('good', 'bad');
  CREATE DOMAIN grade AS text CHECK (VALUE IN ('a', 'b'));
  CREATE TABLE shop.customers (id int PRIMARY KEY, name text DEFAULT 'x', mood mood, grade grade);
  CREATE TABLE shop.orders (id int, customer int, at date) PARTITION BY RANGE (at);
  CREATE TABLE shop.loose (id int, customer int, at date);
  CREATE VIEW shop.names AS SELECT id, name FROM shop.customers;
  CREATE MATERIALIZED VIEW shop.totals AS SELECT count(*) AS n FROM shop.customers;
  CREATE INDEX customers_name ON shop.customers (name)`;

const changes = [
  "CREATE TABLE shop.fresh (id int)",
  "ALTER TABLE shop.fresh RENAME TO older",
  "ALTER TABLE shop.older SET SCHEMA public",
  "DROP TABLE public.older",
  "ALTER SCHEMA shop RENAME TO store",
  "ALTER SCHEMA store RENAME TO shop",
  "CREATE VIEW shop.v AS SELECT 1 AS a",
  "CREATE OR REPLACE VIEW shop.v AS SELECT 1 AS a, 2 AS b",
  "ALTER VIEW shop.v RENAME COLUMN b TO c",
  "DROP VIEW shop.v",
  "ALTER TABLE shop.customers ADD COLUMN extra int",
  "ALTER TABLE shop.customers RENAME COLUMN extra TO other",
  "ALTER TABLE shop.customers ALTER COLUMN other TYPE bigint",
  "ALTER TABLE shop.customers ALTER COLUMN other SET NOT NULL",
  "ALTER TABLE shop.customers ALTER COLUMN other SET DEFAULT 1",
  "ALTER TABLE shop.customers ALTER COLUMN other SET DEFAULT 2",
  "ALTER TABLE shop.customers DROP COLUMN other",
  "ALTER TABLE shop.customers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY",
  "COMMENT ON TABLE shop.customers IS 'one'",
  "COMMENT ON TABLE shop.customers IS 'two'",
  "COMMENT ON COLUMN shop.customers.name IS 'three'",
  "COMMENT ON COLUMN shop.names.name IS 'four'",
  "COMMENT ON TABLE shop.customers IS NULL",
  "ALTER TYPE mood ADD VALUE 'odd'",
  "ALTER TYPE mood RENAME VALUE 'odd' TO 'even'",
  "ALTER TYPE mood RENAME TO temper",
  "ALTER DOMAIN grade ADD CONSTRAINT short CHECK (length(VALUE) = 1)",
  "ALTER DOMAIN grade DROP CONSTRAINT short",
  "ALTER TABLE shop.customers ADD CONSTRAINT listed CHECK (name IN ('x', 'y')) NOT VALID",
  "ALTER TABLE shop.customers VALIDATE CONSTRAINT listed",
  "ALTER TABLE shop.customers DROP CONSTRAINT listed",
  "ALTER TABLE shop.loose ADD FOREIGN KEY (customer) REFERENCES shop.customers",
  "ALTER TABLE shop.orders ATTACH PARTITION shop.loose FOR VALUES FROM ('2020-01-01') TO ('2021-01-01')",
  "ALTER TABLE shop.orders DETACH PARTITION shop.loose",
  "CREATE UNIQUE INDEX loose_id ON shop.loose (id)",
  "ALTER INDEX shop.loose_id RENAME TO loose_key",
  "DROP INDEX shop.loose_key",
  "ALTER TABLE shop.customers ENABLE ROW LEVEL SECURITY",
  "ALTER TABLE shop.customers DISABLE ROW LEVEL SECURITY",
];

testWithPostgres("the fingerprint changes with every statement that changes the catalog", async (t) => {
  await using fixture = await createCatalogFixture(schema);
  let before = await readFingerprint(fixture.database, request);
  for (const sql of changes) {
    await t.step(sql, async () => {
      await fixture.admin.query(sql);
      const after = await readFingerprint(fixture.database, request);
      assert.notEqual(after, before);
      before = after;
    });
  }
});

testWithPostgres(
  "the fingerprint changes with the role's rights, however they are given and taken",
  async (t) => {
    await using fixture = await createCatalogFixture(schema);
    const reader = await fixture.createRole("reader");
    const team = await fixture.createRole("team");
    const department = await fixture.createRole("department");
    const database = fixture.connect({ user: reader });
    let before = await readFingerprint(database, request);
    const rights = [
      `GRANT USAGE ON SCHEMA shop TO ${reader}`,
      `GRANT SELECT ON shop.customers TO ${reader}`,
      `REVOKE SELECT ON shop.customers FROM ${reader}`,
      `GRANT SELECT (id) ON shop.customers TO ${reader}`,
      `REVOKE SELECT (id) ON shop.customers FROM ${reader}`,
      `GRANT SELECT ON shop.names TO PUBLIC`,
      `GRANT SELECT ON ALL TABLES IN SCHEMA shop TO ${department}`,
      `GRANT ${team} TO ${reader}`,
      `GRANT ${department} TO ${team}`,
      `REVOKE ${department} FROM ${team}`,
      `REVOKE ${team} FROM ${reader}`,
      `GRANT pg_read_all_data TO ${reader}`,
      `REVOKE pg_read_all_data FROM ${reader}`,
      `ALTER TABLE shop.customers OWNER TO ${reader}`,
      `ALTER TABLE shop.customers OWNER TO ${team}`,
      `REVOKE USAGE ON SCHEMA shop FROM ${reader}`,
      `ALTER ROLE ${reader} BYPASSRLS`,
      `ALTER ROLE ${reader} SUPERUSER`,
      `ALTER ROLE ${reader} NOSUPERUSER`,
    ];
    for (const sql of rights) {
      await t.step(sql.replaceAll(fixture.admin.name, "test"), async () => {
        await fixture.admin.query(sql);
        const after = await readFingerprint(database, request);
        assert.notEqual(after, before);
        before = after;
      });
    }
  },
);

const noise = [
  "INSERT INTO shop.customers (id) SELECT generate_series(1, 5000)",
  "ANALYZE",
  "UPDATE shop.customers SET name = 'y'; DELETE FROM shop.customers WHERE id > 100",
  "VACUUM shop.customers",
  "VACUUM FULL shop.customers",
  "VACUUM FREEZE",
  "VACUUM FULL pg_constraint",
  "CLUSTER shop.customers USING customers_name",
  "REINDEX TABLE shop.customers",
  "REFRESH MATERIALIZED VIEW shop.totals",
  "TRUNCATE shop.customers",
  "CREATE TEMP TABLE scratch (id serial PRIMARY KEY, note text DEFAULT 'x' CHECK (note <> ''), mood mood); " +
  "COMMENT ON TABLE scratch IS 'x'",
  "BEGIN; CREATE TABLE shop.never (id int); ROLLBACK",
  "SELECT lo_create(0)",
];

testWithPostgres("the fingerprint stays as it is while the catalog does", async (t) => {
  await using fixture = await createCatalogFixture(schema);
  const reader = fixture.connect({ user: await fixture.createRole("reader") });
  const before = [await readFingerprint(fixture.database, request), await readFingerprint(reader, request)];
  assert.notEqual(before[0], before[1]);
  // temporary tables last as long as it
  const session = await fixture.open();
  for (const sql of noise) {
    await t.step(sql, async () => {
      await session.query(sql);
      const after = [
        await readFingerprint(fixture.database, request),
        await readFingerprint(reader, request),
      ];
      assert.deepEqual(after, before);
    });
  }
  await t.step("another role that comes, joins and goes", async () => {
    const [other, group] = [await fixture.createRole("other"), await fixture.createRole("group")];
    await fixture.admin.query(`GRANT ${group} TO ${other}`);
    assert.equal(await readFingerprint(reader, request), before[1]);
    assert.equal(await readFingerprint(fixture.database, request), before[0]);
  });
});

testWithPostgres(
  "the fingerprint sees a change that began before others and was committed last",
  async () => {
    await using fixture = await createCatalogFixture("CREATE TABLE a (id int); CREATE TABLE b (id int)");
    const early = await fixture.open();
    await early.query("BEGIN; ALTER TABLE a RENAME COLUMN id TO early");
    await fixture.admin.query("ALTER TABLE b RENAME COLUMN id TO late");
    const before = await readFingerprint(fixture.database, request);
    await early.query("COMMIT");
    assert.notEqual(await readFingerprint(fixture.database, request), before);
  },
);

testWithPostgres("the fingerprint is read while a migration is under way", async () => {
  await using fixture = await createCatalogFixture("CREATE TABLE a (id int)");
  const before = await readFingerprint(fixture.database, request);
  const migration = await fixture.open();
  await migration.query("BEGIN; ALTER TABLE a ADD COLUMN b int; LOCK TABLE a");
  assert.equal(await readFingerprint(fixture.database, request), before);
  await migration.query("COMMIT");
  assert.notEqual(await readFingerprint(fixture.database, request), before);
});

testWithCluster("the fingerprint is read on a standby", async () => {
  await using cluster = await startCluster();
  await cluster.query("CREATE TABLE a (id int)");
  await cluster.becomeStandby();
  await using pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
  const options = databaseOptions(`postgres://postgres@localhost/postgres`, {
    hosts: [{ host: cluster.socketFolder, port: cluster.port }],
  });
  const database = createDatabase({
    options,
    pools,
    guard: await createStatementGuard(),
    logger: silentLogger,
  });
  const { catalog, fingerprint } = await readCatalogState(database, request);
  assert.deepEqual(catalog.tables.map((table) => table.name), ["a"]);
  assert.equal(await readFingerprint(database, request), fingerprint);
});
