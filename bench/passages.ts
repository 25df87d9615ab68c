/**
 * What a question through the RAG server adds to the provider's time, and how many a second clients get, on passages and
 * embeddings of your own: those of a model make other neighbours than the generated ones of `bench:rag`.
 *
 *   TEST_DATABASE_URL=postgres://… deno run -A bench/passages.ts FOLDER [ROWS…]
 *
 * FOLDER holds `passages.json` and `questions.json`, arrays of texts, and their embeddings one after the other, as 32-bit
 * floats (little-endian): `passages.f32` and `questions.f32`. ROWS: how many passages; all of them where absent.
 * PEER_RAG_SERVER names an executable of pgEdge's RAG server: where it is set, that is measured beside Postern instead.
 */
import { silentLogger } from "../src/core/logger.ts";
import { connect } from "../src/postgres/connect/connect.ts";
import { pg } from "../src/postgres/connection.ts";
import { buildKeywordIndex } from "../src/rag_server/keyword/build_keyword_index.ts";
import { createVendor } from "../tests/llm/wire/vendors/vendor.ts";
import { createTestDatabase, type TestDatabase } from "../tests/support/database.ts";
import { databaseOptions } from "../tests/support/database_options.ts";
import { pipelineDatabase, type RagConfig, startRagServer } from "../tests/support/rag_server.ts";
import { startRagPeer } from "./peer.ts";
import { type Embedded, measureBesideRagPeer } from "./rag_peer.ts";
import { measureSearchLoad } from "./search_load.ts";

const [folder = ".", ...sizes] = Deno.args;
const { signal } = new AbortController();
const rowsPerInsert = 1_000;

async function readEmbedded(name: string): Promise<Embedded> {
  const texts: string[] = JSON.parse(await Deno.readTextFile(`${folder}/${name}.json`));
  const { buffer } = await Deno.readFile(`${folder}/${name}.f32`);
  const numbers = new Float32Array(buffer);
  const dimensions = numbers.length / texts.length;
  if (!Number.isInteger(dimensions)) throw new Error(`${name}.f32 does not hold a vector for each text`);
  return { texts, vectorOf: (place) => numbers.subarray(place * dimensions, (place + 1) * dimensions) };
}

/** A database of its own with the first passages and both indexes. */
async function createDatabase({ texts, vectorOf }: Embedded, rows: number): Promise<TestDatabase> {
  await using opening = new AsyncDisposableStack();
  const database = opening.use(await createTestDatabase());
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(`CREATE EXTENSION vector;
    CREATE TABLE documents (id int PRIMARY KEY, body text NOT NULL, embedding vector(${
    vectorOf(0).length
  }))`);
  for (let from = 0; from < rows; from += rowsPerInsert) {
    const places = Array.from({ length: Math.min(rowsPerInsert, rows - from) }, (_, at) => from + at);
    await client.query("INSERT INTO documents SELECT * FROM unnest($1::int[], $2::text[], $3::vector[])", [
      places,
      places.map((place) => texts[place]),
      places.map((place) => `[${vectorOf(place).join(",")}]`),
    ]);
  }
  await client.query(`SET maintenance_work_mem = '3GB';
    CREATE INDEX ON documents USING hnsw (embedding vector_cosine_ops)`);
  await client.query("VACUUM ANALYZE documents");
  await client.end();
  const connection = await connect(databaseOptions(database.url), { signal, logger: silentLogger });
  await buildKeywordIndex({ connection, signal, table: "documents", textColumn: "body", idColumn: "id" });
  await connection.close();
  opening.move();
  return database;
}

const passages = await readEmbedded("passages");
const questions = await readEmbedded("questions");
const placeOf = new Map(questions.texts.map((text, place) => [text, place]));
await using stack = new AsyncDisposableStack();
const vendor = stack.use(createVendor("openai", {
  answer: () => ["Yes", "."],
  // what the answer threshold asks is near nothing, so that a model is asked each question
  embed(text) {
    const place = placeOf.get(text);
    return place === undefined
      ? [...questions.vectorOf(0)].map((value) => -value)
      : [...questions.vectorOf(place)];
  },
}));
const subjects = [];
const peers = [];
const peer = Deno.env.get("PEER_RAG_SERVER");
for (const rows of sizes.length === 0 ? [passages.texts.length] : sizes.map(Number)) {
  const database = stack.use(await createDatabase(passages, rows));
  const pipeline = (name: string, changes: RagConfig = {}) => ({
    name,
    database: pipelineDatabase({ name: database.name }),
    tables: [{ table: "documents", text_column: "body", vector_column: "embedding", id_column: "id" }],
    embedding_llm: { provider: "openai", model: "e", base_url: vendor.url },
    rag_llm: { provider: "openai", model: "m", base_url: vendor.url },
    top_n: 10,
    ...changes,
  });
  const pipelines = [pipeline("docs"), pipeline("vectors", { search: { hybrid_enabled: false } })];
  const shown = pipelines.map((pipeline) => ({ ...pipeline, allow_include_sources: true }));
  const running = stack.use(await startRagServer({ pipelines: shown }));
  subjects.push({ rows, running });
  if (peer === undefined) continue;
  const ours = { name: "Postern", url: running.client.url, pid: running.process.pid };
  const theirs = stack.use(await startRagPeer(peer, { pipelines }));
  peers.push({ rows, database: database.url, servers: [ours, { ...theirs, name: "pgEdge's" }] });
}
if (peer === undefined) await measureSearchLoad({ subjects, vendor, questions: questions.texts });
else await measureBesideRagPeer({ subjects: peers, questions });
