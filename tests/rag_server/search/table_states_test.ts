import assert from "node:assert/strict";
import { createDatabase } from "../../../src/postgres/database.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import {
  createTableReader,
  openSearchedTable,
  type SearchedTable,
} from "../../../src/rag_server/search/searched_table.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createSearchFixture } from "../search_fixture.ts";

const setUp = `
  CREATE TABLE indexed (id int PRIMARY KEY, body text, embedding vector(2),
    words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED);
  INSERT INTO indexed SELECT n, 'word ' || n, '[0,1]' FROM generate_series(1, 30) n;
  CREATE INDEX ON indexed USING hnsw (embedding vector_cosine_ops);
  CREATE INDEX ON indexed USING gin (words);
  ANALYZE indexed;
  CREATE TABLE plain (id int PRIMARY KEY, body text, embedding vector(2));
  CREATE SCHEMA postern;
  CREATE TABLE postern.ingested_files (target regclass, ingested_at timestamptz);
  INSERT INTO postern.ingested_files VALUES ('indexed', '2026-03-01 10:00:00.25+00'), ('indexed', '2026-02-01 10:00+00')`;

const columns = { textColumn: "body", vectorColumn: "embedding" };
const { signal } = new AbortController();

testWithPgvector("a table's rows, indexes and latest file are told as the last look found them", async () => {
  await using fixture = await createSearchFixture(setUp);
  const { admin, database } = fixture;
  const open = () =>
    Promise.all(
      ["indexed", "public.plain"].map((table) => openSearchedTable(database, { table, ...columns }, signal)),
    );
  let looked: readonly SearchedTable[] = await open();
  const read = createTableReader(database, () => Promise.resolve(looked));
  const first = [
    {
      name: "indexed",
      rows: 30,
      keyword_index: "tsvector",
      vector_index: "hnsw",
      ingested_at: "2026-03-01T10:00:00.250Z",
    },
    {
      name: "public.plain",
      rows: undefined,
      keyword_index: false,
      vector_index: false,
      ingested_at: undefined,
    },
  ];
  assert.deepEqual(await read(), first);
  await admin.query("INSERT INTO postern.ingested_files VALUES ('plain', '2026-04-01Z')");
  assert.deepEqual(await read(), first);
  looked = await open();
  assert.equal((await read())?.[1]?.ingested_at, "2026-04-01T00:00:00.000Z");
});

testWithPgvector("who may not read what is on record of files is told the rest", async () => {
  await using fixture = await createSearchFixture(setUp);
  const { admin, database: ofAdmin, options } = fixture;
  const role = `postern_test_reader_${crypto.randomUUID().slice(0, 8)}`;
  await admin.query(`CREATE ROLE ${role} LOGIN`);
  const pools = createConnectionPools({ maxConnections: 1, logger: silentLogger });
  try {
    const guard = await createStatementGuard();
    const database = createDatabase({
      options: { ...options, user: role },
      pools,
      guard,
      logger: silentLogger,
    });
    const looked = [await openSearchedTable(ofAdmin, { table: "indexed", ...columns }, signal)];
    const read = createTableReader(database, () => Promise.resolve(looked));
    const [{ vector_index, ingested_at } = assert.fail()] = await read() ?? [];
    assert.deepEqual([vector_index, ingested_at], ["hnsw", undefined]);
  } finally {
    await pools.close();
    await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

testWithPgvector("nothing is told of tables that cannot be looked at", async () => {
  await using fixture = await createSearchFixture(setUp);
  const read = createTableReader(fixture.database, () => Promise.reject(new Error("no table")));
  assert.equal(await read(), undefined);
});
