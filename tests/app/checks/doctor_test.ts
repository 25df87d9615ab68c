import assert from "node:assert/strict";
import { sleep } from "../../../src/core/async/deadline.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { localEmbedding } from "../../../src/llm/local/local_embedding.ts";
import { type CompletionProvider, noUsage, type RerankProvider } from "../../../src/llm/provider.ts";
import { ProviderError } from "../../../src/llm/provider_error.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { scriptedProvider, text } from "../../llm/scripted_provider.ts";
import { testWithPgvector } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { assertFault, assertFine, createDoctorFixture, healthyTable } from "./fixture.ts";
import { doctor, type DoctorPipeline } from "../../../src/app/checks/all_checks.ts";

const { signal } = new AbortController();

/** What the doctor says of a pipeline on a database that nobody listens for. */
async function examineDown(changes: Partial<DoctorPipeline>, options: Partial<DatabaseOptions> = {}) {
  await using pools = createConnectionPools({ maxConnections: 2, logger: silentLogger });
  const down = databaseOptions("postgres://nobody@127.0.0.1:1/nothing", options);
  const database = createDatabase({
    options: down,
    pools,
    guard: await createStatementGuard(),
    logger: silentLogger,
  });
  const pipeline: DoctorPipeline = {
    name: "handbook",
    database,
    options: down,
    tables: [{ table: "docs", textColumn: "body", vectorColumn: "embedding" }],
    isHybrid: true,
    embedding: localEmbedding(),
    completions: [scriptedProvider("test/good", [text("yes")])],
    keyFiles: [],
    ...changes,
  };
  const [diagnosis] = await doctor({ pipelines: [pipeline], databases: [], signal, logger: silentLogger });
  return diagnosis?.results.filter((result) => result.check !== "database") ?? [];
}

Deno.test("the doctor finds a database that is down, and looks at the rest", async () => {
  await using pools = createConnectionPools({ maxConnections: 2, logger: silentLogger });
  const options = databaseOptions("postgres://nobody@127.0.0.1:1/nothing", { name: "archive" });
  const database = createDatabase({
    options,
    pools,
    guard: await createStatementGuard(),
    logger: silentLogger,
  });
  const diagnoses = await doctor({
    pipelines: [],
    databases: [{ database, options }],
    signal,
    logger: silentLogger,
  });
  assert.deepEqual(diagnoses, [{
    kind: "database",
    name: "archive",
    results: [{
      check: "database",
      ok: false,
      severity: "error",
      message: 'Cannot reach database "archive": connection refused',
      remedy:
        "-- Correct host, port and TLS of the database's settings, and check that PostgreSQL listens there:\npg_isready -h 127.0.0.1 -p 1",
    }],
  }]);
  assert.deepEqual((await examineDown({})).map(({ check, ok }) => [check, ok]), [
    ["embedding by local/hashed-256", true],
    ["completion by test/good", true],
  ]);
});

testWithPgvector(
  "the doctor looks at the tool server's databases, and at several pipelines in order",
  async () => {
    await using fixture = await createDoctorFixture(healthyTable);
    const { database, options } = fixture;
    const pipeline = {
      database,
      options,
      tables: [],
      isHybrid: true,
      embedding: localEmbedding(),
      completions: [],
      keyFiles: [],
    };
    const diagnoses = await doctor({
      pipelines: [{ ...pipeline, name: "b" }, { ...pipeline, name: "a" }],
      databases: [{ database, options }],
      signal,
      logger: silentLogger,
    });
    assert.deepEqual(diagnoses.map(({ kind, name }) => [kind, name]), [
      ["pipeline", "b"],
      ["pipeline", "a"],
      ["database", "shop"],
    ]);
    assert.deepEqual(diagnoses[2]?.results.map(({ check, ok }) => [check, ok]), [
      ["database", true],
      ["role", false],
      ["connections", true],
      ["TLS", true],
      ["extensions", true],
      ["statistics", true],
      ["catalog", true],
      ["clocks", true],
    ]);
  },
);

Deno.test("of 64 pipelines the doctor checks a few at a time, each with its own time", async () => {
  await using pools = createConnectionPools({ maxConnections: 2, logger: silentLogger });
  const options = databaseOptions("postgres://nobody@127.0.0.1:1/nothing");
  const guard = await createStatementGuard();
  const database = createDatabase({ options, pools, guard, logger: silentLogger });
  let running = 0;
  let most = 0;
  const local = localEmbedding();
  const embedding = {
    ...local,
    async embed(request: Parameters<typeof local.embed>[0]) {
      most = Math.max(most, ++running);
      await sleep(500);
      running--;
      return await local.embed(request);
    },
  };
  const pipeline = {
    database,
    options,
    tables: [],
    isHybrid: true,
    embedding,
    completions: [],
    keyFiles: [],
  };
  const diagnoses = await doctor({
    pipelines: Array.from({ length: 64 }, (_, at) => ({ ...pipeline, name: `p${at}` })),
    databases: [],
    // less than all of them take
    limitMs: 3_900,
    signal,
    logger: silentLogger,
  });
  assert.equal(most, 8);
  assert.deepEqual(diagnoses.map(({ name }) => name), Array.from({ length: 64 }, (_, at) => `p${at}`));
  for (const { results } of diagnoses) {
    assert.deepEqual(results.find(({ check }) => check.startsWith("embedding")), {
      check: "embedding by local/hashed-256",
      ok: true,
      note: "256 dimensions",
    });
  }
});

Deno.test("the doctor finds a password file that is missing", async () => {
  await using pools = createConnectionPools({ maxConnections: 2, logger: silentLogger });
  const address = "postgres://nobody@127.0.0.1:1/nothing";
  const options = databaseOptions(address, { name: "archive", passwordFile: "/nowhere/password" });
  const guard = await createStatementGuard();
  const database = createDatabase({ options, pools, guard, logger: silentLogger });
  const databases = [{ database, options }];
  const [diagnosis] = await doctor({ pipelines: [], databases, signal, logger: silentLogger });
  assert.deepEqual(diagnosis?.results.find(({ check }) => check === "database"), {
    check: "database",
    ok: false,
    severity: "error",
    message: 'Cannot reach database "archive": password_file: there is no such file',
    remedy: "-- Correct the password file, program or credentials, or the setting that names them",
  });
});

testWithPgvector("the doctor finds a database that does not exist", async () => {
  await using fixture = await createDoctorFixture(healthyTable, { database: "postern_nothing" });
  const remedy = assertFault(
    await fixture.look("database"),
    "error",
    /database "postern_nothing" does not exist/,
  );
  assert.equal(remedy, "-- Correct database in its settings, or make it: CREATE DATABASE postern_nothing;");
});

const reranker = (rerank: RerankProvider["rerank"]): RerankProvider => ({
  name: "cohere/r",
  ping: () => Promise.resolve(),
  rerank,
});

Deno.test("the doctor asks the tool server's embedding provider for a vector", async () => {
  const [server] = await doctor({
    pipelines: [],
    databases: [],
    server: { completions: [], embedding: localEmbedding(), keyFiles: [], configuration: [] },
    signal,
    logger: silentLogger,
  });
  assert.deepEqual(server?.results, [
    { check: "embedding by local/hashed-256", ok: true, note: "256 dimensions" },
  ]);
});

Deno.test("the doctor finds providers that fail, and says which and why", async () => {
  const failing = (name: string, error: Error): CompletionProvider => scriptedProvider(name, [error]);
  const results = await examineDown({
    embedding: {
      ...localEmbedding(),
      name: "voyage/voyage-3",
      embed: () => Promise.reject(new ProviderError("credentials", "HTTP 401")),
    },
    completions: [
      failing("ollama/llama3", new ProviderError("invalid_request", "HTTP 404: model not found")),
      failing("openai/gpt", new ProviderError("unreachable", "")),
    ],
    rerank: reranker(() => Promise.reject(new ProviderError("rate_limit", ""))),
  });
  assert.deepEqual(results, [
    {
      check: "embedding by voyage/voyage-3",
      ok: false,
      severity: "error",
      message: "voyage/voyage-3: the provider rejected the server's credentials: HTTP 401",
      remedy: "-- Put a valid key into the provider's key file (api_keys) or its environment variable",
    },
    {
      check: "completion by ollama/llama3",
      ok: false,
      severity: "error",
      message: "ollama/llama3: the provider rejected the request as invalid: HTTP 404: model not found",
      remedy: "ollama pull llama3",
    },
    {
      check: "fallback completion by openai/gpt",
      ok: false,
      severity: "warning",
      message: "openai/gpt: the provider could not be reached",
      remedy: "-- Correct base_url, and check that this machine reaches it: curl -I BASE_URL",
    },
    {
      check: "rerank by cohere/r",
      ok: false,
      severity: "warning",
      message: "cohere/r: the provider's rate limit was exceeded; retry later",
      remedy: "-- Wait, or raise the account's limit or balance with the provider",
    },
  ]);
  const healthy = await examineDown({
    rerank: reranker(() => Promise.resolve({ results: [], usage: noUsage })),
  });
  assert.deepEqual(healthy.filter(({ ok }) => !ok), []);
});

Deno.test("the doctor finds key files that are missing, empty or open to others", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/the key`;
    const look = () => examineDown({ keyFiles: [path] }).then((results) => results.slice(0, 1));
    const write = `(umask 077; printf %s 'KEY' > '${path}')`;
    assert.equal(assertFault(await look(), "error", `There is no file ${path}`), write);
    await Deno.writeTextFile(path, " \n");
    assert.equal(assertFault(await look(), "error", `${path} is empty`), write);
    await Deno.remove(path);
    await runInShell(write);
    assertFine(await look());
    await Deno.chmod(path, 0o644);
    const open = `Other users of this machine can access ${path} (mode 0644)`;
    await runInShell(assertFault(await look(), "warning", open));
    assertFine(await look());
    if (Deno.uid() === 0) {
      // as a secret that is mounted for a service
      await Deno.chmod(path, 0o440);
      assertFine(await look());
    }
    await Deno.remove(path);
    await Deno.mkdir(path);
    assertFault(await look(), "error", `${path} is not a file`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

async function runInShell(command: string): Promise<void> {
  const { success } = await new Deno.Command("sh", { args: ["-c", command] }).output();
  assert.ok(success);
}
