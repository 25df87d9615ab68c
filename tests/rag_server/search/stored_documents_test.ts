import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createStoredDocuments } from "../../../src/rag_server/search/stored_documents.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createSearchFixture } from "../search_fixture.ts";

const caller = { signal: new AbortController().signal };

testWithPgvector("documents are read by keys that every kind of id has", async (t) => {
  await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id text PRIMARY KEY, title text, source text, url text, position smallint, body text, embedding vector(2));
    INSERT INTO docs VALUES
      ('a-1', 'One', 'a.md', NULL, 3, 'first', '[1,0]'),
      ('ü/ 2', '  ', 'https://example.com/2', NULL, NULL, 'second', '[1,0]'),
      ('hidden', 'H', NULL, NULL, NULL, 'hidden', '[1,0]'),
      ('blank', 'B', NULL, NULL, NULL, '  ', '[1,0]');
    CREATE TABLE bare (body text, embedding vector(2));
    INSERT INTO bare VALUES (E' \\tloose leaf\\n', '[1,0]');
    CREATE TABLE pages (id int PRIMARY KEY, title text, page int, heading text, body text, embedding vector(2),
      tags text[], day date, big bigint);
    INSERT INTO pages VALUES (1, 'Leave', 7, NULL, 'x', '[1,0]', '{a,b}', '2024-05-17', 9007199254740993);
    INSERT INTO pages VALUES (2, 'Leave', NULL, '', 'x', '[1,0]'), (3, 'Leave', NULL, 'own', 'x', '[1,0]'), (4, 'Leave', NULL, NULL, 'x', '[1,0]');
    CREATE TABLE numbers (n int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO numbers VALUES (7, 'seven', '[1,0]');
    CREATE VIEW parts AS SELECT 'x' AS id, v AS position, 'part ' || v AS body, '[1,0]'::vector(2) AS embedding
      FROM generate_series(3, 1, -1) v`);
  const tables = await Promise.all([
    fixture.readTable({ table: "docs", filter: "id <> 'hidden'" }),
    fixture.readTable({ table: "bare" }),
    fixture.readTable({ table: "numbers" }),
    fixture.readTable({ table: "parts", idColumn: "id" }),
  ]);
  const documents = createStoredDocuments({ database: fixture.database, tables, logger: silentLogger });
  const read = (table: string, id: string | undefined, content = "") =>
    documents.read(documents.keyOf({ table, content, ...(id !== undefined && { id }) }), caller);

  await t.step("with what the table says of them", async () => {
    assert.deepEqual(documents.keyOf({ table: "docs", id: "a-1", content: "" }), "1-a-1");
    assert.deepEqual(await read("docs", "a-1"), { title: "One", source: "a.md", position: 3, text: "first" });
    assert.deepEqual(await read("docs", "ü/ 2"), {
      source: "https://example.com/2",
      url: "https://example.com/2",
      text: "second",
    });
    assert.deepEqual(await read("numbers", "7"), { text: "seven" });
    assert.deepEqual(
      await documents.detailsOf([{ table: "numbers", id: "7" }, { table: "docs", id: "a-1" }, {
        table: "bare",
      }], caller),
      [{}, { title: "One", source: "a.md", position: 3 }, {}],
    );
  });

  await t.step("with their place and their neighbours, where an index finds those", async () => {
    await fixture.admin.query(`
      CREATE TABLE chunks (id int PRIMARY KEY, source text, position int, char_start int, char_end int, body text,
        embedding vector(2));
      INSERT INTO chunks SELECT n, CASE WHEN n < 10 THEN 'a.md' ELSE 'b.md' END, n % 10, n * 10, n * 10 + 9, 'x', '[1,0]'
        FROM unnest(ARRAY[1, 2, 3, 4, 5, 11, 12]) n;
      INSERT INTO chunks VALUES (22, 'b.md', 2, 0, 1, 'x', '[1,0]')`);
    const settings = { table: "chunks", filter: "id <> 5" };
    const near = async () => {
      const documents = createStoredDocuments({
        database: fixture.database,
        tables: [await fixture.readTable(settings)],
        logger: silentLogger,
      });
      const details = await documents.detailsOf(
        ["1", "3", "4", "11"].map((id) => ({ table: "chunks", id })),
        caller,
      );
      assert.deepEqual(details.map(({ char_start, char_end }) => [char_start, char_end])[1], [30, 39]);
      return details.map(({ previous, next }) => [previous, next]);
    };
    const none = [undefined, undefined];
    assert.deepEqual(await near(), [none, none, none, none]);
    await fixture.admin.query("CREATE INDEX ON chunks (source, position)");
    // a row that the pipeline's filter hides is no neighbour, and of two with the same place neither is
    assert.deepEqual(await near(), [[undefined, "2"], ["2", "4"], ["3", undefined], none]);
  });

  await t.step("with page, headings and the columns that are named", async () => {
    const table = await fixture.readTable({ table: "pages", metadataColumns: ["tags", "day", "big"] });
    const documents = createStoredDocuments({
      database: fixture.database,
      tables: [table],
      logger: silentLogger,
    });
    const found = [["1", "Leave > Parents\n\nText"], ["2", "Leaves\n\nText"], ["3", "Leave\n\nText"], [
      "4",
      "# Leave › Sick\n\nText",
    ]].map((
      [id = "", content = ""],
    ) => ({ table: "pages", id, content }));
    assert.deepEqual(await documents.detailsOf(found, caller), [
      {
        title: "Leave",
        page: 7,
        heading: "Leave > Parents",
        columns: { tags: ["a", "b"], day: "2024-05-17", big: "9007199254740993" },
      },
      { title: "Leave" },
      { title: "Leave", heading: "own" },
      { title: "Leave", heading: "Leave › Sick" },
    ]);
    await assert.rejects(fixture.readTable({ table: "pages", metadataColumns: ["none"] }), {
      code: "invalid",
      message: 'Cannot search table "pages": it has no column "none"',
    });
  });

  await t.step("a text without an id by its hash, rows of one id in their order", async () => {
    assert.deepEqual(await read("bare", undefined, "loose leaf"), { text: " \tloose leaf\n" });
    assert.equal(await read("bare", undefined, "another"), undefined);
    assert.deepEqual((await read("parts", "x"))?.text, "part 1\n\npart 2\n\npart 3");
  });

  await t.step("nothing that a search would not find", async () => {
    for (
      const key of [
        "1-hidden",
        "1-blank",
        "1-none",
        "3-x",
        "2-1",
        "5-1",
        "0-1",
        "1-",
        "a",
        "1-a'--",
        "3-99999999999",
      ]
    ) {
      assert.equal(await documents.read(key, caller), undefined, key);
    }
  });
});

testWithPgvector("a role that may not read a title's column reads the text all the same", async () => {
  await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, title text, body text, embedding vector(2));
    INSERT INTO docs VALUES (1, 'Secret', 'text', '[1,0]')`);
  const role = `postern_test_reader_${crypto.randomUUID().slice(0, 8)}`;
  await fixture.admin.query(
    `CREATE ROLE ${role} LOGIN; GRANT SELECT (id, body, embedding) ON docs TO ${role}`,
  );
  const pools = createConnectionPools({ maxConnections: 2, logger: silentLogger });
  try {
    const database = createDatabase({
      options: { ...fixture.options, user: role },
      pools,
      guard: await createStatementGuard(),
      logger: silentLogger,
    });
    const tables = [await fixture.readTable({ table: "docs" })];
    const documents = createStoredDocuments({ database, tables, logger: silentLogger });
    assert.deepEqual(await documents.read("1-1", caller), { text: "text" });
    assert.deepEqual(await documents.detailsOf([{ table: "docs", id: "1" }], caller), [{}]);
  } finally {
    await pools.close();
    await fixture.admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});
