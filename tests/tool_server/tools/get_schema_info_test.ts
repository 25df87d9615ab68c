import assert from "node:assert/strict";
import { getSchemaInfo } from "../../../src/tool_server/tools/get_schema_info.ts";
import { assertHas } from "../../support/assert_has.ts";
import { createTestDatabase, testWithPgvector, testWithPostgres } from "../../support/database.ts";
import { callTool, createToolFixture } from "../../support/tool_fixture.ts";
import { librarySchema } from "./library_schema.ts";

const header =
  "schema\ttable\ttype\ttable_desc\tcolumn\tdata_type\tnullable\tcol_desc\tis_pk\tis_unique\tfk_ref\t" +
  "is_indexed\tidentity\tdefault\tis_vector\tvector_dims\tlabels";

testWithPostgres("get_schema_info shows what the role may read", async (t) => {
  await using database = await createTestDatabase();
  await database.query(librarySchema);
  await using fixture = await createToolFixture({ library: { database } });
  const tool = getSchemaInfo(fixture);

  await t.step("a table's columns, keys, references, defaults, labels, comments and indexes", async () => {
    const { text } = await callTool(tool, { schema_name: "public", table_name: "books" });
    const lines = text.split("\n");
    assert.deepEqual(lines.slice(0, 2), ["Database: library", ""]);
    // names and comments are other people's words
    const [, mark] = /^<data-([0-9a-f]{32})>$/.exec(lines[2] ?? "") ?? [];
    assert.deepEqual([lines[3], lines.at(-1)], [header, `</data-${mark}>`]);
    const row = (column: string) => lines.find((line) => line.includes(`\t${column}\t`));
    const start = "public\tbooks\tTABLE\tWhat the library owns\t";
    assert.equal(row("id"), `${start}id\tinteger\tNO\t\ttrue\tfalse\t\ttrue\t\t\tfalse\t0\t`);
    assert.equal(
      row("author_id"),
      `${start}author_id\tinteger\tNO\t\tfalse\tfalse\tpublic.authors.id\tfalse\t\t\tfalse\t0\t`,
    );
    assert.equal(
      row("price"),
      `${start}price\tnumeric(8,2)\tYES\tReplacement cost in euro\tfalse\tfalse\t\tfalse\t\t9.99\tfalse\t0\t`,
    );
    assert.equal(
      row("state"),
      `${start}state\tbook_state\tNO\t\tfalse\tfalse\t\tfalse\t\t'shelved'::book_state\tfalse\t0\tshelved, lent, lost`,
    );
    assert.match(text, /\nIndexes:\nCREATE UNIQUE INDEX books_pkey .*\nCREATE INDEX books_published /);
  });

  await t.step("identity, unique columns and keys of several columns", async () => {
    const { text } = await callTool(tool, {});
    assert.match(text, /\tid\tinteger\tNO\t\ttrue\tfalse\t\ttrue\ta\t/);
    assert.match(text, /\tname\ttext\tNO\t\tfalse\ttrue\t/);
    assert.match(text, /lending\tloans\tTABLE\t\tday\tdate\tNO\t\ttrue\t/);
    assert.match(text, /public\tcheap_books\tVIEW\t/);
  });

  await t.step("the same as data", async () => {
    const { data } = await callTool(tool, { schema_name: "lending" });
    assert.equal(data["table_count"], 1);
    assertHas(data["tables"], [{
      schema: "lending",
      name: "loans",
      type: "TABLE",
      columns: [{ name: "book_id", fk_ref: "public.books.id", is_pk: true }, {
        name: "day",
        data_type: "date",
      }],
    }]);
  });

  await t.step("compact names tables alone", async () => {
    const { text } = await callTool(tool, { compact: true, schema_name: "public" });
    assert.match(text, /^schema\ttable\ttype\ttable_desc\tcolumns\testimated_rows$/m);
    assert.match(text, /^public\tbooks\tTABLE\tWhat the library owns\t8\t251$/m);
  });

  await t.step("a filter that finds nothing says so", async () => {
    const { text, isError, data } = await callTool(tool, { schema_name: "public", table_name: "Books" });
    assert.equal(isError, false);
    assert.match(text, /No table or view in schema "public" named "Books"/);
    assert.equal(data["table_count"], 0);
  });

  await t.step("table_name needs schema_name", () => {
    assert.throws(() => tool.prepare({ table_name: "books" }), /schema_name: is needed/);
  });

  await t.step("more than ten tables are summarised, with the calls that show more", async () => {
    await database.query(
      "DO $$ BEGIN FOR n IN 1..60 LOOP EXECUTE format('CREATE TABLE lending.t%s (id int)', n); END LOOP; END $$",
    );
    const { text, data } = await callTool(tool, {});
    assert.match(text, /^Summary of 65 tables and views:$/m);
    assert.match(text, /^lending\t61\t.* and 21 more$/m);
    assert.match(text, /<\/data-[0-9a-f]{32}>\n\nNext: get_schema_info\(schema_name="…"\) for the columns/);
    assert.equal(data["table_count"], 65);
    assert.ok(text.length < 2_000);
  });
});

testWithPgvector("get_schema_info shows vector columns with their dimensions", async () => {
  await using database = await createTestDatabase();
  await database.query(`${librarySchema};
    CREATE EXTENSION vector; CREATE TABLE notes (id int, embedding vector(3), other vector)`);
  await using fixture = await createToolFixture({ library: { database } });
  const { text } = await callTool(getSchemaInfo(fixture), { vector_tables_only: true });
  assert.match(text, /\tembedding\tvector\(3\)\tYES\t.*\ttrue\t3\t$/m);
  assert.match(text, /\tother\tvector\tYES\t.*\ttrue\t0\t$/m);
  assert.doesNotMatch(text, /\tbooks\t/);
});

testWithPostgres("get_schema_info hides tables and columns that the role may not read", async () => {
  await using database = await createTestDatabase();
  const role = `${database.name}_reader`;
  await database.query(`${librarySchema};
    CREATE ROLE ${role} LOGIN;
    GRANT SELECT (id, title) ON books TO ${role};
    GRANT SELECT ON authors TO ${role};`);
  const url = new URL(database.url);
  url.username = role;
  {
    await using fixture = await createToolFixture({ library: { database: { ...database, url: url.href } } });
    const { data } = await callTool(getSchemaInfo(fixture), {});
    assertHas(data["tables"], [
      { name: "authors" },
      { name: "books", columns: [{ name: "id" }, { name: "title" }] },
    ]);
    assert.equal(data["table_count"], 2);
  }
  await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
});

testWithPostgres("get_schema_info leaves partitions out and counts them, or lists them", async () => {
  await using database = await createTestDatabase();
  await database.query(`
    CREATE TABLE sales (id int, day date, region text, PRIMARY KEY (id, day, region)) PARTITION BY RANGE (day);
    CREATE TABLE sales_2025 PARTITION OF sales FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
    CREATE TABLE sales_2026 PARTITION OF sales FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')
      PARTITION BY LIST (region);
    CREATE TABLE "sales 2026, north" PARTITION OF sales_2026 FOR VALUES IN ('north');
    CREATE TABLE plain (id int)`);
  await using fixture = await createToolFixture({ shop: { database } });
  const tool = getSchemaInfo(fixture);
  const names = (tables: unknown) =>
    (tables as { name: string; partitions?: number }[]).map((table) => [
      table.name,
      table.partitions,
    ]);

  const without = await callTool(tool, {});
  assert.deepEqual(names(without.data["tables"]), [["plain", undefined], ["sales", 3]]);
  assert.equal(without.data["partitions_left_out"], 3);
  assert.match(
    without.text,
    /<\/data-[0-9a-f]{32}>\n\nLeft out: 3 partitions of these tables\. include_partitions=true shows them\.$/,
  );
  assert.doesNotMatch(without.text, /sales_2025|north/);

  const whole = await callTool(tool, { include_partitions: true });
  assert.deepEqual(names(whole.data["tables"]), [
    ["plain", undefined],
    ["sales", 3],
    ["sales 2026, north", undefined],
    ["sales_2025", undefined],
    ["sales_2026", 1],
  ]);
  assert.equal(whole.data["partitions_left_out"], 0);
  assert.match(whole.text, /\npublic\tsales_2025\tTABLE\t\tid\tinteger\tNO\t/);
  assert.match(whole.text, /CREATE UNIQUE INDEX sales_2025_pkey /);
  assert.doesNotMatch(whole.text, /Left out/);

  const one = { schema_name: "public", table_name: "sales_2025" };
  const hidden = await callTool(tool, one);
  assert.equal(hidden.data["table_count"], 0);
  assert.match(hidden.text, /Partitions are shown with include_partitions=true\.$/);
  const shown = await callTool(tool, { ...one, include_partitions: true });
  assert.deepEqual(names(shown.data["tables"]), [["sales_2025", undefined]]);
});
