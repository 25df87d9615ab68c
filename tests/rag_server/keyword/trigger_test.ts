import assert from "node:assert/strict";
import { pg } from "../../../src/postgres/connection.ts";
import { testWithPostgres } from "../../support/database.ts";
import { assertInStep, createKeywordFixture } from "./fixture.ts";

const docs = `CREATE TABLE docs (id int PRIMARY KEY, body text, note text);
  INSERT INTO docs VALUES (1, 'the green whale swims'), (2, 'a red whale'), (3, 'green grass'), (4, NULL)`;

testWithPostgres("an index follows inserts, updates, upserts, deletes and COPY", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.build();
  await assertInStep(fixture);
  await fixture.query("INSERT INTO docs VALUES (5, 'whales eat green plankton'), (6, 'nothing')");
  assert.deepEqual((await fixture.idsOf("whale")).sort(), ["1", "2", "5"]);
  await fixture.query(
    "UPDATE docs SET body = 'a blue whale' WHERE id = 3; UPDATE docs SET body = NULL WHERE id = 2",
  );
  assert.deepEqual((await fixture.idsOf("whale")).sort(), ["1", "3", "5"]);
  assert.deepEqual((await fixture.idsOf("grass")).sort(), []);
  await fixture.query(
    "INSERT INTO docs VALUES (5, 'silence'), (7, 'a whale') ON CONFLICT (id) DO UPDATE SET body = excluded.body",
  );
  assert.deepEqual((await fixture.idsOf("whale")).sort(), ["1", "3", "7"]);
  await fixture.query("DELETE FROM docs WHERE id IN (1, 7)");
  assert.deepEqual((await fixture.idsOf("whale")).sort(), ["3"]);
  await fixture.query("COPY docs (id, body) FROM PROGRAM 'echo 9,orca whale' (FORMAT csv)");
  assert.deepEqual((await fixture.idsOf("whale")).sort(), ["3", "9"]);
  await assertInStep(fixture);
});

testWithPostgres(
  "an index follows ids that change, also among themselves, and nothing that was rolled back",
  async () => {
    await using fixture = await createKeywordFixture(
      docs.replace("PRIMARY KEY", "") + "; ALTER TABLE docs ADD UNIQUE (id) DEFERRABLE",
    );
    await fixture.build();
    await fixture.query("UPDATE docs SET id = id + 1 WHERE id = 4; UPDATE docs SET id = 4 WHERE id = 3");
    await fixture.query("UPDATE docs SET id = -id; UPDATE docs SET id = id + 1");
    await assertInStep(fixture);
    assert.deepEqual(await fixture.idsOf("red"), ["-1"]);
    await fixture.query(
      "BEGIN; INSERT INTO docs VALUES (10, 'whale'); DELETE FROM docs WHERE id = -1; ROLLBACK",
    );
    assert.deepEqual((await fixture.idsOf("whale")).sort(), ["-1", "0"]);
    await assertInStep(fixture);
  },
);

testWithPostgres("an update of other columns leaves the index alone", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.build();
  const rows = () => fixture.query("SELECT doc, xmin::text FROM postern.keyword_1_documents ORDER BY doc");
  const before = await rows();
  await fixture.query("UPDATE docs SET note = 'seen', body = body");
  assert.deepEqual(await rows(), before);
});

testWithPostgres("a text that a BEFORE trigger writes is indexed as written", async () => {
  await using fixture = await createKeywordFixture(`${docs};
    CREATE FUNCTION expand() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN NEW.body := NEW.body || ' ' || coalesce(NEW.note, ''); RETURN NEW; END $$;
    CREATE TRIGGER expand BEFORE INSERT OR UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION expand()`);
  await fixture.build();
  await fixture.query("UPDATE docs SET note = 'submarine' WHERE id = 2");
  assert.deepEqual(await fixture.idsOf("submarine"), ["2"]);
});

testWithPostgres("TRUNCATE empties an index, which goes on", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.build();
  await fixture.query("TRUNCATE docs; INSERT INTO docs VALUES (1, 'a new whale')");
  assert.deepEqual(await fixture.idsOf("whale"), ["1"]);
  await assertInStep(fixture);
});

testWithPostgres("an index that was made while its table was empty answers", async () => {
  await using fixture = await createKeywordFixture("CREATE TABLE docs (id int PRIMARY KEY, body text)");
  await fixture.build();
  assert.deepEqual(await fixture.idsOf("whale"), []);
  await fixture.query(
    "INSERT INTO docs VALUES (1, 'a whale'), (2, 'grass'), (3, 'whales in a row of whales')",
  );
  assert.deepEqual((await fixture.idsOf("whale")).toSorted(), ["1", "3"]);
});

testWithPostgres("a writer with no rights on Postern's schema writes as before", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.query("DROP ROLE IF EXISTS postern_test_writer; CREATE ROLE postern_test_writer");
  try {
    await fixture.query("GRANT INSERT, UPDATE, DELETE, SELECT ON docs TO postern_test_writer");
    await fixture.build();
    await fixture.query(`SET ROLE postern_test_writer; SET search_path = pg_temp;
      INSERT INTO public.docs VALUES (8, 'a whale of a time'); DELETE FROM public.docs WHERE id = 1`);
    assert.deepEqual((await fixture.idsOf("whale")).sort(), ["2", "8"]);
    await assert.rejects(
      fixture.query("SET ROLE postern_test_writer; DELETE FROM postern.keyword_1_documents"),
      /permission denied/,
    );
  } finally {
    await fixture.query("DROP OWNED BY postern_test_writer; DROP ROLE postern_test_writer");
  }
});

testWithPostgres(
  "an index follows a partitioned table, also through its partitions and those to come",
  async () => {
    await using fixture = await createKeywordFixture(`
    CREATE TABLE docs (id int, body text, year int, PRIMARY KEY (id, year)) PARTITION BY LIST (year);
    CREATE TABLE docs_1 PARTITION OF docs FOR VALUES IN (1);
    INSERT INTO docs VALUES (1, 'a whale', 1)`);
    await fixture.build();
    await fixture.query("INSERT INTO docs_1 VALUES (2, 'two whales', 1)");
    await fixture.query(
      "CREATE TABLE docs_2 PARTITION OF docs FOR VALUES IN (2); INSERT INTO docs_2 VALUES (3, 'whale', 2)",
    );
    assert.deepEqual((await fixture.idsOf("whale")).sort(), ["1", "2", "3"]);
    await fixture.query("UPDATE docs SET year = 2, body = 'moved' WHERE id = 1");
    assert.deepEqual((await fixture.idsOf("whale")).sort(), ["2", "3"]);
    assert.deepEqual(await fixture.idsOf("moved"), ["1"]);
    await fixture.query("DROP TABLE docs_2");
    assert.deepEqual(await fixture.idsOf("whale"), ["2"]);
  },
);

testWithPostgres("a column that was renamed stops the index, not the writers", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.build();
  await fixture.query("ALTER TABLE docs RENAME body TO content; INSERT INTO docs VALUES (8, 'whale')");
  await fixture.query("ALTER TABLE docs RENAME content TO body");
  assert.equal((await fixture.find()).kind, "tsvector");
  await assert.rejects(
    fixture.build(),
    /Cannot continue the keyword index of "docs": it no longer follows its table; drop it with -drop-index, then run -index-pipeline again/,
  );
});

testWithPostgres("writers of different rows do not wait for each other", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.build();
  const clients = [1, 2].map(() => new pg.Client({ connectionString: fixture.url }));
  for (const client of clients) {
    await client.connect();
    await client.query("SET lock_timeout = '2s'; BEGIN");
  }
  for (const [at, client] of clients.entries()) {
    await client.query(`INSERT INTO docs VALUES (${20 + at}, 'new whale')`);
  }
  for (const client of clients) await client.query("COMMIT");
  for (const client of clients) await client.end();
  assert.deepEqual((await fixture.idsOf("new")).sort(), ["20", "21"]);
});

testWithPostgres("any text can be written: huge, endless words, odd characters", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.build();
  await fixture.query(
    "INSERT INTO docs SELECT 30, string_agg(md5(i::text), ' ') FROM generate_series(1, 100000) i",
  );
  await fixture.query(
    "INSERT INTO docs VALUES (31, repeat('x', 5000000)), (32, 'smile 😀 \\ '' \" $1 & | ! <-> :*'), (33, '')",
  );
  await fixture.query(
    "INSERT INTO docs SELECT 34, string_agg(chr(65536 + i % 50000) || '-' || chr(66000 + i % 50000), '-') FROM generate_series(1, 200000) i",
  );
  await fixture.query(
    "INSERT INTO docs SELECT 35 + at, string_agg(chr(65536 + i % 50000) || joint, '') FROM generate_series(1, 50000) i, unnest('{/,.,.a-,/-~}'::text[]) WITH ORDINALITY j(joint, at) GROUP BY at",
  );
  assert.deepEqual(await fixture.idsOf("smile 😀"), ["32"]);
  assert.deepEqual(await fixture.query("SELECT count(*) FROM postern.keyword_1_documents"), [["13"]]);
});

testWithPostgres(
  "a text that is read by a cast of somebody's is not read with the rights of the index's owner",
  async () => {
    await using fixture = await createKeywordFixture(docs);
    await fixture.build();
    await fixture.query(`CREATE TYPE animal AS ENUM ('whale');
    CREATE FUNCTION told(animal) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'the cast ran'; END $$;
    CREATE CAST (animal AS text) WITH FUNCTION told(animal);
    ALTER TABLE docs DROP COLUMN body; ALTER TABLE docs ADD body animal;
    INSERT INTO docs (id, body) VALUES (99, 'whale')`);
    assert.deepEqual(await fixture.query("SELECT state FROM postern.keyword_indexes"), [["broken"]]);
  },
);
