import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";

/** A database that is read over one connection, by statements that it keeps. */
async function createFixture(changes: Partial<DatabaseOptions> = {}) {
  const admin = await createTestDatabase();
  const pools = createConnectionPools({ maxConnections: 1, logger: silentLogger });
  const guard = await createStatementGuard();
  const options = databaseOptions(admin.url, changes);
  const database = createDatabase({ options, pools, guard, logger: silentLogger });
  const { signal } = new AbortController();
  const read = (
    sql: string,
    parameters: readonly string[] = [],
    isKept = true,
    settings: Readonly<Record<string, string>> = {},
  ) =>
    database.read({ principal: { kind: "local" }, trusted: true, signal, sql, parameters, isKept, settings });
  return {
    admin,
    /** The rows, or PostgreSQL's message. */
    async ask(sql: string, ...parameters: string[]) {
      const result = await read(sql, parameters);
      return result.ok ? result.rows : result.error.message;
    },
    /** The message where the transaction of a kept statement cannot begin. */
    async askInVain(sql: string, ...parameters: string[]) {
      const result = await read(sql, parameters, true, { work_mem: "none" });
      return result.ok ? result.rows : result.error.message;
    },
    async kept(): Promise<readonly (readonly (string | null)[])[]> {
      const result = await read(
        "SELECT name, statement, generic_plans + custom_plans FROM pg_prepared_statements ORDER BY prepare_time",
        [],
        false,
      );
      return result.ok ? result.rows : [];
    },
    deallocate: () => read("DEALLOCATE ALL", [], false),
    async [Symbol.asyncDispose]() {
      await pools.close();
      await admin[Symbol.asyncDispose]();
    },
  };
}

testWithPostgres("a kept statement is parsed once for a connection", async () => {
  await using fixture = await createFixture();
  const sum = "SELECT $1::int + $2::int";
  assert.deepEqual(await fixture.ask(sum, "1", "2"), [["3"]]);
  assert.deepEqual(await fixture.ask(sum, "20", "22"), [["42"]]);
  const [[name, ...rest] = [], ...others] = await fixture.kept();
  assert.match(name ?? "", /^postern_[0-9a-f]{32}$/);
  assert.deepEqual(rest, [sum, "2"]);
  assert.deepEqual(others, []);
});

testWithPostgres("a connection keeps eight statements, those that were asked for last", async () => {
  await using fixture = await createFixture();
  const texts = Array.from({ length: 10 }, (_, at) => `SELECT $1::int + ${at}`);
  const [first = ""] = texts;
  for (const [at, text] of texts.entries()) {
    assert.deepEqual(await fixture.ask(text, "1"), [[String(1 + at)]]);
    assert.deepEqual(await fixture.ask(first, "5"), [["5"]]);
  }
  const kept = (await fixture.kept()).map(([, statement]) => statement);
  assert.deepEqual(kept.toSorted(), [first, ...texts.slice(-7)].toSorted());
});

testWithPostgres("a connection keeps eight statements where transactions cannot begin", async () => {
  await using fixture = await createFixture();
  const texts = Array.from({ length: 11 }, (_, at) => `SELECT $1::int + ${at}`);
  for (const text of texts.slice(0, 8)) await fixture.ask(text, "1");
  for (const text of texts.slice(8)) assert.match(String(await fixture.askInVain(text, "1")), /work_mem/);
  for (const text of texts.slice(8)) await fixture.ask(text, "1");
  const kept = (await fixture.kept()).map(([, statement]) => statement);
  assert.deepEqual(kept.toSorted(), texts.slice(-8).toSorted());
  const [first = ""] = texts.slice(-8);
  assert.match(String(await fixture.askInVain(first, "1")), /work_mem/);
  assert.deepEqual(await fixture.ask(first, "1"), [["4"]]);
  assert.equal((await fixture.kept()).length, 8);
});

testWithPostgres("a kept statement that fails is prepared anew", async () => {
  await using fixture = await createFixture();
  const division = "SELECT 10 / $1::int";
  assert.equal(await fixture.ask(division, "0"), "division by zero");
  assert.deepEqual(await fixture.ask(division, "5"), [["2"]]);
  assert.match(String(await fixture.ask("SELECT * FROM items")), /relation "items" does not exist/);
  await fixture.admin.query("CREATE TABLE items AS SELECT 1 AS id");
  assert.deepEqual(await fixture.ask("SELECT * FROM items"), [["1"]]);
});

testWithPostgres("a kept statement fits what it reads, however that changes", async () => {
  await using fixture = await createFixture();
  const { admin, ask } = fixture;
  const [items, mood] = ["SELECT * FROM items", "SELECT $1::mood::text"];
  await admin.query("CREATE TABLE items AS SELECT 1 AS id; CREATE TYPE mood AS ENUM ('calm')");
  assert.deepEqual([await ask(items), await ask(mood, "calm")], [[["1"]], [["calm"]]]);
  await admin.query("ALTER TABLE items ADD name text; DROP TYPE mood; CREATE TYPE mood AS ENUM ('glad')");
  assert.deepEqual([await ask(items), await ask(mood, "glad")], [[["1", null]], [["glad"]]]);
  await admin.query("ALTER TABLE items ALTER id TYPE text USING 'i' || id");
  assert.deepEqual(await ask(items), [["i1", null]]);
  await admin.query("DROP TABLE items");
  assert.match(String(await ask(items)), /relation "items" does not exist/);
});

testWithPostgres("a statement that a session has lost is prepared anew", async () => {
  await using fixture = await createFixture();
  const sum = "SELECT $1::int + $2::int";
  assert.deepEqual(await fixture.ask(sum, "1", "2"), [["3"]]);
  await fixture.deallocate();
  assert.deepEqual(await fixture.kept(), []);
  assert.deepEqual(await fixture.ask(sum, "20", "22"), [["42"]]);
  assert.equal((await fixture.kept()).length, 1);
});

testWithPostgres("nothing is kept where a pooler may change the session", async () => {
  await using fixture = await createFixture({ pooler: "transaction" });
  assert.deepEqual(await fixture.ask("SELECT $1::int", "1"), [["1"]]);
  assert.deepEqual(await fixture.kept(), []);
});
