import assert from "node:assert/strict";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { createToolFixture } from "../../support/tool_fixture.ts";
import { contextOf, createResourceFixture, local, user } from "./resource_fixture.ts";

testWithPostgres("templates are completed: databases, their schemas, the tables of one", async () => {
  await using database = await createTestDatabase();
  await using other = await createTestDatabase();
  await database.query(
    `CREATE SCHEMA sales; CREATE TABLE sales."Orders" (id int); CREATE TABLE sales.orders_old (id int);
    CREATE TABLE sales."a/b" (id int); CREATE TABLE orders (id int); CREATE SCHEMA empty`,
  );
  await other.query(`CREATE TABLE secrets (id int)`);
  await using tools = await createToolFixture({
    main: { database },
    Market: { database: other, users: ["alice"] },
  });
  using fixture = createResourceFixture(tools.directory);
  const complete = (variable: string, value: string, given = {}, principal = user("bob")) =>
    fixture.registry.complete(
      { uriTemplate: "pg://{database}/{schema}/{table}", variable, value, given },
      contextOf(principal),
    );
  assert.deepEqual(await complete("database", "M"), ["main"]);
  assert.deepEqual(await complete("database", "m", {}, user("alice")), ["main", "Market"]);
  assert.deepEqual(await complete("database", "M", {}, user("alice")), ["Market", "main"]);
  assert.deepEqual(await complete("schema", "", { database: "main" }), ["public", "sales"]);
  assert.deepEqual(await complete("schema", ""), ["public", "sales"]);
  assert.deepEqual(await complete("table", "o", { database: "main", schema: "sales" }), [
    "orders_old",
    "Orders",
  ]);
  // as it is called: the client encodes it
  assert.deepEqual(await complete("table", "A", { database: "main", schema: "sales" }), ["a/b"]);
  assert.deepEqual(await complete("table", "ORD", { database: "main" }), ["orders", "Orders", "orders_old"]);
  // whose token may read neither schemas nor the list of databases
  for (const variable of ["database", "schema", "table"]) {
    assert.deepEqual(await fixture.completeNames(variable, "", {}, contextOf(user("bob", ["docs:ask"]))), []);
  }
  assert.deepEqual(await fixture.completeNames("database", "", {}, contextOf(user("bob", ["db:read"]))), [
    "main",
  ]);
  // nor does one that may list databases alone learn what is in them
  const lists = contextOf(user("bob", ["tool:list_databases"]));
  const listed = ["database", "schema", "table"].map((each) => fixture.completeNames(each, "", {}, lists));
  assert.deepEqual(await Promise.all(listed), [["main"], [], []]);
  // hidden and missing alike
  assert.deepEqual(await complete("table", "", { database: "Market", schema: "public" }), []);
  assert.deepEqual(await complete("table", "", { database: "none", schema: "public" }), []);
  assert.deepEqual(await complete("table", "", { database: "Market" }, user("alice")), ["secrets"]);
});

testWithPostgres("a keystroke reads no catalog again", async () => {
  await using database = await createTestDatabase();
  await database.query("CREATE TABLE t99 (id int)");
  await using tools = await createToolFixture({ main: { database } });
  using fixture = createResourceFixture(tools.directory);
  const complete = (value: string) => fixture.completeNames("table", value, {}, contextOf(local));
  assert.deepEqual(await complete("t"), ["t99"]);
  await database.query("CREATE TABLE t999 (id int)");
  assert.deepEqual(await complete("t99"), ["t99"]);
  fixture.clock.now += 2_000;
  assert.deepEqual(await complete("t99"), ["t99", "t999"]);
});

Deno.test("nobody without a database gets names", async () => {
  await using tools = await createToolFixture({});
  using fixture = createResourceFixture(tools.directory);
  for (const variable of ["database", "schema", "table"]) {
    assert.deepEqual(await fixture.completeNames(variable, "", {}, contextOf(local)), []);
  }
});
