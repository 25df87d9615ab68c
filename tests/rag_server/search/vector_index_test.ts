import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import type { Connection } from "../../../src/postgres/connection.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { buildVectorIndex } from "../../../src/rag_server/search/build_vector_index.ts";
import { testWithPgvector, testWithPgvectorServer } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { createSearchFixture } from "../search_fixture.ts";

const signal = new AbortController().signal;
const columns = "id int, body text, year int, embedding vector(3)";
const partitioned = `CREATE TABLE docs (${columns}) PARTITION BY LIST (year);
  CREATE TABLE docs_1 PARTITION OF docs FOR VALUES IN (1);
  CREATE TABLE docs_n PARTITION OF docs FOR VALUES IN (2, 3) PARTITION BY LIST (year);
  CREATE TABLE docs_2 PARTITION OF docs_n FOR VALUES IN (2);
  INSERT INTO docs SELECT i, 'text', 1 + i % 2, '[1,2,3]' FROM generate_series(1, 100) i`;

async function createFixture(setUp: string) {
  const fixture = await createSearchFixture(setUp);
  const open = (statementTimeoutMs: number) =>
    connect(databaseOptions(fixture.admin.url, { statementTimeoutMs }), { signal, logger: silentLogger });
  // no build is as quick as that while a writer's transaction is open
  const connection = await open(500);
  return {
    query: fixture.admin.query,
    open: () => open(60_000),
    async build(
      name: string,
      changes: Partial<Parameters<typeof buildVectorIndex>[0]> = {},
    ) {
      const table = await fixture.readTable({ table: name, idColumn: "id" });
      return await buildVectorIndex({ connection, table, dimensions: 3, signal, ...changes });
    },
    /** Tables, and whether they have a valid HNSW index, which is a part of their parent's. */
    indexes: () =>
      fixture.admin.query(`SELECT i.indrelid::regclass::text, i.indisvalid, x.relispartition
        FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_opclass o ON o.oid = i.indclass[0]
        WHERE o.opcname = 'vector_cosine_ops' ORDER BY 1`),
    async [Symbol.asyncDispose]() {
      await connection.close();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

const whole = [
  ["docs", "t", "f"],
  ["docs_1", "t", "t"],
  ["docs_2", "t", "t"],
  ["docs_n", "t", "t"],
];

testWithPgvector("every partition gets a vector index, and those to come", async () => {
  await using fixture = await createFixture(partitioned);
  assert.equal(await fixture.build("docs"), "built");
  assert.deepEqual(await fixture.indexes(), whole);
  assert.equal(await fixture.build("docs"), "was there");
  await fixture.query("CREATE TABLE docs_3 PARTITION OF docs_n FOR VALUES IN (3)");
  assert.equal((await fixture.indexes()).length, 5);
});

testWithPgvector("of a column without a length, vectors of the provider's length are indexed", async () => {
  await using fixture = await createFixture(`CREATE TABLE docs (id int, body text, embedding vector);
    INSERT INTO docs VALUES (1, 'one', '[1,2,3]'), (2, 'of another model', '[1]')`);
  assert.equal(await fixture.build("docs"), "built");
  assert.deepEqual(await fixture.indexes(), [["docs", "t", "f"]]);
  assert.equal(await fixture.build("docs"), "was there");
});

testWithPgvector("an index over vectors of another length does not stand in for the provider's", async () => {
  const ofOne = "USING hnsw ((embedding::vector(1)) vector_cosine_ops) WHERE vector_dims(embedding) = 1";
  await using fixture = await createFixture(`
    CREATE TABLE docs (id int, body text, embedding vector); CREATE INDEX ON docs ${ofOne};
    CREATE TABLE parted (id int, body text, embedding vector) PARTITION BY LIST (id);
    CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1); CREATE INDEX ON parted ${ofOne};
    INSERT INTO docs VALUES (1, 'one', '[1,2,3]'), (1, 'of another model', '[1]');
    INSERT INTO parted SELECT * FROM docs`);
  assert.equal(await fixture.build("docs"), "built");
  assert.equal(await fixture.build("docs"), "was there");
  assert.equal(await fixture.build("parted"), "built");
  assert.equal(await fixture.build("parted"), "was there");
  assert.deepEqual((await fixture.indexes()).map(([table]) => table), [
    "docs",
    "docs",
    "parted",
    "parted",
    "parted_1",
    "parted_1",
  ]);
});

testWithPgvector("a run that was stopped among the partitions is gone on with", async () => {
  await using fixture = await createFixture(partitioned);
  await fixture.build("docs_1");
  await fixture.query(`ALTER INDEX docs_1_embedding_idx RENAME TO postern_vector_tmp`);
  const [oid] = await fixture.query("SELECT 'docs_1'::regclass::oid");
  await fixture.query(`ALTER INDEX postern_vector_tmp RENAME TO postern_vector_${oid?.[0]}`);
  assert.equal(await fixture.build("docs"), "built");
  assert.deepEqual(await fixture.indexes(), whole);
});

testWithPgvector("a partition's own index of another kind stays as it is", async () => {
  await using fixture = await createFixture(
    `${partitioned}; CREATE INDEX ON docs_1 USING ivfflat (embedding vector_l2_ops) WITH (lists = 1)`,
  );
  assert.equal(await fixture.build("docs"), "built");
  assert.deepEqual(await fixture.indexes(), [["docs_2", "t", "f"]]);
  assert.equal(await fixture.build("docs"), "was there");
});

testWithPgvector("a table gets a vector index once, a materialized view too, and a view none", async () => {
  await using fixture = await createFixture(`CREATE TABLE docs (${columns});
    CREATE MATERIALIZED VIEW kept AS SELECT * FROM docs; CREATE VIEW seen AS SELECT * FROM docs`);
  assert.equal(await fixture.build("seen"), "not a table");
  assert.equal(await fixture.build("kept"), "built");
  assert.equal(await fixture.build("docs"), "built");
  assert.equal(await fixture.build("docs"), "was there");
  assert.equal(await fixture.build("seen"), "was there");
});

/** Writes to a table in a transaction that stays open, for which builds of its indexes wait. */
async function openWriter(connection: Connection) {
  await connection.client.query("BEGIN");
  await connection.client.query("INSERT INTO docs (id, body) VALUES (1, 'late')");
  return {
    processId: connection.processId,
    commit: () => connection.client.query("COMMIT"),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

testWithPgvectorServer(
  "a build takes longer than the timeouts of its connection, and tells how far it is",
  async () => {
    await using fixture = await createFixture(`CREATE TABLE docs (${columns});
    INSERT INTO docs SELECT i, 'text', 1, '[1,2,3]' FROM generate_series(1, 100) i`);
    await using writer = await openWriter(await fixture.open());
    const phases: string[] = [];
    const built = await fixture.build("docs", {
      onProgress({ phase, done, total }) {
        phases.push(`${done} of ${total} ${phase}`);
        void writer.commit();
      },
    });
    assert.equal(built, "built");
    assert.equal(
      phases[0],
      `0 of 1 transactions that the vector index waits for, now process ${writer.processId}`,
    );
    assert.deepEqual(await fixture.indexes(), [["docs", "t", "f"]]);
  },
);

testWithPgvectorServer(
  "a build that is stopped names the index that it leaves, which the next run drops",
  async () => {
    await using fixture = await createFixture(`CREATE TABLE docs (${columns})`);
    await using writer = await openWriter(await fixture.open());
    const stop = new AbortController();
    const notes: string[] = [];
    const building = fixture.build("docs", {
      signal: stop.signal,
      onProgress: () => stop.abort(new Error("enough")),
      onNote: (note) => notes.push(note),
    });
    await assert.rejects(building, { message: "enough" });
    assert.deepEqual(
      await fixture.query("SELECT FROM pg_stat_progress_create_index WHERE datname = current_database()"),
      [],
    );
    assert.deepEqual(await fixture.indexes(), [["docs", "f", "f"]]);
    await writer.commit();
    assert.equal(await fixture.build("docs", { onNote: (note) => notes.push(note) }), "built");
    assert.deepEqual(notes, [
      "index public.docs_embedding_idx is left unfinished, and writes keep it up for nothing until the next run drops it",
      "dropped index public.docs_embedding_idx, which an earlier run left unfinished",
    ]);
    assert.deepEqual(await fixture.indexes(), [["docs", "t", "f"]]);
  },
);

testWithPgvectorServer(
  "an index is not made while another of the table is, nor that taken for unfinished",
  async () => {
    await using fixture = await createFixture(`CREATE TABLE docs (${columns})`);
    await using writer = await openWriter(await fixture.open());
    const other = await fixture.open();
    const building = fixture.build("docs", { connection: other, onProgress: () => told.resolve() });
    const told = Promise.withResolvers<void>();
    await told.promise;
    await assert.rejects(fixture.build("docs"), {
      code: "conflict",
      message:
        `Cannot make the vector index of "docs": PostgreSQL's process ${other.processId} makes an index of it; run ` +
        "this again when that has ended, or end what a killed run left with SELECT " +
        `pg_terminate_backend(${other.processId})`,
    });
    await writer.commit();
    assert.equal(await building, "built");
    assert.deepEqual(await fixture.indexes(), [["docs", "t", "f"]]);
    await other.close();
  },
);
