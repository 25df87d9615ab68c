import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { readFingerprint } from "../../../src/postgres/catalog/catalog_fingerprint.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createCatalogCache } from "../../../src/postgres/catalog/catalog_cache.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import { pg } from "../../../src/postgres/connection.ts";
import { createEmbeddedServer } from "../../../src/postgres/embedded/embedded_server.ts";
import { planStatement } from "../../../src/postgres/read/explain.ts";
import { tableKey } from "../../../src/postgres/catalog/sample_values.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { request } from "../catalog/catalog_fixture.ts";

Deno.test("catalog, fingerprint, samples and plans work on the embedded server too", async () => {
  await using server = await createEmbeddedServer({
    dataDir: "memory",
    statementTimeoutMs: 60_000,
    logger: silentLogger,
    prepare: () => [
      "CREATE TABLE kinds (id int PRIMARY KEY, name text CHECK (name IN ('a', 'b')))",
      "CREATE TABLE things (id int, kind int REFERENCES kinds, state text DEFAULT 'new')",
      "INSERT INTO things SELECT n, NULL, 'used' FROM generate_series(1, 100) n",
    ],
  });
  await using pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
  const options = databaseOptions("postgres://postgres@embedded/postgres", { openStream: server.openStream });
  const database = createDatabase({
    options,
    pools,
    guard: await createStatementGuard(),
    logger: silentLogger,
  });
  const admin = new pg.Client({
    user: "postgres",
    database: "postgres",
    ssl: false,
    stream: () => server.openStream(),
  });
  admin.on("error", () => {});
  await admin.connect();

  using cache = createCatalogCache({
    prepare: (snapshot) => snapshot,
    samples: { excludedColumns: [] },
    now: () => performance.now(),
    logger: silentLogger,
    checkEveryMs: 0,
  });
  const first = await cache.get(database, request);
  const [kinds, things] = first.catalog.tables;
  assert.deepEqual(kinds?.columns[1]?.allowedValues, ["a", "b"]);
  assert.equal(things?.foreignKeys[0]?.targetTable, "kinds");
  assert.deepEqual(first.samples.get(tableKey("public", "things"))?.get("state"), ["used"]);
  assert.equal(await cache.get(database, request), first);

  const before = await readFingerprint(database, request);
  await admin.query("ANALYZE");
  assert.equal(await readFingerprint(database, request), before);
  await admin.query("ALTER TABLE kinds ADD COLUMN more int");
  assert.notEqual(await readFingerprint(database, request), before);
  const second = await cache.get(database, request);
  assert.deepEqual(second.catalog.tables[0]?.columns.map((column) => column.name), ["id", "name", "more"]);
  assert.deepEqual(second.samples.get(tableKey("public", "things"))?.get("state"), ["used"]);

  const plan = await planStatement(database, { ...request, sql: "SELECT * FROM things" });
  assert.equal(plan.ok && plan.estimate?.dearest.node, "Seq Scan on public.things");
  await admin.end();
});
