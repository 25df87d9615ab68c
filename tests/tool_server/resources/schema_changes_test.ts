import assert from "node:assert/strict";
import { type Principal, principalKey } from "../../../src/core/principal.ts";
import { createDatabaseDirectory } from "../../../src/tool_server/tools/databases/database_directory.ts";
import { createTestDatabase, type TestDatabase, testWithPostgres } from "../../support/database.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { createCatalogFixture } from "../../postgres/catalog/catalog_fixture.ts";
import { createToolFixture } from "../../support/tool_fixture.ts";
import { contextOf, createResourceFixture, local, user } from "./resource_fixture.ts";

type Fixture = ReturnType<typeof createResourceFixture>;
type WatchedFixture = Awaited<ReturnType<typeof createWatchedFixture>>;

/** Subscribes, and has the addresses that it was told of. */
function subscribe({ changes }: Pick<Fixture, "changes">, principal: Principal, uris: readonly string[]) {
  const told: string[] = [];
  const end = changes.subscribe(
    (change) => void told.push(change.kind === "resource" ? change.uri : change.kind),
    { principal, uris },
  );
  return { told, end };
}

/** Until what was changed has been told to somebody who asked for all of it. */
async function afterNext(fixture: WatchedFixture, witness: { told: string[] }): Promise<void> {
  fixture.clock.now += 2_000;
  await fixture.schemaChanges.catalogs.get(fixture.database, contextOf(local));
  await waitUntil("the change is told", () => witness.told.length > 0);
}

/** Two databases, the second of which is Alice's alone. */
async function createWatchedFixture(database: TestDatabase) {
  const tools = await createToolFixture({ main: { database }, hers: { database, users: ["alice"] } });
  const fixture = createResourceFixture(tools.directory);
  return {
    ...fixture,
    database: tools.directory.resolve(local, "main"),
    async [Symbol.asyncDispose]() {
      fixture[Symbol.dispose]();
      await tools[Symbol.asyncDispose]();
    },
  };
}

testWithPostgres(
  "whoever asked is told of tables that come, go and change, as they wrote the address",
  async () => {
    await using database = await createTestDatabase();
    await database.query("CREATE TABLE a (id int); CREATE TABLE b (id int); CREATE TABLE c (id int)");
    await using fixture = await createWatchedFixture(database);
    const tables = subscribe(fixture, user("bob"), [
      "pg://main/public/a",
      "pg://main/public/b",
      "pg://main/public/c",
      "pg://main/pub%6Cic/d",
      "pg://databases",
      "other:x",
    ]);
    const schema = subscribe(fixture, local, ["pg://main/schema"]);
    await fixture.schemaChanges.catalogs.get(fixture.database, contextOf(local));
    await database.query(
      "ALTER TABLE a ADD name text; DROP TABLE b; CREATE TABLE d (id int); INSERT INTO c VALUES (1); ANALYZE c",
    );
    await afterNext(fixture, schema);
    assert.deepEqual(tables.told, ["pg://main/public/a", "pg://main/public/b", "pg://main/pub%6Cic/d"]);
    assert.deepEqual(schema.told.splice(0), ["pg://main/schema"]);
    tables.told.splice(0);

    // statistics are no change
    await database.query("ANALYZE");
    fixture.clock.now += 40 * 60_000;
    await fixture.schemaChanges.catalogs.get(fixture.database, contextOf(local));
    tables.end();
    await database.query("DROP TABLE a");
    await afterNext(fixture, schema);
    assert.deepEqual([schema.told, tables.told], [["pg://main/schema"], []]);
  },
);

testWithPostgres("nobody is told of what is hidden from them", async () => {
  await using catalog = await createCatalogFixture(
    "CREATE TABLE open (id int); CREATE TABLE closed (id int)",
  );
  const [alice, bob] = [await catalog.createRole("alice"), await catalog.createRole("bob")];
  await catalog.admin.query(`GRANT SELECT ON open, closed TO ${alice}; GRANT SELECT ON open TO ${bob}`);
  const personal = catalog.connect({ name: "main", roleFromUser: true });
  const directory = createDatabaseDirectory([
    { kind: "database", name: "main", database: personal },
    { kind: "database", name: "hers", database: personal, available_to_users: [alice] },
  ]);
  using fixture = createResourceFixture(directory);
  const uris = ["pg://main/public/closed", "pg://main/schema", "pg://hers/schema", "pg://none/schema"];
  const ofAlice = subscribe(fixture, user(alice), uris);
  const ofBob = subscribe(fixture, user(bob), uris);
  const ofLess = [["docs:ask"], ["none"], ["tool:usage"]].map((scopes) =>
    subscribe(fixture, user(alice, scopes), [...uris, "pg://databases"])
  );
  const ofTool: Principal = { kind: "token", id: "t", limits: { tools: ["usage"], databases: ["main"] } };
  ofLess.push(subscribe(fixture, ofTool, [...uris, "pg://databases"]));
  for (const name of [alice, bob]) await fixture.schemaChanges.catalogs.get(personal, contextOf(user(name)));
  await catalog.admin.query("ALTER TABLE closed ADD more int");
  fixture.clock.now += 2_000;
  for (const name of [bob, alice]) await fixture.schemaChanges.catalogs.get(personal, contextOf(user(name)));
  await waitUntil("Alice is told", () => ofAlice.told.length > 0);
  assert.deepEqual(ofAlice.told, ["pg://main/public/closed", "pg://main/schema", "pg://hers/schema"]);
  fixture.schemaChanges.replacing(() => {});
  assert.deepEqual([ofBob, ...ofLess].flatMap(({ told }) => told), []);
});

testWithPostgres("databases are looked at only while somebody asks for what is in them", async () => {
  await using database = await createTestDatabase();
  await database.query("CREATE TABLE a (id int)");
  await using tools = await createToolFixture({ main: { database } });
  using fixture = createResourceFixture(tools.directory, { lookEveryMs: 20 });
  const reads = async () => {
    const [[count] = []] = await database.query(
      `SELECT count(*) FROM pg_stat_activity WHERE datname = '${database.name}' AND application_name = 'postern'`,
    );
    return Number(count);
  };
  const idle = subscribe(fixture, local, ["pg://databases", "pg://none/schema"]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(await reads(), 0);
  const { told, end } = subscribe(fixture, local, ["pg://main/public/a"]);
  await waitUntil("the first look", async () => await reads() === 1);
  await fixture.schemaChanges.catalogs.get(tools.directory.resolve(local, "main"), contextOf(local));
  await database.query("ALTER TABLE a ADD name text");
  fixture.clock.now += 2_000;
  await waitUntil("the timer's look", () => told.length > 0);
  assert.deepEqual(told, ["pg://main/public/a"]);
  end();
  await database.query("DROP TABLE a");
  fixture.clock.now += 2_000;
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual([told.length, idle.told], [1, []]);
});

testWithPostgres(
  "a database that comes, goes or is replaced is told of to those who may use it",
  async () => {
    await using catalog = await createCatalogFixture("");
    const entry = (name: string, users: readonly string[] = []) => ({
      kind: "database" as const,
      name,
      available_to_users: users,
      database: catalog.connect({ name }),
    });
    const entries = [entry("kept"), entry("replaced"), entry("removed"), entry("hidden", ["alice"])];
    using fixture = createResourceFixture(createDatabaseDirectory(entries));
    const { told } = subscribe(
      fixture,
      user("bob"),
      ["kept", "replaced", "removed", "hidden", "added", "none"].map((name) => `pg://${name}/schema`).concat(
        "pg://databases",
      ),
    );
    fixture.schemaChanges.replacing(() => {
      const [kept = entry("kept")] = entries;
      entries.splice(0, entries.length, kept, entry("replaced"), entry("added"), entry("hidden", ["alice"]));
    });
    assert.deepEqual(told.sort(), [
      "pg://added/schema",
      "pg://databases",
      "pg://removed/schema",
      "pg://replaced/schema",
    ]);
  },
);

testWithPostgres("whoever selects another database is told, and nobody else", async () => {
  await using database = await createTestDatabase();
  await using tools = await createToolFixture({ one: { database } });
  using fixture = createResourceFixture(tools.directory);
  const [alice, bob] = [user("alice"), user("bob")].map((each) =>
    subscribe(fixture, each, ["pg://system_info", "pg://databases"])
  );
  fixture.schemaChanges.selected(principalKey(user("alice")));
  assert.deepEqual([alice?.told, bob?.told], [["pg://databases", "pg://system_info"], []]);
});
