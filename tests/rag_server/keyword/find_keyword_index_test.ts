import assert from "node:assert/strict";
import { testWithPostgres } from "../../support/database.ts";
import { createKeywordFixture } from "./fixture.ts";

const docs = `CREATE TABLE docs (id int PRIMARY KEY, body text);
  INSERT INTO docs VALUES (1, 'green whales'), (2, 'a whale; and a whale'), (3, 'grass'), (4, 'the')`;
const source = { table: "public.docs", idColumn: '"id"', textColumn: '"body"' };

testWithPostgres("without any index a text is analysed when it is asked", async () => {
  await using fixture = await createKeywordFixture(docs);
  assert.deepEqual(await fixture.find(), {
    kind: "tsvector",
    ...source,
    config: "english",
    vector: undefined,
  });
  assert.deepEqual(await fixture.idsOf("green whale"), ["1", "2"]);
  const simple = await fixture.find({ config: "simple" });
  assert.deepEqual((await fixture.ask(simple, "the whale")).map(({ id }) => id), ["2", "4"]);
});

testWithPostgres(
  "a GIN index on the text's vector is used, with the configuration that made it",
  async () => {
    await using fixture = await createKeywordFixture(
      `${docs}; CREATE INDEX ON docs USING gin (to_tsvector('simple', body))`,
    );
    const found = await fixture.find();
    assert.deepEqual(found, {
      kind: "tsvector",
      ...source,
      config: "simple",
      vector: "to_tsvector('simple'::regconfig, body)",
    });
    assert.deepEqual((await fixture.ask(found, "the whales")).map(({ id }) => id), ["4", "1"]);
    await fixture.query(`DROP INDEX docs_to_tsvector_idx;
    ALTER TABLE docs ADD words tsvector GENERATED ALWAYS AS (to_tsvector('german', body)) STORED;
    CREATE INDEX ON docs USING gin (words)`);
    const generated = await fixture.find();
    assert.deepEqual(generated.kind === "tsvector" && [generated.config, generated.vector], [
      "german",
      "source.words",
    ]);
    assert.deepEqual((await fixture.ask(generated, "grass")).map(({ id }) => id), ["3"]);
  },
);

testWithPostgres("plain text ranks as Postern's own index does where all matches are read", async () => {
  await using fixture = await createKeywordFixture(
    `${docs}; INSERT INTO docs SELECT i, 'word' || i % 7 || ' word' || i % 5 || ' whale' FROM generate_series(10, 200) i;
    INSERT INTO docs SELECT i, 'whale ' || repeat('whale ', i % 3) FROM generate_series(300, 305) i; ANALYZE docs`,
  );
  const plain = await fixture.ask(await fixture.find(), "whale word3 grass");
  await fixture.build();
  const own = await fixture.ask(await fixture.find(), "whale word3 grass");
  assert.equal(own.length, 10);
  assert.deepEqual(plain.slice(0, 3).map(({ id }) => id), own.slice(0, 3).map(({ id }) => id));
});

testWithPostgres(
  "an index that was built for other columns, or that the role may not read, is not taken",
  async () => {
    await using fixture = await createKeywordFixture(
      `${docs}; ALTER TABLE docs ADD other int UNIQUE, ADD title text`,
    );
    await fixture.build();
    assert.equal((await fixture.find()).kind, "postern");
    assert.equal((await fixture.find({ idColumn: "other" })).kind, "tsvector");
    assert.equal((await fixture.find({ textColumn: "title" })).kind, "tsvector");
    await fixture.query("UPDATE postern.keyword_indexes SET format = 99");
    assert.equal((await fixture.find()).kind, "tsvector");
  },
);

testWithPostgres("what an index says of itself: its number, documents and staleness", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.build();
  const found = await fixture.find();
  assert.ok(found.kind === "postern");
  assert.deepEqual(found, {
    kind: "postern",
    ...source,
    id: 1,
    config: "pg_catalog.english",
    grams: false,
    hasLeakproofKey: true,
    documents: 4,
    staleness: 0,
  });
  await fixture.query("DELETE FROM docs WHERE id > 2; ANALYZE postern.keyword_1_documents");
  const stale = await fixture.find();
  assert.equal(stale.kind === "postern" && stale.staleness, 0.5);
});

testWithPostgres("a table or a column that is not there is named", async () => {
  await using fixture = await createKeywordFixture(docs);
  await assert.rejects(fixture.find({ table: "nowhere" }), {
    code: "not_found",
    message: 'Cannot rank "nowhere" by keywords: there is no such table',
  });
  await assert.rejects(fixture.find({ textColumn: "text" }), {
    message: 'Cannot rank "docs" by keywords: it has no column "text"',
  });
});
