import assert from "node:assert/strict";
import { pg } from "../../../src/postgres/connection.ts";
import { documentSql } from "../../../src/rag_server/keyword/term_sql.ts";
import { testWithPostgres } from "../../support/database.ts";
import { createKeywordFixture, type KeywordFixture } from "./fixture.ts";

const emptyTable = "CREATE TABLE docs (id int PRIMARY KEY, body text)";
const fewRows = "INSERT INTO docs VALUES (1, 'input/output'), (2, 'a whale'), (3, 'the output')";

/** An index of format 1, whose trigger takes only the words that PostgreSQL's parser gives. */
async function createOldFixture(rows: string): Promise<KeywordFixture> {
  const fixture = await createKeywordFixture(emptyTable);
  await fixture.build();
  await fixture.query(`DO $$ BEGIN
    EXECUTE replace(pg_get_functiondef('postern.keyword_1_maintain'::regproc),
      '|| coalesce(ts_delete(parts, tsvector_to_array(whole)), '''')', '');
    UPDATE postern.keyword_indexes SET format = 1;
  END $$; ${rows}`);
  return fixture;
}

/** What the index says of itself, and which documents have other words than their row. */
async function stateOf(fixture: KeywordFixture): Promise<unknown> {
  const [record] = await fixture.query("SELECT format, state FROM postern.keyword_indexes");
  const outdated = await fixture.query(`SELECT s.id FROM docs s
    CROSS JOIN LATERAL (${documentSql("s.body", "'pg_catalog.english'")}) a
    LEFT JOIN postern.keyword_1_documents d ON d.key = s.id
    WHERE (d.terms, d.length) IS DISTINCT FROM (a.terms, a.length) ORDER BY s.id`);
  return { record, outdated: outdated.map(([id]) => id) };
}

const renewed = { record: ["3", "ready"], outdated: [] };

testWithPostgres("an index of the format before answers, and a build renews it", async () => {
  await using fixture = await createOldFixture(fewRows);
  assert.deepEqual(await stateOf(fixture), { record: ["1", "ready"], outdated: ["1"] });
  assert.equal((await fixture.find()).kind, "postern");
  assert.deepEqual(await fixture.idsOf("output"), ["3"]);
  const numbers = () => fixture.query("SELECT key, doc FROM postern.keyword_1_documents ORDER BY key");
  const before = await numbers();
  assert.deepEqual(await fixture.build(), { id: 1, documents: 3 });
  assert.deepEqual(await stateOf(fixture), renewed);
  assert.deepEqual(await numbers(), before, "the lists know documents by their numbers");
  assert.deepEqual(await fixture.idsOf("output"), ["3", "1"]);
  await fixture.query("UPDATE docs SET body = 'sea/whale' WHERE id = 3");
  assert.deepEqual(await fixture.idsOf("whale"), ["2", "3"], "the trigger is renewed too");
});

testWithPostgres(
  "an index with letters of abbreviations as words answers, and a build takes them out",
  async () => {
    const dump = new URL("index_format_2.sql", import.meta.url);
    await using fixture = await createKeywordFixture(await Deno.readTextFile(dump));
    assert.deepEqual(await stateOf(fixture), { record: ["2", "ready"], outdated: ["1", "3"] });
    assert.deepEqual(
      await fixture.idsOf("a whale, e.g. of 1.2.3"),
      ["4"],
      "no letter and no digit is asked for",
    );
    assert.deepEqual(await fixture.idsOf("v1.2.3"), ["3"]);
    assert.deepEqual(await fixture.idsOf("vitamin E"), ["2", "1"]);
    await fixture.query("INSERT INTO docs VALUES (5, 'z.B. Vitamin')");
    assert.deepEqual(await fixture.idsOf("b"), ["5"], "a row that comes is read as all are");
    await fixture.build();
    assert.deepEqual(await stateOf(fixture), renewed);
    assert.deepEqual(await fixture.idsOf("vitamin E"), ["2", "5"]);
    assert.deepEqual(await fixture.idsOf("b"), []);
    assert.deepEqual(await fixture.idsOf("1.2.3"), ["3"]);
    await fixture.query("UPDATE docs SET body = 'd.h. Wale' WHERE id = 4");
    assert.deepEqual(await fixture.idsOf("h"), [], "the trigger is renewed too");
  },
);

testWithPostgres("a renewal that was stopped answers as before, and is made good", async () => {
  await using fixture = await createOldFixture(fewRows);
  const stop = new AbortController();
  const onProgress = () => stop.abort(new Error("stopped"));
  await assert.rejects(fixture.build({ batchRows: 1, signal: stop.signal, onProgress }), /stopped/);
  assert.deepEqual(await stateOf(fixture), { record: ["1", "ready"], outdated: [] });
  assert.equal((await fixture.find()).kind, "postern");
  await fixture.build();
  assert.deepEqual(await stateOf(fixture), renewed);
  assert.deepEqual(await fixture.idsOf("output"), ["3", "1"]);
});

for (const state of ["documents", "lists"]) {
  testWithPostgres(
    `an index of the format before that is in state "${state}" is finished as new`,
    async () => {
      await using fixture = await createOldFixture(fewRows);
      await fixture.query(`UPDATE postern.keyword_indexes SET state = '${state}', cursor = '2'`);
      await fixture.build();
      assert.deepEqual(await stateOf(fixture), renewed);
      assert.deepEqual(await fixture.idsOf("output"), ["3", "1"]);
    },
  );
}

testWithPostgres("a renewal that meets a writer gives way, so that neither waits for the other", async () => {
  await using fixture = await createOldFixture("INSERT INTO docs VALUES (1, 'a/b'), (2, 'c/d'), (3, 'e/f')");
  const writer = new pg.Client({ connectionString: fixture.url });
  await writer.connect();
  await writer.query("BEGIN; SELECT FROM postern.keyword_1_documents WHERE key = 3 FOR UPDATE");
  const building = fixture.build();
  await writer.query("SELECT pg_sleep(0.5)");
  await writer.query("UPDATE docs SET body = 'sea/whale' WHERE id IN (1, 3); COMMIT");
  await building;
  await writer.end();
  assert.deepEqual(await stateOf(fixture), renewed);
  assert.deepEqual((await fixture.idsOf("whale")).toSorted(), ["1", "3"]);
});

testWithPostgres("a renewal loses and keeps nothing that writers change meanwhile", async () => {
  await using fixture = await createOldFixture(
    "INSERT INTO docs SELECT i, 'word' || i || '/part' || i % 10 FROM generate_series(1, 2000) i",
  );
  const writer = new pg.Client({ connectionString: fixture.url });
  await writer.connect();
  let isBuilding = true;
  const writing = (async () => {
    for (let round = 0; isBuilding; round++) {
      const id = 1 + (round * 37) % 2_000;
      await writer.query("BEGIN");
      await writer.query("UPDATE docs SET body = body || ' x/again' WHERE id = $1", [id]);
      await writer.query("DELETE FROM docs WHERE id = $1", [id % 2_000 + 1]);
      await writer.query("INSERT INTO docs VALUES ($1, 'a/newcomer')", [10_000 + round]);
      await writer.query(round % 5 === 0 ? "ROLLBACK" : "COMMIT");
    }
  })();
  await fixture.build({ batchRows: 50 });
  isBuilding = false;
  await writing;
  await writer.end();
  assert.deepEqual(await stateOf(fixture), renewed);
});
