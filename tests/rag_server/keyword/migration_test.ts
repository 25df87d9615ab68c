import assert from "node:assert/strict";
import { pg } from "../../../src/postgres/connection.ts";
import { dropLostIndexes } from "../../../src/rag_server/keyword/drop_keyword_index.ts";
import { testWithPostgres } from "../../support/database.ts";
import { assertInStep, createKeywordFixture, type KeywordFixture } from "./fixture.ts";

const docs = `CREATE TABLE docs (id int PRIMARY KEY, body varchar(100), lang varchar(20), note text);
  INSERT INTO docs VALUES (1, 'the green whale swims', 'english'), (2, 'a red whale', 'english')`;
const signal = new AbortController().signal;

/** A session that wrote before the migrations, so that it has plans of the table as it was. */
async function openWriter(fixture: KeywordFixture) {
  const client = new pg.Client({ connectionString: fixture.url });
  await client.connect();
  await client.query("INSERT INTO docs VALUES (3, 'three whales', 'english')");
  await client.query("UPDATE docs SET body = 'three blue whales' WHERE id = 3");
  return { run: (sql: string) => client.query(sql), [Symbol.asyncDispose]: () => client.end() };
}

for (const configColumn of [undefined, "lang"]) {
  const changes = configColumn === undefined ? {} : { configColumn };
  testWithPostgres(`the text's type may be altered, with configuration ${configColumn}`, async () => {
    await using fixture = await createKeywordFixture(docs);
    await fixture.build(changes);
    await using writer = await openWriter(fixture);
    await writer.run("ALTER TABLE docs ALTER body TYPE text, ALTER lang TYPE text");
    await writer.run("INSERT INTO docs VALUES (4, 'four whales', 'english')");
    await writer.run("UPDATE docs SET body = 'none' WHERE id IN (1, 3)");
    await writer.run("DELETE FROM docs WHERE id = 2");
    assert.deepEqual(await fixture.idsOf("whale"), ["4"]);
    await assertInStep(fixture);
  });
}

for (
  const migration of [
    "ALTER TABLE docs ALTER id TYPE bigint",
    "ALTER TABLE docs ALTER id TYPE text",
    "ALTER TABLE docs DROP COLUMN body",
    "ALTER TABLE docs DROP COLUMN lang",
    "ALTER TABLE docs DROP COLUMN id",
    "ALTER TABLE docs RENAME id TO number",
  ]
) {
  for (const isSecured of [false, true]) {
    testWithPostgres(`writers go on after ${migration}${isSecured ? ", secured by row" : ""}`, async () => {
      await using fixture = await createKeywordFixture(
        `${docs}${isSecured ? "; ALTER TABLE docs ENABLE ROW LEVEL SECURITY" : ""}`,
      );
      await fixture.build({ configColumn: "lang" });
      await using writer = await openWriter(fixture);
      await writer.run(migration);
      if (migration.includes("TYPE")) assert.equal((await fixture.find()).kind, "tsvector");
      await writer.run("UPDATE docs SET note = 'seen'");
      await writer.run(
        migration.includes(" id")
          ? "INSERT INTO docs (body) SELECT 'x' WHERE false"
          : "INSERT INTO docs (id) VALUES (9)",
      );
      await writer.run("DELETE FROM docs");
      assert.deepEqual(await fixture.query("SELECT state FROM postern.keyword_indexes"), [["broken"]]);
    });
  }
}

testWithPostgres("an id beyond the index's type is written, and a build asks for a new index", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.build();
  await fixture.query("ALTER TABLE docs ALTER id TYPE bigint");
  await assert.rejects(fixture.build(), { code: "conflict" });
  await fixture.query("INSERT INTO docs VALUES (5000000000, 'a far whale')");
  assert.deepEqual(await fixture.idsOf("far"), ["5000000000"]);
});

testWithPostgres("an index follows its table to another name and schema", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.build();
  await using writer = await openWriter(fixture);
  await writer.run(
    "CREATE SCHEMA app; ALTER TABLE docs SET SCHEMA app; ALTER TABLE app.docs RENAME TO papers",
  );
  await writer.run("UPDATE app.papers SET id = id + 3; INSERT INTO app.papers VALUES (1, 'one whale')");
  const found = await fixture.find({ table: "app.papers" });
  assert.deepEqual((await fixture.ask(found, "whale")).map(({ id }) => id).sort(), ["1", "4", "5", "6"]);
});

testWithPostgres("a dropped table's index is taken away, and no other", async () => {
  await using fixture = await createKeywordFixture(
    `${docs}; CREATE TABLE kept (id int PRIMARY KEY, body text); ALTER TABLE docs ENABLE ROW LEVEL SECURITY`,
  );
  await fixture.build();
  await fixture.build({ table: "kept" });
  assert.deepEqual(await dropLostIndexes(fixture.connection, signal), []);
  await fixture.query("DROP TABLE docs");
  assert.deepEqual(await dropLostIndexes(fixture.connection, signal), ["postern.keyword_1_documents"]);
  assert.deepEqual(
    await fixture.query(`SELECT relname FROM pg_class
      WHERE relnamespace = 'postern'::regnamespace AND relkind = 'r' AND relname LIKE '%documents'
      UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'postern'::regnamespace`),
    [["keyword_2_documents"], ["keyword_2_maintain"]],
  );
  assert.deepEqual(await fixture.query("SELECT id FROM postern.keyword_indexes"), [["2"]]);
  assert.deepEqual(await dropLostIndexes(fixture.connection, signal), []);
});
