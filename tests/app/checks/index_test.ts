import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { testWithPgvector, testWithPgvectorServer } from "../../support/database.ts";
import { assertFault, assertFine, createDoctorFixture } from "./fixture.ts";

/** A table of so many rows with vectors of three dimensions. */
const tableOf = (rows: number, column = "vector(3)") => `
  CREATE TABLE docs (id bigint PRIMARY KEY, body text, embedding ${column}, kind int, tags text[]);
  INSERT INTO docs SELECT n, 'text ' || n, format('[%s,1,%s]', n % 97, n % 89)::vector, n, '{a}'
    FROM generate_series(1, ${rows}) n;
  ANALYZE docs;`;

const vectorIndex = "vector index of docs";
const keywordIndex = "keyword index of docs";

testWithPgvector("the doctor finds a missing vector index of a large table", async () => {
  await using fixture = await createDoctorFixture(tableOf(10_000));
  const look = () => fixture.look(vectorIndex);
  const message = "There is no vector index, so every question reads the vectors of about 10,000 rows";
  const remedy = assertFault(await look(), "warning", message);
  assert.equal(remedy, "CREATE INDEX CONCURRENTLY ON public.docs USING hnsw (embedding vector_cosine_ops);");
  await fixture.apply(remedy);
  const results = await look();
  assertFine(results);
  assert.deepEqual(results, [{ check: vectorIndex, ok: true, note: "hnsw, cosine" }]);
}, "a large table");

testWithPgvector(
  "the doctor's vector index fits the column: long, without dimensions, partitioned, below a view",
  async () => {
    await using fixture = await createDoctorFixture(`${tableOf(10_000, "vector")}
    CREATE TABLE long (id int PRIMARY KEY, body text, embedding vector(2500));
    INSERT INTO long SELECT n, 'x', array_fill(n, '{2500}')::vector FROM generate_series(1, 3) n;
    CREATE TABLE parted (id int PRIMARY KEY, body text, embedding halfvec(3)) PARTITION BY RANGE (id);
    CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (20000);
    INSERT INTO parted SELECT id, body, embedding::halfvec(3) FROM docs;
    INSERT INTO docs VALUES (20000, 'of another length', '[1]');
    ANALYZE;
    UPDATE pg_class SET reltuples = 12000 WHERE relname = 'long'`);
    for (const table of ["docs", "long", "parted"]) {
      const look = () => fixture.look(`vector index of ${table}`, { table });
      await fixture.apply(assertFault(await look(), "warning", /^There is no vector index/));
      assertFine(await look());
    }
    await fixture.admin.query(
      "DROP INDEX docs_embedding_idx; CREATE INDEX other ON docs USING hnsw ((embedding::vector(1)) vector_cosine_ops) WHERE vector_dims(embedding) = 1",
    );
    const other =
      /^No question uses index public\.other on .*vector\(1\).*: expected an index on the column itself/;
    assertFault(await fixture.look(vectorIndex), "warning", other);
    await fixture.admin.query("DROP INDEX other; CREATE VIEW seen AS SELECT * FROM docs");
    const seen = () => fixture.look("vector index of seen", { table: "seen", idColumn: "id" });
    await fixture.apply(assertFault(await seen(), "warning", /^There is no vector index/));
    assertFine(await seen());
  },
  "a large table",
);

testWithPgvector(
  "the doctor finds a vector index that is broken, of another distance or of no use",
  async () => {
    await using fixture = await createDoctorFixture(
      `${tableOf(100)} CREATE INDEX nearest ON docs USING hnsw (embedding vector_l2_ops)`,
    );
    const look = () => fixture.look(vectorIndex);
    const distance =
      "The vector index uses Euclidean distance, but similarity is cosine: searches may miss the nearest documents";
    await fixture.apply(assertFault(await look(), "warning", distance));
    assertFine(await look());
    await fixture.admin.query(
      "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'docs_embedding_idx'::regclass",
    );
    const broken =
      "Index public.docs_embedding_idx is not valid, because building it failed: it slows down every write, and no question uses it";
    await fixture.apply(assertFault(await look(), "warning", broken));
    assertFine(await look());
    await fixture.admin.query(
      "DROP INDEX docs_embedding_idx; CREATE INDEX bits ON docs USING hnsw ((binary_quantize(embedding)::bit(3)) bit_hamming_ops)",
    );
    const useless =
      /^No question uses index public\.bits on .*binary_quantize.*: expected an index on the column itself/;
    await fixture.apply(assertFault(await look(), "warning", useless));
    assertFine(await look());
  },
);

testWithPgvector("the doctor finds a vector index that no question uses", async () => {
  const setUp = `${tableOf(5_000)} CREATE INDEX nearest ON docs USING hnsw (embedding vector_cosine_ops);
    CREATE VIEW seen AS SELECT DISTINCT ON (id) * FROM docs;
    CREATE TABLE few AS SELECT * FROM docs LIMIT 500;
    CREATE INDEX ON few USING hnsw (embedding vector_cosine_ops); ANALYZE few`;
  await using without = await createDoctorFixture(setUp, { sessionSettings: { enable_indexscan: "off" } });
  const rather =
    "PostgreSQL would rather compare the vectors of about 5,000 rows than use index public.nearest";
  const remedy = assertFault(await without.look(vectorIndex), "warning", rather);
  assert.match(remedy, /^ANALYZE public\.docs;\n/);
  await without.apply(remedy);
  // all rows of a small table are compared anyway
  assertFine(await without.look("vector index of few", { table: "few", idColumn: "id" }));

  await using fixture = await createDoctorFixture(setUp);
  assertFine(await fixture.look(vectorIndex));
  const cannot =
    "PostgreSQL cannot use index public.nearest for questions to seen, so each compares the vectors of about 5,000 rows";
  assertFault(
    await fixture.look("vector index of seen", { table: "seen", idColumn: "id" }),
    "warning",
    cannot,
  );
}, "a large table");

testWithPgvector(
  "the doctor has the index dropped that it complains of, and none beside a good one",
  async () => {
    const byL2 = "CREATE INDEX z_l2 ON docs USING hnsw (embedding vector_l2_ops)";
    await using fixture = await createDoctorFixture(`${tableOf(100)} ${byL2};
    CREATE INDEX a_cos ON docs USING ivfflat (embedding vector_cosine_ops) WITH (lists = 10)`);
    const look = () => fixture.look(vectorIndex);
    assert.deepEqual(await look(), [{ check: vectorIndex, ok: true, note: "ivfflat, cosine" }]);
    await fixture.admin.query(
      "DROP INDEX a_cos; CREATE INDEX a_some ON docs USING hnsw (embedding vector_cosine_ops) WHERE id < 50",
    );
    const remedy = assertFault(await look(), "warning", /^The vector index uses Euclidean distance/);
    assert.match(remedy, /\nDROP INDEX public\.z_l2;$/);
  },
);

testWithPgvector("the doctor asks for the index of a column's vectors of the provider's length", async () => {
  const ofLength = (name: string, length: number, distance: string) =>
    `CREATE INDEX ${name} ON docs USING hnsw ((embedding::vector(${length})) vector_${distance}_ops)
      WHERE vector_dims(embedding) = ${length}`;
  await using fixture = await createDoctorFixture(`${tableOf(10_000, "vector")}
    INSERT INTO docs VALUES (20000, 'of another length', '[1]');
    ${ofLength("a_one", 1, "cosine")}; ${ofLength("b_three", 3, "l2")}`);
  const look = () => fixture.look(vectorIndex);
  const remedy = assertFault(await look(), "warning", /^The vector index uses Euclidean distance/);
  assert.equal(
    remedy,
    `CREATE INDEX CONCURRENTLY ON public.docs USING hnsw ((embedding::vector(3)) vector_cosine_ops)
  WHERE vector_dims(embedding) = 3;\nDROP INDEX public.b_three;`,
  );
  await fixture.apply(remedy);
  assert.deepEqual(await look(), [{ check: vectorIndex, ok: true, note: "hnsw, cosine" }]);
}, "a large table");

testWithPgvector("the doctor finds ivfflat with lists that do not suit the rows", async () => {
  await using fixture = await createDoctorFixture(
    `${
      tableOf(20_000)
    } CREATE INDEX nearest ON docs USING ivfflat (embedding vector_cosine_ops) WITH (lists = 200)`,
  );
  const look = () => fixture.look(vectorIndex);
  const many =
    "The ivfflat index has 200 lists, which does not suit about 20,000 rows: the nearest documents may be in a list that a question does not read";
  await fixture.apply(assertFault(await look(), "warning", many));
  assertFine(await look());
  await fixture.admin.query("ALTER INDEX nearest SET (lists = 2)");
  assertFault(await look(), "warning", /has 2 lists.*each question reads more than it needs$/);
}, "a large table");

testWithPgvector(
  "the doctor finds a keyword index that is missing, stale, broken or of another configuration",
  async () => {
    await using fixture = await createDoctorFixture(tableOf(1_500));
    const look = (textSearchConfig?: string) =>
      fixture.look(keywordIndex, textSearchConfig === undefined ? {} : { textSearchConfig });
    const make = "server -index-pipeline handbook";
    const remake = `server -drop-index handbook\n${make}`;
    const missing = "There is no keyword index, so questions read the texts of about 1,500 rows";
    assert.equal(assertFault(await look(), "warning", missing), make);
    assert.deepEqual(await fixture.look(keywordIndex, {}, { isHybrid: false }), []);

    await fixture.indexKeywords();
    assert.deepEqual(await look(), [{ check: keywordIndex, ok: true, note: "1,500 documents" }]);
    assertFine(await look("pg_catalog.english"));
    const other = "The keyword index uses text search configuration pg_catalog.english, not german";
    assert.equal(assertFault(await look("german"), "warning", other), remake);

    await fixture.admin.query("DELETE FROM docs WHERE id > 1000");
    await fixture.admin.query("ANALYZE postern.keyword_1_documents");
    const stale =
      "The keyword index has old word counts: 33 % of the documents have changed since it counted";
    assert.equal(assertFault(await look(), "warning", stale), make);
    await fixture.indexKeywords();
    assertFine(await look());

    await fixture.admin.query("UPDATE postern.keyword_indexes SET format = 99");
    assert.equal(
      assertFault(
        await look(),
        "warning",
        /^A newer version of Postern made the keyword index \(format 99 in/,
      ),
      "-- Run that version, or have it drop the index (-drop-index), then make it with this one",
    );

    await fixture.admin.query("UPDATE postern.keyword_indexes SET format = 1");
    const older = "An older version of Postern made the keyword index, so no question uses it";
    assert.equal(assertFault(await look(), "warning", older), remake);

    await fixture.admin.query("UPDATE postern.keyword_indexes SET format = 2, state = 'lists'");
    assert.equal(
      assertFault(await look(), "warning", "The keyword index is unfinished, or is being built now"),
      make,
    );
    await fixture.admin.query("UPDATE postern.keyword_indexes SET state = 'broken'");
    assert.equal(
      assertFault(await look(), "warning", "The keyword index no longer follows its table"),
      remake,
    );
  },
);

testWithPgvector(
  "the doctor finds a keyword index that the role may not read, and a GIN index of another configuration",
  async () => {
    const role = `postern_doctor_${randomBytes(6).toString("hex")}`;
    await using fixture = await createDoctorFixture(
      `${tableOf(1_500)} CREATE ROLE ${role} LOGIN;
    CREATE INDEX ON docs USING gin (to_tsvector('german', body));`,
      { user: role },
    );
    try {
      await fixture.indexKeywords();
      await fixture.admin.query(`GRANT SELECT ON docs TO ${role}`);
      assertFine(await fixture.look("search of docs"));
      assertFault(
        await fixture.look(keywordIndex),
        "warning",
        `Role ${role} may not read the keyword indexes, so no question uses them`,
      );
      // the remedy grants
      await fixture.indexKeywords();
      assertFine(await fixture.look(keywordIndex));
      await fixture.admin.query("DROP SCHEMA postern CASCADE");
      const other = "The text's GIN index uses text search configuration german, not english";
      assertFault(await fixture.look(keywordIndex), "warning", other);
      await fixture.admin.query("DROP TABLE docs CASCADE");
    } finally {
      await fixture.admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  },
);

testWithPgvector(
  "the doctor finds that row-level security leaves a role without a keyword index",
  async () => {
    const role = `postern_doctor_${randomBytes(6).toString("hex")}`;
    await using fixture = await createDoctorFixture(
      `${tableOf(1_500)} CREATE ROLE ${role} LOGIN; GRANT SELECT ON docs TO ${role};`,
      { user: role },
    );
    try {
      await fixture.indexKeywords();
      await fixture.admin.query(`ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
        CREATE POLICY own ON docs USING (true)`);
      const held =
        `There is no keyword index, because row-level security holds role ${role}, so questions read the ` +
        "texts of about 1,500 rows";
      const column = assertFault(await fixture.look(keywordIndex), "warning", held);
      await fixture.apply(column);
      assertFine(await fixture.look(keywordIndex));
    } finally {
      await fixture.admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  },
);

testWithPgvector("the doctor finds a selective filter on columns without an index", async () => {
  await using fixture = await createDoctorFixture(tableOf(10_000));
  const look = (filter: Parameters<typeof fixture.look>[1] = {}) => fixture.look("filter of docs", filter);
  const message =
    'The filter selects few of about 10,000 rows by "kind", and no index begins with that column';
  const conditions = [{ column: "kind", operator: "<" as const, value: 50 }, {
    column: "tags",
    operator: "=" as const,
    value: "a",
  }];
  assertFault(await look({ filter: { conditions, logic: "AND" } }), "warning", message);
  assertFine(await look({ filter: "kind > 50" }));
  // the primary key finds the few
  assertFine(await look({ filter: "id < 50 AND kind < 50" }));
  const words = 'The filter selects few of about 10,000 rows by "body", and no index begins with that column';
  assertFault(await look({ filter: "body = 'kind of ''id'''" }), "warning", words);
  const remedy = assertFault(await look({ filter: '"kind" < 50' }), "warning", message);
  assert.equal(remedy, 'CREATE INDEX CONCURRENTLY ON public.docs ("kind");');
  await fixture.apply(remedy);
  assertFine(await look({ filter: "KIND < 50" }));
}, "a large table");

testWithPgvectorServer("the doctor finds stale statistics and dead rows", async () => {
  await using fixture = await createDoctorFixture(`${tableOf(20)}
    ALTER TABLE docs SET (autovacuum_enabled = off); CREATE TABLE fresh AS SELECT * FROM docs;
    ALTER TABLE fresh SET (autovacuum_enabled = off)`);
  const look = (table = "docs") => fixture.look(`statistics of ${table}`, { table, idColumn: "id" });
  await fixture.admin.query("ANALYZE docs");
  assertFine(await look());
  const never = "public.fresh was never analyzed: PostgreSQL plans without knowing its size";
  await fixture.apply(assertFault(await look("fresh"), "warning", never));
  assertFine(await look("fresh"));
  await fixture.admin.query("INSERT INTO docs SELECT n, 'x', '[1,1,1]' FROM generate_series(100, 1600) n");
  const changed = "1,501 rows of public.docs changed since it was last analyzed";
  await fixture.apply(assertFault(await look(), "warning", changed));
  assertFine(await look());
  await fixture.admin.query("DELETE FROM docs WHERE id >= 100 AND id < 1300");
  const dead = "1,200 dead rows are left in public.docs and its indexes, and searches have to skip them";
  await fixture.apply(assertFault(await look(), "warning", dead));
  assertFine(await look());
});
