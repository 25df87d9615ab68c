import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { localCompletion } from "../../../src/llm/local/local_completion.ts";
import { localEmbedding } from "../../../src/llm/local/local_embedding.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import { createEmbeddedServer } from "../../../src/postgres/embedded/embedded_server.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { doctor } from "../../../src/app/checks/all_checks.ts";

Deno.test("the doctor works on the embedded server too", async () => {
  await using server = await createEmbeddedServer({
    dataDir: "memory",
    statementTimeoutMs: 60_000,
    logger: silentLogger,
    prepare: () => [
      "CREATE EXTENSION IF NOT EXISTS vector",
      "CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(256))",
      `INSERT INTO docs SELECT n, 'text', array_fill(n, '{256}')::vector FROM generate_series(1, 10) n`,
      "ANALYZE docs",
    ],
  });
  await using pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
  const options = databaseOptions("postgres://postgres@embedded/postgres", { openStream: server.openStream });
  const database = createDatabase({
    options,
    pools,
    guard: await createStatementGuard(),
    logger: silentLogger,
  });
  const [diagnosis, ofTools] = await doctor({
    pipelines: [{
      name: "handbook",
      database,
      options,
      tables: [{ table: "docs", textColumn: "body", vectorColumn: "embedding", filter: "id > 2" }],
      isHybrid: true,
      embedding: localEmbedding(),
      completions: [localCompletion()],
      keyFiles: [],
    }],
    databases: [{ database, options }],
    logger: silentLogger,
    signal: new AbortController().signal,
  });
  const faults = diagnosis?.results.filter(({ ok }) => !ok).map(({ check }) => check);
  assert.deepEqual(faults, ["role"]);
  assert.deepEqual(ofTools?.results.filter(({ ok }) => !ok).map(({ check }) => check), ["role"]);
  const checked = diagnosis?.results.map(({ check }) => check) ?? [];
  assert.ok(checked.includes("filter of docs") && checked.includes("statistics of docs"));
  const answered = diagnosis?.results.find(({ check }) => check === "database");
  assert.match(answered?.ok ? answered.note ?? "" : "", /answers over a local socket$/);
});
