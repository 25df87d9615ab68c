import assert from "node:assert/strict";
import { assertHas } from "../../support/assert_has.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { createToolFixture } from "../../support/tool_fixture.ts";
import { contextOf, createResourceFixture, local, user } from "./resource_fixture.ts";

testWithPostgres("pg://databases has those that the caller may use, and which is current", async () => {
  await using database = await createTestDatabase();
  await using tools = await createToolFixture({
    main: { database },
    "own/50%": { database, users: ["alice"] },
  });
  using fixture = createResourceFixture(tools.directory);
  assert.deepEqual(await fixture.read("pg://databases", user("bob")), {
    databases: [{ name: "main", current: true, schema: "pg://main/schema" }],
    current: "main",
  });
  await tools.directory.select(user("alice"), "own/50%");
  assert.deepEqual(await fixture.read("pg://databases", user("alice")), {
    databases: [
      { name: "main", current: false, schema: "pg://main/schema" },
      { name: "own/50%", current: true, schema: "pg://own%2F50%25/schema" },
    ],
    current: "own/50%",
  });
  const { freshness } = await fixture.registry.read("pg://databases", contextOf(local));
  assert.deepEqual(freshness, { ttlMs: 0, cacheScope: "private" });
});

testWithPostgres("pg://system_info tells of the server of the current database", async () => {
  await using database = await createTestDatabase();
  await using tools = await createToolFixture({ main: { database } });
  using fixture = createResourceFixture(tools.directory);
  const info = await fixture.read("pg://system_info");
  const [[version, number, full] = []] = await database.query(
    "SELECT current_setting('server_version'), current_setting('server_version_num'), version()",
  );
  assertHas(info, {
    postgresql_version: version,
    version_number: number,
    full_version: full,
    operating_system: "linux",
    bit_version: "64-bit",
    database: "main",
    user: "postgres",
    is_standby: false,
    encoding: "UTF8",
  });
  assert.match(info.architecture, /^\w+-\w+-linux/);
  assert.notEqual(info.compiler, "");
  assert.deepEqual(info.extensions.map(({ name }: { name: string }) => name), ["plpgsql"]);
  // that of callers' statements
  assert.equal(info.settings.statement_timeout, "30s");
  assert.equal(info.settings.TimeZone.length > 0, true);
  // where a database is reached is nobody's business who reads it
  assert.deepEqual([info.host, info.port], [undefined, undefined]);
});

Deno.test("pg://system_info is not there for whoever may use no database, and pg://databases is empty", async () => {
  await using tools = await createToolFixture({});
  using fixture = createResourceFixture(tools.directory);
  assert.deepEqual(fixture.registry.list(local).map(({ uri }) => uri), ["pg://databases"]);
  await assert.rejects(fixture.read("pg://system_info"), {
    code: "not_found",
    message: 'Cannot read resource "pg://system_info": there is no such resource',
  });
  assert.deepEqual(await fixture.read("pg://databases"), { databases: [], current: null });
});
