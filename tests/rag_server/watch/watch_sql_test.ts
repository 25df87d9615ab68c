import assert from "node:assert/strict";
import { runSql, testWithPgvectorServer } from "../../support/database.ts";
import { createLimitedRole } from "../../support/limited_role.ts";
import { createWatchFixture, numbered } from "./watch_fixture.ts";

testWithPgvectorServer("the queue gets what has no vector, and follows each kind of write", async () => {
  await using fixture = await createWatchFixture();
  const { query, waiting } = fixture;
  await query("INSERT INTO docs (body, embedding) VALUES ('old', NULL), ('done', '[4,1]'), (NULL, NULL)");
  await fixture.setUp();
  assert.deepEqual(await waiting(), ["1"]);
  await query("INSERT INTO docs (body) VALUES ('new'); UPDATE docs SET body = 'changed' WHERE id = 2");
  await query(
    "INSERT INTO docs (id, body) VALUES (4, 'upsert') ON CONFLICT (id) DO UPDATE SET body = 'upserted'",
  );
  await query("COPY docs (id, body) FROM PROGRAM 'echo 9,copied' (FORMAT csv)");
  assert.deepEqual(await waiting(), ["1", "2", "4", "9"]);
  await query("BEGIN; INSERT INTO docs (body) VALUES ('x'); ROLLBACK");
  assert.deepEqual(await waiting(), ["1", "2", "4", "9"]);
  await query("DELETE FROM docs WHERE id IN (1, 9)");
  await query("DELETE FROM postern.embedding_queue WHERE key IN ('2', '4')");
  // a worker finds out that no row has the ids
  const embedding = numbered();
  await fixture.work(embedding);
  assert.deepEqual([await waiting(), embedding.texts], [[], []]);
  await query("UPDATE docs SET body = 'again'");
  assert.deepEqual(await waiting(), ["2", "3", "4"]);
  await query("TRUNCATE docs");
  assert.deepEqual(await waiting(), []);
});

testWithPgvectorServer(
  "a write that leaves the text alone, or brings a vector, puts nothing into the queue",
  async () => {
    await using fixture = await createWatchFixture();
    await fixture.setUp();
    await fixture.query(
      "INSERT INTO docs (body, embedding) VALUES ('a', '[1,1]'); UPDATE docs SET note = 'x', body = body",
    );
    assert.deepEqual(await fixture.waiting(), []);
  },
);

testWithPgvectorServer("texts that a collation takes for equal are different texts", async () => {
  await using fixture = await createWatchFixture(`
    CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    CREATE TABLE docs (id int PRIMARY KEY, body text COLLATE any_case, embedding vector(2))`);
  await fixture.setUp();
  await fixture.query("INSERT INTO docs VALUES (1, 'us', '[2,1]'); UPDATE docs SET body = 'US'");
  assert.deepEqual(await fixture.waiting(), ["1"]);
});

for (
  const [type, id] of [
    ["uuid", "2b1c6a3e-0f6e-4f1a-9a39-0d6c7f3a5b11"],
    ["text", `it's "x" \\`],
    [
      "timestamptz",
      "2026-03-01 12:00:00.123456+00",
    ],
    ["float8", "0.1234567890123456"],
    ["bytea", "\\x00ff"],
    ["interval", "P-1DT2H3M4S"],
    ["money", "1234.5"],
    ["moment", "2026-03-01 12:00+00"],
  ] as const
) {
  testWithPgvectorServer(`rows with an id of type ${type} are embedded`, async () => {
    await using fixture = await createWatchFixture(
      `CREATE DOMAIN moment AS timestamptz;
      CREATE TABLE docs ("the Id" ${type} PRIMARY KEY, body text, embedding vector(2));
      CREATE VIEW ids AS SELECT "the Id" AS id, body, embedding FROM docs`,
    );
    const write = async () => {
      await fixture.query(`INSERT INTO docs VALUES ($id$${id}$id$, 'text')`);
      const [[key] = []] = await fixture.query("SELECT key FROM postern.embedding_queue");
      return key;
    };
    await fixture.setUp();
    const plain = await write();
    await fixture.query("TRUNCATE docs");
    const settings = {
      datestyle: "SQL, DMY",
      timezone: "Asia/Tokyo",
      intervalstyle: "sql_standard",
      extra_float_digits: "-5",
      bytea_output: "escape",
    };
    for (const [name, value] of Object.entries(settings)) {
      await fixture.query(`ALTER DATABASE ${fixture.admin.name} SET ${name} = '${value}'`);
    }
    assert.equal(await write(), plain);
    await fixture.query("DELETE FROM postern.embedding_queue");
    // what finds the rows that are there already writes the same
    await fixture.setUp();
    assert.deepEqual(await fixture.waiting(), [plain]);
    await fixture.work();
    assert.deepEqual(await fixture.query("SELECT embedding FROM docs"), [["[4,1]"]]);
    assert.deepEqual(await fixture.waiting(), []);
  });
}

testWithPgvectorServer("a generated text, of several columns, is embedded as it changes", async () => {
  await using fixture = await createWatchFixture(
    `CREATE TABLE docs (id int PRIMARY KEY, title text, rest text,
    body text GENERATED ALWAYS AS (title || ' ' || rest) STORED, embedding vector(2))`,
  );
  await fixture.setUp();
  await fixture.query("INSERT INTO docs (id, title, rest) VALUES (1, 'ab', 'c')");
  await fixture.work();
  await fixture.query("UPDATE docs SET title = 'abc'");
  assert.deepEqual(await fixture.stale(), ["1"]);
  await fixture.work();
  assert.deepEqual(await fixture.stale(), []);
});

testWithPgvectorServer(
  "rows of partitions are embedded, those that move and of partitions made later too",
  async () => {
    await using fixture = await createWatchFixture(
      `CREATE TABLE docs (id int, part int, body text, embedding vector(2), PRIMARY KEY (id, part)) PARTITION BY LIST (part);
    CREATE TABLE one PARTITION OF docs FOR VALUES IN (1)`,
      { idColumn: "id" },
    );
    await fixture.setUp();
    await fixture.query(`CREATE TABLE two PARTITION OF docs FOR VALUES IN (2);
    INSERT INTO docs VALUES (1, 1, 'ab'), (2, 2, 'abc'); INSERT INTO two VALUES (3, 2, 'abcd')`);
    await fixture.work();
    assert.deepEqual(await fixture.stale(), []);
    await fixture.query("UPDATE docs SET part = 2, body = 'moved' WHERE id = 1");
    assert.deepEqual(await fixture.stale(), ["1"]);
    await fixture.work();
    assert.deepEqual(await fixture.stale(), []);
  },
);

testWithPgvectorServer(
  "a row that shares its id keeps its place in the queue where the other goes",
  async () => {
    await using fixture = await createWatchFixture(
      "CREATE TABLE docs (id int, k text, body text, embedding vector(2), PRIMARY KEY (id, k))",
      { idColumn: "id" },
    );
    const { query } = fixture;
    await fixture.setUp();
    await query(
      "INSERT INTO docs SELECT id, k, 'ab' FROM unnest(ARRAY['a', 'b']) k, generate_series(1, 3) id",
    );
    // set aside: it may have been the other's fault
    await query("UPDATE postern.embedding_queue SET reason = 'refused' WHERE key = '3'");
    await query(
      "DELETE FROM docs WHERE id <> 2 AND k = 'a'; UPDATE docs SET id = 4 WHERE id = 2 AND k = 'a'",
    );
    assert.deepEqual(await fixture.waiting(), ["1", "2", "3", "4"]);
    await fixture.work();
    assert.deepEqual([await fixture.stale(), await fixture.waiting()], [[], []]);
  },
);

testWithPgvectorServer("views are refused by name, and tables whose rows cannot be told apart", async () => {
  await using fixture = await createWatchFixture(
    "CREATE TABLE docs (body text, embedding vector(2)); CREATE VIEW seen AS SELECT 1 AS id, body, embedding FROM docs",
  );
  await assert.rejects(fixture.look(), {
    message: 'Cannot watch table "docs": it has no primary key of one column; name the id_column',
  });
  await using ofView = await createWatchFixture(
    "CREATE TABLE t (id int, body text, embedding vector(2)); CREATE VIEW docs AS SELECT * FROM t",
    { idColumn: "id" },
  );
  await assert.rejects(ofView.look(), {
    message:
      'Cannot watch table "docs": it is a view, which has no rows of its own; watch the table that it reads',
  });
});

testWithPgvectorServer("a column has vectors of one model", async () => {
  await using fixture = await createWatchFixture();
  await fixture.setUp();
  await assert.rejects(fixture.look({ model: "test/other" }), {
    code: "conflict",
    message:
      'Cannot embed table "docs": its column "embedding" has vectors of test/numbered, not of test/other; ' +
      "name a new column in reembed",
  });
});

testWithPgvectorServer("a column that took no NULL takes rows without a vector", async () => {
  await using fixture = await createWatchFixture(
    "CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2) NOT NULL)",
  );
  await fixture.setUp();
  await fixture.query("INSERT INTO docs VALUES (1, 'abc')");
  await fixture.work();
  assert.deepEqual(await fixture.stale(), []);
});

testWithPgvectorServer("writers need no rights on the queue, whatever their search_path", async () => {
  await using fixture = await createWatchFixture();
  await using writer = await createLimitedRole(fixture.admin, 5);
  await fixture.setUp();
  await fixture.query(
    `GRANT INSERT, SELECT, UPDATE, DELETE ON docs TO ${writer.name}; GRANT CREATE ON DATABASE ${fixture.admin.name}
      TO ${writer.name}`,
  );
  await runSql(
    writer.url,
    `CREATE SCHEMA mine; CREATE FUNCTION mine.pg_notify(text, text) RETURNS void LANGUAGE sql
      AS $$ SELECT 1 / 0 $$; SET search_path = mine, public, pg_catalog;
    INSERT INTO docs (body) VALUES ('abc'); UPDATE docs SET body = 'abcd'; DELETE FROM docs; INSERT INTO docs (body) VALUES ('x')`,
  );
  assert.deepEqual(await fixture.waiting(), ["1", "2"]);
  await assert.rejects(runSql(writer.url, "SELECT * FROM postern.embedding_queue"), /permission denied/);
});

testWithPgvectorServer("a reader learns how many wait, and not which", async () => {
  await using fixture = await createWatchFixture();
  await using reader = await createLimitedRole(fixture.admin, 5);
  await fixture.setUp({}, { reader: reader.name });
  await fixture.query("INSERT INTO docs (body) VALUES ('abc'), ('abcd')");
  assert.deepEqual(
    await runSql(reader.url, "SELECT waiting, set_aside, vector_column FROM postern.embedding_state"),
    [["2", "0", "embedding"]],
  );
  await assert.rejects(runSql(reader.url, "SELECT * FROM postern.embedding_queue"), /permission denied/);
});

testWithPgvectorServer(
  "the SQL is for the table's owner, and for a schema that is nobody else's",
  async () => {
    await using fixture = await createWatchFixture();
    const { query } = fixture;
    const role = `postern_planter_${crypto.randomUUID().slice(0, 8)}`;
    await query(`CREATE ROLE ${role}; ALTER TABLE docs OWNER TO ${role}`);
    try {
      await assert.rejects(fixture.setUp(), /run this as the owner of public\.docs/);
      await query(`ALTER TABLE docs OWNER TO CURRENT_USER; CREATE SCHEMA postern;
      CREATE TABLE postern.embedding_queue (name text); ALTER TABLE postern.embedding_queue OWNER TO ${role}`);
      await assert.rejects(
        fixture.setUp(),
        new RegExp(`role ${role} owns the schema postern, or a part of it`),
      );
      await query("DROP TABLE postern.embedding_queue");
      await fixture.setUp();
    } finally {
      await query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  },
);
