/**
 * What retrieval finds with embeddings of the `local` provider, or with those of a model in the folder MODEL (run by the
 * library in ONNXRUNTIME_NODE, where that is given), on the Cranfield collection and on others: each search, and
 * their fusion by several weights of the vector search.
 *
 *   CRANFIELD=folder TEST_DATABASE_URL=postgres://… deno run -A bench/quality.ts
 */
import { silentLogger } from "../src/core/logger.ts";
import { createEmbeddingProvider } from "../src/llm/create_provider.ts";
import { createOnnxModels } from "../src/llm/onnx/onnx_models.ts";
import { connect } from "../src/postgres/connect/connect.ts";
import { createConnectionPools } from "../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../src/postgres/database.ts";
import { pg } from "../src/postgres/connection.ts";
import { createStatementGuard, type StatementGuard } from "../src/postgres/guard/statement_guard.ts";
import { mean, ndcgAt, recallAt, reciprocalRank } from "../src/rag_server/evaluate/metrics.ts";
import { buildKeywordIndex } from "../src/rag_server/keyword/build_keyword_index.ts";
import { openSearchedTable } from "../src/rag_server/search/searched_table.ts";
import { createRetriever, type Retriever, type SearchSettings } from "../src/rag_server/search/retriever.ts";
import { createTestDatabase } from "../tests/support/database.ts";
import { databaseOptions } from "../tests/support/database_options.ts";
import { type Collection, qualityCollections } from "./collections.ts";
import { readCranfield } from "./corpus.ts";
import { print } from "./measure.ts";

const folder = Deno.env.get("CRANFIELD");
if (folder === undefined) throw new Error("CRANFIELD is not set");
const { signal } = new AbortController();
const path = Deno.env.get("MODEL");
const models = createOnnxModels({ libraryPath: Deno.env.get("ONNXRUNTIME_NODE"), logger: silentLogger });
await using onnx = path === undefined ? undefined : await models.open({ path, task: "embedding" });
const embedding = createEmbeddingProvider({
  kind: onnx === undefined ? "local" : "onnx",
  model: "",
  onnx,
  apiKey: () => undefined,
  requestTimeoutMs: 0,
  perAttemptTimeoutMs: 0,
  logger: silentLogger,
});
const weights = onnx === undefined ? [0.01, 0.05, 0.1, 0.2, 0.3, 0.5] : [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9];

async function fill(url: string, documents: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { vectors } = await embedding.embed({ texts: documents, purpose: "document", signal });
  await client.query(`CREATE EXTENSION vector;
    CREATE TABLE documents (id int PRIMARY KEY, body text NOT NULL, embedding vector(${
    vectors[0]?.length
  }))`);
  await client.query("INSERT INTO documents SELECT * FROM unnest($1::int[], $2::text[], $3::vector[])", [
    documents.map((_, place) => place),
    documents,
    vectors.map((vector) => `[${vector.join(",")}]`),
  ]);
  await client.query("ANALYZE documents");
  await client.end();
  const connection = await connect(databaseOptions(url), { signal, logger: silentLogger });
  const columns = { table: "documents", textColumn: "body", idColumn: "id" };
  await buildKeywordIndex({ connection, signal, ...columns });
  await connection.close();
}

async function measure(collection: Collection, guard: StatementGuard): Promise<void> {
  await using fresh = await createTestDatabase();
  await fill(fresh.url, collection.documents);
  await using pools = createConnectionPools({ maxConnections: 1, logger: silentLogger });
  const database = createDatabase({
    options: databaseOptions(fresh.url),
    pools,
    guard,
    logger: silentLogger,
  });
  const settings = { table: "documents", textColumn: "body", vectorColumn: "embedding", idColumn: "id" };
  const table = await openSearchedTable(database, settings, signal);
  const texts = collection.questions.map(({ text }) => text);
  const { vectors } = await embedding.embed({ texts, purpose: "query", signal });
  const measured = async (name: string, search: Omit<SearchSettings, "hybridEnabled">) => {
    const settings = { hybridEnabled: true, ...search };
    const retriever = createRetriever({ database, tables: [table], search: settings, logger: silentLogger });
    print(`${collection.name}: ${name}`, await figures(retriever, collection, vectors));
  };
  await measured("keyword", { vectorWeight: 0 });
  for (const vectorWeight of weights) await measured(`both, ${vectorWeight}`, { vectorWeight });
  await measured("vector", { vectorWeight: 1 });
}

async function figures(
  retriever: Retriever,
  { questions }: Collection,
  vectors: readonly Float32Array[],
): Promise<string> {
  const samples: Record<"nDCG@10" | "recall@10" | "MRR", number[]> = {
    "nDCG@10": [],
    "recall@10": [],
    "MRR": [],
  };
  for (const [place, { text, gains }] of questions.entries()) {
    const embedding = vectors[place] ?? new Float32Array();
    const found = await retriever.retrieve({ question: text, embedding, limit: 10, hybrid: true, signal });
    const ids = found.map(({ id }) => id ?? "");
    samples["nDCG@10"].push(ndcgAt(10, ids, gains));
    samples["recall@10"].push(recallAt(10, ids, gains));
    samples.MRR.push(reciprocalRank(ids, gains));
  }
  return Object.entries(samples).map(([name, values]) => `${name} ${mean(values).toFixed(4)}`).join(", ");
}

const guard = await createStatementGuard();
for (const collection of await qualityCollections(await readCranfield(folder))) {
  await measure(collection, guard);
}
