import assert from "node:assert/strict";
import { countRows } from "../../../src/tool_server/tools/count_rows.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { callTool, createToolFixture } from "../../support/tool_fixture.ts";
import { librarySchema } from "./library_schema.ts";

testWithPostgres("count_rows counts a table's rows", async (t) => {
  await using database = await createTestDatabase();
  await database.query(librarySchema);
  await database.query('CREATE TABLE "odd ""name" (id int); INSERT INTO "odd ""name" VALUES (1)');
  await using fixture = await createToolFixture({ library: { database } });
  const tool = countRows(fixture);

  await t.step("all of them", async () => {
    const { text, data } = await callTool(tool, { table: "books" });
    assert.equal(
      text,
      'Database: library\n\nSQL Query:\nSELECT count(*) FROM "public"."books"\n\nCount: 251',
    );
    assert.deepEqual(data, { database: "library", sql: 'SELECT count(*) FROM "public"."books"', count: 251 });
  });

  await t.step("those that a condition selects, in any schema, under any name", async () => {
    assert.equal((await callTool(tool, { table: "books", where: "price > 100 -- dear" })).data["count"], 150);
    assert.equal((await callTool(tool, { table: "loans", schema: "lending" })).data["count"], 0);
    assert.equal((await callTool(tool, { table: 'odd "name' })).data["count"], 1);
  });

  const hostile = [
    "true) ; DELETE FROM books; --",
    "true); DELETE FROM books --",
    "pg_terminate_backend(1)",
    "EXISTS (SELECT pg_read_file('/etc/passwd'))",
    "true\n) FOR UPDATE --",
  ];
  for (const where of hostile) {
    await t.step(`the condition ${JSON.stringify(where)} does nothing`, async () => {
      const { isError } = await callTool(tool, { table: "books", where });
      assert.equal(isError, true);
      assert.equal((await callTool(tool, { table: "books" })).data["count"], 251);
    });
  }

  await t.step("a table that does not exist is PostgreSQL's error", async () => {
    const { isError, text } = await callTool(tool, { table: "nope" });
    assert.equal(isError, true);
    assert.match(text, /SQLSTATE: 42P01/);
    assert.doesNotMatch(text, /Hint/);
  });

  await t.step("a table that is named with its schema is told where that goes", async () => {
    const { text } = await callTool(tool, { table: "public.books" });
    assert.match(text, /^Hint: Give the schema as `schema`, and `table` without it\.$/m);
  });
});
