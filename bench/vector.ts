/**
 * What retrieval costs and finds, on corpora of a size of your choice: recall of the vector search against an exact scan,
 * and how long a hybrid search takes, by how many rows a filter leaves. Needs TEST_DATABASE_URL and a folder with the
 * Cranfield collection.
 *
 *     deno run -A bench/vector.ts CRANFIELD [ROWS]
 */
import { silentLogger } from "../src/core/logger.ts";
import { connect } from "../src/postgres/connect/connect.ts";
import { createConnectionPools } from "../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../src/postgres/database.ts";
import { createStatementGuard } from "../src/postgres/guard/statement_guard.ts";
import { buildKeywordIndex } from "../src/rag_server/keyword/build_keyword_index.ts";
import type { Filter } from "../src/rag_server/query.ts";
import { openSearchedTable } from "../src/rag_server/search/searched_table.ts";
import { createRetriever } from "../src/rag_server/search/retriever.ts";
import { createTestDatabase, runSql } from "../tests/support/database.ts";
import { databaseOptions } from "../tests/support/database_options.ts";
import { corpusDimensions, corpusTable, fillCorpus, readCranfield } from "./corpus.ts";
import { print } from "./measure.ts";
import { createRandom } from "./random.ts";

const [folder = "", count = "20000"] = Deno.args;
const rows = Number(count);
const questions = 20;
const filters: Record<string, string | undefined> = {
  "all": undefined,
  "50 %": "c2",
  "5 %": "c20",
  "0.1 %": "c1000",
};

await using admin = await createTestDatabase();
const cranfield = await readCranfield(folder);
const { embed, question } = clusteredVectors(corpusDimensions);
await admin.query(corpusTable);
await fillCorpus({ url: admin.url, rows, cranfield, embed });
await admin.query(
  "SET maintenance_work_mem = '2GB'; CREATE INDEX ON documents USING hnsw (embedding vector_cosine_ops)",
);
await using pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
const guard = await createStatementGuard();
const database = createDatabase({ options: databaseOptions(admin.url), pools, guard, logger: silentLogger });
const { signal } = new AbortController();
const builder = await connect(databaseOptions(admin.url), { signal, logger: silentLogger });
await buildKeywordIndex({
  connection: builder,
  table: "documents",
  textColumn: "body",
  idColumn: "id",
  signal,
});
await builder.close();
await admin.query("ANALYZE");
const table = await openSearchedTable(database, {
  table: "documents",
  textColumn: "body",
  vectorColumn: "embedding",
}, signal);
const [hybrid, vectors, words] = [0.5, 1, 0].map((vectorWeight) =>
  createRetriever({
    database,
    tables: [table],
    search: { hybridEnabled: true, vectorWeight },
    logger: silentLogger,
  })
);

for (const [name, category] of Object.entries(filters)) {
  const recall: number[] = [];
  const [inOne, inTwo, vectorsAlone]: number[][] = [[], [], []];
  for (const { text } of cranfield.questions.slice(0, questions)) {
    const embedding = question();
    const request = {
      question: text,
      embedding,
      limit: 10,
      hybrid: true,
      signal,
      ...(category !== undefined && { filter: categoryFilter(category) }),
    };
    inOne?.push(await timed(() => hybrid?.retrieve(request)));
    inTwo?.push(await timed(() => Promise.all([vectors?.retrieve(request), words?.retrieve(request)])));
    vectorsAlone?.push(await timed(() => vectors?.retrieve(request)));
    const found = (await vectors?.retrieve(request) ?? []).map(({ id }) => id ?? "");
    const exact = await exactIds(embedding, category);
    recall.push(exact.filter((id) => found.includes(id)).length / exact.length);
  }
  const mean = recall.reduce((sum, share) => sum + share, 0) / recall.length;
  print(`${rows} rows, ${name}: recall@10 of the vector search`, mean.toFixed(3));
  print(`${rows} rows, ${name}: vector search alone`, spread(vectorsAlone));
  print(`${rows} rows, ${name}: both searches in one statement`, spread(inOne));
  print(`${rows} rows, ${name}: each search on a connection of its own`, spread(inTwo));
}

function categoryFilter(category: string): Filter {
  return { conditions: [{ column: "category", operator: "=", value: category }], logic: "AND" };
}

async function exactIds(embedding: Float32Array, category: string | undefined): Promise<string[]> {
  const condition = category === undefined ? "true" : `category = '${category}'`;
  const found = await runSql(
    admin.url,
    `SET enable_indexscan = off; SELECT id FROM documents WHERE ${condition}
      ORDER BY embedding <=> '[${embedding.join(",")}]' LIMIT 10`,
  );
  return found.map(([id]) => String(id));
}

async function timed(work: () => Promise<unknown> | undefined): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function spread(times: readonly number[] = []): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => `${sorted[Math.floor(sorted.length * share)]?.toFixed(1)} ms`;
  return `p50 ${at(0.5)}, p95 ${at(0.95)}`;
}

/** Vectors around 200 centres, and questions near one of them. */
function clusteredVectors(dimensions: number) {
  const random = createRandom(1);
  const gaussian = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const centres = Array.from({ length: 200 }, () => Array.from({ length: dimensions }, gaussian));
  const near = () =>
    (centres[Math.floor(random() * centres.length)] ?? []).map((value) => value + 0.9 * gaussian());
  return { embed: near, question: () => Float32Array.from(near()) };
}
