/**
 * What a row costs the worker of `-watch-pipeline`, with a provider of embeddings that answers at once.
 *
 *   TEST_DATABASE_URL=postgres://… deno run -A bench/watch.ts [ROWS]
 */
import { createVendor } from "../tests/llm/wire/vendors/vendor.ts";
import { createConfigFolder } from "../tests/support/configured_server.ts";
import { createTestDatabase } from "../tests/support/database.ts";
import { configText, keyFile, pipelineDatabase, vendorKey } from "../tests/support/rag_server.ts";
import { command, runProgram } from "../tests/support/server_process.ts";
import { corpusDimensions } from "./corpus.ts";
import { cpuMs, print } from "./measure.ts";

const rows = Number(Deno.args[0] ?? 20_000);
const vector = Array.from({ length: corpusDimensions }, (_, at) => Math.sin(at) / 14);

await using database = await createTestDatabase();
await database.query(`CREATE EXTENSION vector;
  CREATE TABLE documents (id int PRIMARY KEY, body text NOT NULL, embedding vector(${corpusDimensions}))`);
await using vendor = createVendor("openai", { answer: "Yes.", embed: () => vector });
await using folder = await createConfigFolder(configText({
  pipelines: [{
    name: "docs",
    database: pipelineDatabase({ name: database.name }),
    tables: [{ table: "documents", text_column: "body", vector_column: "embedding", id_column: "id" }],
    embedding_llm: { provider: "openai", model: "e", base_url: vendor.url },
    rag_llm: { provider: "openai", model: "m", base_url: vendor.url },
  }],
}));
await Deno.writeTextFile(`${folder.path}/${keyFile}`, vendorKey, { mode: 0o600 });
const flags = ["-config", folder.configFile];
const { stdout } = await runProgram([...flags, "-setup-watch", "docs", "-db-user", "postgres"]);
await database.query(stdout.replace("\\set ON_ERROR_STOP on\n", ""));
// without a vector index, to which each row would cost more than to the worker
await database.query(
  `INSERT INTO documents SELECT n, repeat('some words of row ' || n || ' ', 12) FROM generate_series(1, ${rows}) n`,
);

const waiting = async () =>
  Number((await database.query("SELECT count(*) FROM postern.embedding_queue"))[0]?.[0]);
const worker = command([...flags, "-watch-pipeline", "docs"], { stdout: "null", stderr: "null" }).spawn();
try {
  const next = async (below: number) => {
    let left = await waiting();
    while (left >= below) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      left = await waiting();
    }
    return { left, at: performance.now(), cpu: await cpuMs(worker.pid) };
  };
  // without what it takes to start
  const begun = await next(rows * 0.9);
  const ended = await next(1);
  const done = begun.left - ended.left;
  print(
    `${done} rows: embedded by one worker`,
    `${(done / (ended.at - begun.at) * 1_000).toFixed(0)} rows/s`,
  );
  print(`${done} rows: the worker's CPU`, `${((ended.cpu - begun.cpu) / done).toFixed(3)} ms a row`);
} finally {
  worker.kill("SIGTERM");
  await worker.status;
}
