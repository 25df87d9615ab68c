import { silentLogger } from "../src/core/logger.ts";
import { connect } from "../src/postgres/connect/connect.ts";
import { createConnectionPools } from "../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../src/postgres/database.ts";
import { createStatementGuard } from "../src/postgres/guard/statement_guard.ts";
import { buildKeywordIndex } from "../src/rag_server/keyword/build_keyword_index.ts";
import { openSearchedTable } from "../src/rag_server/search/searched_table.ts";
import { createRetriever, type Retriever } from "../src/rag_server/search/retriever.ts";
import { createTestDatabase, type TestDatabase } from "../tests/support/database.ts";
import { databaseOptions } from "../tests/support/database_options.ts";
import { corpusTable, type Cranfield, fillCorpus } from "./corpus.ts";
import { print } from "./measure.ts";

const { signal } = new AbortController();

export interface RagCorpusOptions {
  readonly rows: number;
  readonly cranfield: Cranfield;
  readonly embed: (text: string) => Float32Array;
}

/** A database of its own with a corpus and both indexes, and how long they took. */
export async function createRagCorpus({ rows, cranfield, embed }: RagCorpusOptions): Promise<TestDatabase> {
  await using opening = new AsyncDisposableStack();
  const database = opening.use(await createTestDatabase());
  await database.query(corpusTable);
  const fill = () =>
    fillCorpus({ url: database.url, rows, cranfield, embed: (title, body) => embed(`${title} ${body}`) });
  await timeOf(`${rows} rows: filled`, fill);
  await timeOf(`${rows} rows: keyword index`, async () => {
    const connection = await connect(databaseOptions(database.url), { signal, logger: silentLogger });
    const columns = { table: "documents", textColumn: "body", idColumn: "id" };
    await buildKeywordIndex({ connection, signal, ...columns });
    await connection.close();
  });
  await timeOf(`${rows} rows: HNSW index`, () =>
    database.query(`SET maintenance_work_mem = '3GB';
      CREATE INDEX ON documents USING hnsw (embedding vector_cosine_ops)`));
  await database.query("VACUUM ANALYZE documents");
  opening.move();
  return database;
}

async function timeOf(what: string, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await work();
  print(what, `${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
}

/** The server's own retrieval, without the server: both searches, and each alone. */
export interface Retrievers extends AsyncDisposable {
  readonly hybrid: Retriever;
  readonly vectors: Retriever;
  readonly words: Retriever;
}

export async function openRetrievers(url: string): Promise<Retrievers> {
  const pools = createConnectionPools({ maxConnections: 2, logger: silentLogger });
  const guard = await createStatementGuard();
  const database = createDatabase({ options: databaseOptions(url), pools, guard, logger: silentLogger });
  const settings = { table: "documents", textColumn: "body", vectorColumn: "embedding", idColumn: "id" };
  const table = await openSearchedTable(database, settings, signal);
  const open = (vectorWeight: number) =>
    createRetriever({
      database,
      tables: [table],
      search: { hybridEnabled: true, vectorWeight },
      logger: silentLogger,
    });
  return {
    hybrid: open(0.5),
    vectors: open(1),
    words: open(0),
    [Symbol.asyncDispose]: () => pools.close(),
  };
}
