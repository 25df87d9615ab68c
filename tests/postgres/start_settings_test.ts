import assert from "node:assert/strict";
import { createLogger } from "../../src/core/logger.ts";
import { createEmbeddedServer } from "../../src/postgres/embedded/embedded_server.ts";
import { createConnectionPools } from "../../src/postgres/pool/connection_pools.ts";
import { startSettings } from "../../src/postgres/database_options.ts";
import { databaseOptions } from "../support/database_options.ts";

const url = "postgres://postgres@localhost/postgres";

Deno.test("startSettings() has what a session keeps, and nothing where a pooler may change it", () => {
  const settings = startSettings(databaseOptions(url)) ?? {};
  assert.deepEqual([settings["jit"], settings["statement_timeout"]], ["off", "30000"]);
  assert.equal(startSettings(databaseOptions(url, { pooler: "transaction" })), undefined);
});

Deno.test("the embedded server is not taken for a pooler", async () => {
  const warnings: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => void warnings.push(line) });
  await using server = await createEmbeddedServer({ dataDir: "memory", statementTimeoutMs: 60_000, logger });
  await using pools = createConnectionPools({ maxConnections: 1, logger });
  const options = databaseOptions(url, { openStream: server.openStream });
  const lease = await pools.acquire(options, { kind: "local" }, new AbortController().signal);
  assert.deepEqual([lease.holdsSettings, warnings], [false, []]);
  lease.release();
});
