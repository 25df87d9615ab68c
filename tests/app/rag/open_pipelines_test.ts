import assert from "node:assert/strict";
import { openOperatorPipeline } from "../../../src/app/rag/operator_pipelines.ts";
import { loadConfig } from "../../../src/config/mod.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { readerFor } from "../../../src/core/principal.ts";
import { optionsFor } from "../../config/load_options.ts";
import { startCluster, testWithStandbys } from "../../support/postgres_cluster.ts";

const { signal } = new AbortController();

Deno.test("questions are searched with the weight of the model that embeds them", async () => {
  const { config } = await loadConfig(optionsFor(`
pipelines:
  - name: docs
    database: { database: d }
    tables: [{ table: a, text_column: t, vector_column: v }]
    embedding_llm: { provider: local }
    reembed: { embedding_llm: { provider: ollama, model: m }, vector_column: w }
    rag_llm: { provider: local }
`));
  await using opened = await openOperatorPipeline("docs", { config, role: {}, logger: silentLogger });
  const { searchBy, providers: { embedding, reembed } } = opened.pipeline;
  assert.ok(reembed !== undefined);
  assert.deepEqual([embedding, reembed.embedding].map((model) => searchBy(model).vectorWeight), [0.1, 0.5]);
});

testWithStandbys(
  "a pipeline with several hosts reads from standbys, and -ingest writes to the primary",
  async () => {
    await using primary = await startCluster();
    await using standby = await startCluster({ standbyOf: primary });
    const hosts = [primary, standby].map(({ port }) => `{ host: 127.0.0.1, port: ${port} }`).join(", ");
    const { config } = await loadConfig(optionsFor(`
pipelines:
  - name: docs
    database: { hosts: [${hosts}], database: postgres, user: postgres, sslmode: disable, max_replica_lag: 5s }
    tables: [{ table: a, text_column: t, vector_column: v }]
    embedding_llm: { provider: ollama, model: m }
    rag_llm: { provider: ollama, model: m }
`));
    await using opened = await openOperatorPipeline("docs", { config, role: {}, logger: silentLogger });
    const { database, databaseOptions } = opened.pipeline;
    assert.equal(databaseOptions.maxReplicaLagMs, 5_000);
    for (const id of ["a", "b", "c"]) {
      const principal = readerFor({ kind: "token", id });
      const sql = "SELECT current_setting('port')";
      const result = await database.read({ principal, sql, signal, trusted: true });
      assert.deepEqual(result.ok && result.rows, [[String(standby.port)]]);
    }
    assert.deepEqual(database.hosts().map(({ role }) => role), ["primary", "standby"]);
    const connection = await opened.connect(signal);
    const { rows: [row] } = await connection.client.query("SELECT pg_is_in_recovery() AS standby");
    assert.equal(row?.standby, false);
    await connection.close();
  },
);
