import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { logIn, serve, writeUsers } from "../../support/accounts.ts";
import { createConfigFolder, databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import { createTestDatabase, type TestDatabase, testWithPostgres } from "../../support/database.ts";
import { scrape } from "../../support/scrape.ts";
import { overEachTransport } from "../../support/each_transport.ts";
import { commandLine } from "../../support/server_process.ts";
import { startTokenIssuer, testAudience } from "../../support/token_issuer.ts";
import { createToolClient, type ToolReply } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";

const configOf = (database: TestDatabase, limits: string, more = "") =>
  `limits: ${limits}
databases:
  - ${databaseEntry("main", database.name)}
${more}`;

const message = (id: number, query: string) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "query_database", arguments: { query } },
});

const generate = (rows: number) => `SELECT n FROM generate_series(1, ${rows}) AS n`;

testWithPostgres("what is used up of a limit is refused with 429 by each transport over HTTP", async (t) => {
  await using database = await createTestDatabase();
  await using running = await startConfiguredServer(
    configOf(database, "{ default: { rows_per_day: 3 } }", 'metrics: { address: "127.0.0.1:0" }'),
  );
  const { client, server } = running;
  assert.match(
    server.stderr(),
    /WARN .*limits \(line \d+\): minutes and days begin anew whenever the server starts: set data_dir/,
  );

  await t.step("a statement may go beyond what was left", async () => {
    assert.equal((await client.call("query_database", { query: generate(2) })).isError, false);
    assert.deepEqual((await client.call("query_database", { query: generate(5) })).data["row_count"], 5);
  });

  for (const [name, { body, headers }] of Object.entries(overEachTransport(message(7, "SELECT 7")))) {
    await t.step(name, async () => {
      const reply = await client.post(JSON.stringify(body), { headers });
      const { id, error } = await reply.json();
      assert.equal(reply.status, 429, JSON.stringify(error));
      assert.equal(id, 7);
      assert.equal(error.code, -32003);
      assert.equal(error.data.limit, "rows_per_day");
      assert.ok(error.data.retryAfterSeconds >= 1 && error.data.retryAfterSeconds <= 86_400);
      assert.equal(reply.headers.get("retry-after"), String(error.data.retryAfterSeconds));
      assert.match(
        error.message,
        /^Cannot run the call: the limit rows_per_day \(3\) is used up; try again in \d+ s$/,
      );
    });
  }

  await t.step("a batch, of which some is answered", async () => {
    const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
    const mixed = await client.post(JSON.stringify([message(1, "SELECT 1"), ping]));
    assert.equal(mixed.status, 200);
    await mixed.body?.cancel();
    const none = await client.post(JSON.stringify([message(1, "SELECT 1")]));
    assert.equal(none.status, 429);
    await none.body?.cancel();
  });

  await t.step("what the limit is not about is answered, and the tool tells what is left", async () => {
    assert.equal((await client.call("list_databases", {})).isError, false);
    assert.equal((await client.call("get_schema_info", {})).isError, false);
    const { tools } = (await client.request("tools/list", {})).result;
    assert.ok(tools.some(({ name }: { name: string }) => name === "usage"));
    const { text, data } = await client.call("usage", {});
    const [limit] = data["limits"] as Record<string, unknown>[];
    assert.deepEqual({ ...limit, resets_at: "" }, {
      limit: "rows_per_day",
      maximum: 3,
      used: 7,
      remaining: 0,
      resets_at: "",
    });
    assert.match(String(limit?.["resets_at"]), /^\d{4}-\d\d-\d\dT00:00:00\.000Z$/);
    assert.match(text, /^rows_per_day: 7 of 3 used, anew at /);
  });

  await t.step("a wrong token learns nothing of it", async () => {
    const reply = await createToolClient({ url: server.url, token: "wrong" }).post(
      JSON.stringify(message(1, "SELECT 1")),
    );
    assert.equal(reply.status, 401);
    assert.equal(await reply.text(), '{"error": "Unauthorized"}');
  });

  await t.step("metrics count the refusals by the limit", async () => {
    const page = await scrape(server);
    assert.equal(page.value("postern_quota_refusals_total", { limit: "rows_per_day" }), 5);
  });
});

testWithPostgres("calls at once wait for their caller's others; where too many wait it is 429", async () => {
  await using database = await createTestDatabase();
  await using running = await startConfiguredServer(
    configOf(database, "{ default: { calls_at_once: 1 } }", "admission: { max_waiting: 1 }"),
  );
  const { client, folder, server } = running;
  const gone = new AbortController();
  const held = client.call("query_database", { query: "SELECT pg_sleep(29)" }, { signal: gone.signal })
    .catch(() => {});
  const isSleeping = async () =>
    (await database.query("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(29)%'")).length >
      0;
  await waitUntil("the first statement runs", isSleeping);
  let waited: ToolReply | undefined;
  const waits = client.call("list_databases", {}).then((reply) => waited = reply);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const reply = await client.post(JSON.stringify(message(1, "SELECT 1")));
  const { error } = await reply.json();
  assert.equal(reply.status, 429);
  assert.deepEqual([error.code, error.data.limit], [-32003, "calls_at_once"]);
  assert.equal(waited, undefined);

  const { token } = await folder.addToken();
  const other = createToolClient({ url: server.url, token });
  await waitUntil("another caller is let in", async () => {
    const reply = await other.request("tools/call", { name: "list_databases", arguments: {} });
    return reply.result !== undefined;
  });
  gone.abort();
  await Promise.all([held, waits]);
  assert.equal((await client.call("query_database", { query: "SELECT 1" })).isError, false);
});

testWithPostgres("a restart keeps the day's use in data_dir, for all sessions of a user", async () => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder(
    configOf(database, "{ principals: { alice: { rows_per_day: 4 } } }", "data_dir: data"),
  );
  await writeUsers(folder, ["alice", "bob"]);
  const ask = async (url: string, token: string) => {
    const { result, error } = await createToolClient({ url, token }).request("tools/call", {
      name: "query_database",
      arguments: { query: generate(2) },
    });
    return error?.data?.limit ?? result.structuredContent.row_count;
  };
  {
    await using server = await serve(folder);
    assert.doesNotMatch(server.stderr(), /Limits by the day/);
    for (const _ of [1, 2]) {
      const { session } = await logIn(server, "alice");
      assert.equal(await ask(server.url, session.session_token), 2);
    }
    assert.equal(await server.stop(), 0);
  }
  await using server = await serve(folder);
  const alice = await logIn(server, "alice");
  assert.equal(await ask(server.url, alice.session.session_token), "rows_per_day");
  const bob = await logIn(server, "bob");
  for (const _ of [1, 2, 3]) assert.equal(await ask(server.url, bob.session.session_token), 2);
});

testWithPostgres("of several groups the largest number counts", async () => {
  await using database = await createTestDatabase();
  await using issuer = await startTokenIssuer();
  const provider = { issuer: issuer.issuer, audience: testAudience, groups_claim: "groups" };
  await using running = await startConfiguredServer(configOf(
    database,
    "{ default: { calls_per_minute: 0 }, groups: { analysts: { calls_per_minute: 100 }, night: { calls_per_minute: 0 } } }",
    `http: ${JSON.stringify({ auth: { identity_provider: provider } })}`,
  ));
  const { server } = running;
  await waitUntil("the keys were read", () => server.stderr().includes("Read the keys of the issuer"));
  const statusOf = async (...groups: string[]) => {
    const token = await issuer.token({ claims: { sub: groups.join("-"), groups } });
    const reply = await createToolClient({ url: server.url, token }).post(
      JSON.stringify(message(1, "SELECT 1")),
    );
    await reply.body?.cancel();
    return reply.status;
  };
  assert.equal(await statusOf("others"), 429);
  assert.equal(await statusOf("night"), 429);
  assert.equal(await statusOf("night", "analysts"), 200);
});

testWithPostgres("limits are loaded again, and with the last of them the tool goes", async () => {
  await using database = await createTestDatabase();
  await using running = await startConfiguredServer(
    configOf(database, "{ default: { statements_per_minute: 0 } }"),
  );
  const { client, folder, server } = running;
  const statusOf = async () => {
    const reply = await client.post(JSON.stringify(message(1, "SELECT 1")));
    await reply.body?.cancel();
    return reply.status;
  };
  const hasTool = async () =>
    (await client.request("tools/list", {})).result.tools.some(({ name }: { name: string }) =>
      name === "usage"
    );
  assert.deepEqual([await statusOf(), await hasTool()], [429, true]);
  await folder.write(configOf(database, "{ default: { statements_per_minute: 1000 } }"));
  await waitUntil("it is answered", async () => await statusOf() === 200);
  await folder.write(configOf(database, "{}"));
  await waitUntil("the tool is gone", async () => !await hasTool());
  assert.doesNotMatch(server.stderr(), /restart the server to apply/);
});

testWithPostgres("tokens of the provider count for whom it writes statements", async () => {
  await using database = await createTestDatabase();
  await database.query("CREATE TABLE orders (id int)");
  await using anthropic = createVendor("anthropic", {
    answer: "```sql\nSELECT count(*) FROM orders\n```",
  });
  await using running = await startConfiguredServer(configOf(
    database,
    "{ default: { provider_tokens_per_day: 1 } }",
    `llm: { enabled: true, provider: anthropic, model: m, anthropic_api_key: k, anthropic_base_url: "${anthropic.url}" }`,
  ));
  const { client } = running;
  const ask = () =>
    client.request("tools/call", {
      name: "query_database",
      arguments: { query: "How many orders are there?" },
    });
  assert.equal((await ask()).result?.isError, undefined);
  const { error } = await ask();
  assert.deepEqual([error?.code, error?.data.limit], [-32003, "provider_tokens_per_day"]);
  assert.equal(anthropic.requests.length, 1);
  assert.equal((await client.call("query_database", { query: "SELECT 1" })).isError, false);
});

testWithPostgres("over stdio the default counts, and its error is the same", async () => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder(
    configOf(
      database,
      "{ default: { statements_per_minute: 0 }, principals: { local: { calls_per_minute: 0 } } }",
    ),
  );
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StdioClientTransport({ ...commandLine(["-config", folder.configFile]), stderr: "pipe" }),
  );
  assert.equal((await client.callTool({ name: "list_databases", arguments: {} })).isError, undefined);
  await assert.rejects(
    client.callTool({ name: "query_database", arguments: { query: "SELECT 1" } }),
    (error: { code: number; data: { limit: string } }) =>
      error.code === -32003 && error.data.limit === "statements_per_minute",
  );
  await client.close();
});

testWithPostgres("what an error quotes of rows counts as what PostgreSQL sent", async () => {
  await using database = await createTestDatabase();
  await database.query(
    "CREATE TABLE docs AS SELECT n AS id, repeat('word ', 20) AS content FROM generate_series(1, 500) AS n",
  );
  await using running = await startConfiguredServer(
    configOf(database, "{ default: { rows_per_day: 1000, bytes_per_day: 100 KiB } }"),
  );
  const { client } = running;
  const used = async () => {
    const { data } = await client.call("usage", {});
    return (data["limits"] as { used: number }[]).map((limit) => limit.used);
  };
  const query = "SELECT (SELECT string_agg(content, '|') FROM docs)::int";
  for (const tool of ["query_database", "execute_explain"]) {
    const [rowsBefore = 0, bytesBefore = 0] = await used();
    const { isError } = await client.call(tool, {
      query,
      ...(tool === "execute_explain" && { analyze: true }),
    });
    const [rows = 0, bytes = 0] = await used();
    assert.deepEqual([isError, rows - rowsBefore], [true, 1], tool);
    // 500 rows of 100 characters, and what stands between them
    assert.ok(
      bytes - bytesBefore > 50_499 && bytes - bytesBefore < 51_000,
      `${tool}: ${bytes - bytesBefore}`,
    );
  }
  await client.call("query_database", { query: "DELETE FROM docs" });
  assert.equal((await used())[0], 2, "what the guard refuses sends nothing");
});
