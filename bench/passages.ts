/**
 * What a question through the RAG server adds to the provider's time, and how many a second clients get, on passages and
 * embeddings of your own: those of a model make other neighbours than the generated ones of `bench:rag`.
 *
 *   TEST_DATABASE_URL=postgres://… deno run -A bench/passages.ts FOLDER [ROWS…]
 *
 * FOLDER holds `passages.json` and `questions.json`, arrays of texts, and their embeddings one after the other, as 32-bit
 * floats (little-endian): `passages.f32` and `questions.f32`. ROWS: how many passages; all of them where absent.
 */
import { silentLogger } from "../src/core/logger.ts";
import { connect } from "../src/postgres/connect/connect.ts";
import { pg } from "../src/postgres/connection.ts";
import { buildKeywordIndex } from "../src/rag_server/keyword/build_keyword_index.ts";
import { createVendor } from "../tests/llm/wire/vendors/vendor.ts";
import { createTestDatabase, type TestDatabase } from "../tests/support/database.ts";
import { databaseOptions } from "../tests/support/database_options.ts";
import { pipelineDatabase, startRagServer } from "../tests/support/rag_server.ts";
import { measureSearchLoad } from "./search_load.ts";

const [folder = ".", ...sizes] = Deno.args;
const { signal } = new AbortController();
const rowsPerInsert = 1_000;

interface Embedded {
  readonly texts: readonly string[];
  vectorOf(place: number): Float32Array;
}

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
  embed: (text) => [...questions.vectorOf(placeOf.get(text) ?? 0)],
}));
const subjects = [];
for (const rows of sizes.length === 0 ? [passages.texts.length] : sizes.map(Number)) {
  const database = stack.use(await createDatabase(passages, rows));
  const running = stack.use(
    await startRagServer({
      pipelines: [{
        name: "docs",
        database: pipelineDatabase({ name: database.name }),
        tables: [{ table: "documents", text_column: "body", vector_column: "embedding", id_column: "id" }],
        embedding_llm: { provider: "openai", model: "e", base_url: vendor.url },
        rag_llm: { provider: "openai", model: "m", base_url: vendor.url },
      }],
    }),
  );
  subjects.push({ rows, running });
}
await measureSearchLoad({ subjects, vendor, questions: questions.texts });
