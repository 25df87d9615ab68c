import assert from "node:assert/strict";
import { join } from "node:path";
import { logIn, serve, writeUsers } from "../support/accounts.ts";
import { createConfigFolder, databaseEntry, startConfiguredServer } from "../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../support/database.ts";
import { rawExchange } from "../support/network/raw_exchange.ts";
import { metricsUrl, scrape } from "../support/scrape.ts";
import { runProgram } from "../support/server_process.ts";
import { createToolClient } from "../support/tool_client.ts";
import { waitUntil } from "../support/wait_until.ts";

const here = "metrics: { address: 127.0.0.1:0 }";

testWithPostgres("the metrics count what callers did, and how it ended", async () => {
  await using database = await createTestDatabase();
  const entries = [
    databaseEntry("main", database.name, "statement_timeout: 200ms"),
    databaseEntry("absent", "no_such_database"),
  ];
  await using running = await startConfiguredServer(`{ databases: [${entries.join()}], ${here} }`);
  const { server, client } = running;
  const query = (sql: string, database = "main") => client.call("query_database", { query: sql, database });
  for (let n = 0; n < 3; n++) await query("SELECT repeat('x', 100) FROM generate_series(1, 5)");
  await query("SELECT 1/0");
  await query("DELETE FROM pg_class");
  await query("SELECT count(*) FROM generate_series(1, 100000000000)");
  await query("SELECT 2", "absent");
  await client.call("list_databases", {});
  await client.request("tools/list", {});
  await client.request("tools/call", { name: "a_tool_of_my_own", arguments: {} });
  await client.request("tools/call", { name: "query_database", arguments: { query: 1 } });
  await (await createToolClient({ url: server.url, token: "wrong" }).post("{}")).text();
  await (await client.post("not json")).text();
  await (await fetch(`${server.url}/a/path?of=mine`)).text();
  await (await fetch(`${server.url}/health?for=me`)).text();
  const { value, text, types } = await scrape(server);

  const calls = (tool: string, result: string) =>
    value("postern_tool_calls_total", { tool, outcome: result });
  assert.equal(calls("query_database", "ok"), 3);
  assert.equal(calls("query_database", "failed"), 1);
  assert.equal(calls("query_database", "refused"), 1);
  assert.equal(calls("query_database", "timeout"), 1);
  assert.equal(calls("query_database", "unavailable"), 1);
  assert.equal(calls("query_database", "invalid"), 1);
  assert.equal(calls("list_databases", "ok"), 1);
  assert.equal(value("postern_tool_calls_total", { outcome: "invalid" }), 2, "a tool that there is not");
  assert.equal(value("postern_tool_call_seconds_count", { tool: "query_database" }), 8);

  const statements = (result: string, database = "main") =>
    value("postern_statements_total", { server: "tool_server", database, origin: "caller", outcome: result });
  assert.equal(statements("rows"), 3);
  assert.equal(statements("failed"), 1);
  assert.equal(statements("refused"), 1);
  assert.equal(statements("timeout"), 1);
  assert.equal(statements("unavailable", "absent"), 1);
  assert.equal(value("postern_rows_total", { database: "main" }) >= 15, true);
  assert.equal(value("postern_row_bytes_total", { database: "main" }) >= 1_500, true);

  const requests = (route: string, code: string) =>
    value("postern_http_requests_total", { server: "tool_server", route, code });
  assert.equal(requests("/mcp/v1", "200"), 11);
  assert.equal(requests("/mcp/v1", "401"), 1);
  assert.equal(requests("/mcp/v1", "400"), 1);
  assert.equal(requests("other", "404"), 1);
  assert.equal(requests("/health", "200"), 1);
  assert.equal(value("postern_http_request_seconds_count", { route: "/mcp/v1" }), 13);
  assert.equal(value("postern_refusals_total", { reason: "unauthorized" }), 1);

  const stage = (name: string) =>
    value("postern_stage_seconds_count", { server: "tool_server", stage: name });
  assert.equal(stage("identity"), 13);
  assert.equal(stage("reply"), 11);
  // each text once, and the one for the database that is not there
  assert.equal(stage("guard"), 5);
  const ofMain = (name: string) =>
    value("postern_stage_seconds_count", { stage: name, database: "main", server: "tool_server" });
  assert.equal(ofMain("queue"), ofMain("postgresql"), "who waited got a connection");
  assert.equal(value("postern_stage_seconds_sum", { stage: "postgresql", database: "main" }) > 0.2, true);
  assert.equal(value("postern_stage_seconds_bucket", { stage: "identity", le: "+Inf" }), 13);

  assert.equal(value("postern_build_info"), 1);
  for (const name of ["process_resident_memory_bytes", "process_cpu_seconds_total", "postern_heap_bytes"]) {
    assert.equal(value(name) > 0, true, name);
  }
  const sinceMs = Date.now() - value("process_start_time_seconds") * 1_000;
  assert.equal(sinceMs > 0 && sinceMs < 600_000, true, "the start is the process's");
  assert.equal(types.get("process_cpu_seconds_total"), "counter");
  assert.equal(types.get("postern_stage_seconds"), "histogram");
  assert.equal(types.get("postern_sessions"), "gauge");
  assert.doesNotMatch(text, /a_tool_of_my_own|mine|generate_series|pg_class|wrong|127\.0\.0\.1/);
});

testWithPostgres("the metrics count calls that are refused for want of room", async () => {
  await using database = await createTestDatabase();
  const entry = databaseEntry("main", database.name, "pool_max_conns: 1");
  await using running = await startConfiguredServer(
    `{ databases: [${entry}], admission: { max_waiting: 1 }, ${here} }`,
  );
  const { server, client } = running;
  const ask = (n: number) =>
    client.request("tools/call", {
      name: "query_database",
      arguments: { query: `SELECT ${n} FROM pg_sleep(1)` },
    });
  await Promise.all([1, 2, 3, 4].map(ask));
  const { value } = await scrape(server);
  const calls = (result: string) =>
    value("postern_tool_calls_total", { tool: "query_database", outcome: result });
  assert.deepEqual([calls("ok"), calls("overloaded")], [2, 2]);
  assert.equal(value("postern_statements_total", { database: "main", outcome: "overloaded" }), 2);
});

testWithPostgres("the metrics show connections as they are, and statements that were stopped", async () => {
  await using database = await createTestDatabase();
  await using running = await startConfiguredServer(
    `{ databases: [${
      databaseEntry("main", database.name, "pool_max_conns: 1")
    }], max_connections: 7, ${here} }`,
  );
  const { server, client } = running;
  const connections = async (state: string) =>
    (await scrape(server)).value("postern_database_connections", { database: "main", state });
  assert.equal(await connections("stuck"), 0);
  assert.equal((await scrape(server)).value("postern_database_connections_max"), 7);
  assert.equal((await client.call("query_database", { query: "SELECT 1" })).isError, false);
  await waitUntil("it is idle again", async () => await connections("idle") > 0);
  const leaving = new AbortController();
  const gone = [1, 2, 3].map(() =>
    client.call("query_database", { query: "SELECT pg_sleep(20)" }, { signal: leaving.signal }).catch(
      () => {},
    )
  );
  const waiting = async () => (await scrape(server)).value("postern_database_waiting_requests");
  await waitUntil(
    "one runs and two wait",
    async () => await connections("in_use") === 1 && await waiting() === 2,
  );
  leaving.abort();
  await Promise.all(gone);
  await waitUntil("all have ended", async () => {
    const { value } = await scrape(server);
    return value("postern_statements_total", { origin: "caller", outcome: "cancelled" }) === 3;
  });
  assert.equal((await scrape(server)).value("postern_statements_stopped_total", { database: "main" }), 1);
  assert.equal(await waiting(), 0);
});

Deno.test("the metrics count logins, lockouts, sessions and reloads, without a user's name", async () => {
  await using folder = await createConfigFolder(
    `{ http: { auth: { max_failed_attempts_before_lockout: 2, rate_limit_max_attempts: 4 } }, ${here} }`,
  );
  await writeUsers(folder, ["alice", "barbara"]);
  await using server = await serve(folder);
  assert.equal((await logIn(server, "alice")).status, 200);
  await logIn(server, "nobody-with-that-name");
  for (let n = 0; n < 2; n++) await logIn(server, "barbara", "not her password");
  await logIn(server, "barbara");
  await logIn(server, "alice");
  const { value, text } = await scrape(server);
  const logins = (result: string) => value("postern_logins_total", { outcome: result });
  assert.equal(logins("success"), 1);
  assert.equal(logins("unknown_user"), 1);
  assert.equal(logins("wrong_password"), 2);
  assert.equal(logins("locked"), 1);
  assert.equal(logins("rate_limited"), 1);
  await waitUntil(
    "the lockout is written",
    async () => (await scrape(server)).value("postern_lockouts_total") === 1,
  );
  assert.equal(value("postern_sessions"), 1);
  assert.doesNotMatch(text, /alice|barbara|nobody/);

  const reloads = async (what: string, result: string) =>
    (await scrape(server)).value("postern_reloads_total", { what, outcome: result });
  await Deno.writeTextFile(join(folder.path, "users.yaml"), "users: {}\n");
  await waitUntil("users are read", async () => await reloads("users", "ok") === 1);
  await waitUntil("sessions have ended", async () => (await scrape(server)).value("postern_sessions") === 0);
  await folder.write("no_such_setting: 1");
  await waitUntil("the configuration fails", async () => await reloads("configuration", "failed") === 1);
  await folder.write(`{ log: { level: debug }, http: { auth: { rate_limit_max_attempts: 4 } }, ${here} }`);
  await waitUntil("the configuration is read", async () => await reloads("configuration", "ok") === 1);
  assert.equal((await scrape(server)).value("postern_logins_total"), 6, "a reload keeps what was counted");
});

Deno.test("/metrics is served at its address alone, by GET alone, to a loopback name alone", async () => {
  await using running = await startConfiguredServer(here);
  const { server, token } = running;
  const url = metricsUrl(server);
  const response = await fetch(url);
  assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  assert.match(await response.text(), /^# HELP postern_[^]*\n$/);

  const at = async (url: string, init: RequestInit = {}) => {
    const response = await fetch(url, init);
    await response.body?.cancel();
    return response;
  };
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    const refused = await at(url, { method });
    assert.equal(refused.status, 405, method);
    assert.equal(refused.headers.get("allow"), "GET, HEAD");
  }
  assert.equal((await at(url, { method: "HEAD" })).status, 200);
  assert.equal((await at(url.replace("/metrics", "/"))).status, 404);
  assert.equal((await at(url.replace("/metrics", "/metrics/x"))).status, 404);
  assert.equal((await at(`${url}?name[]=x`)).status, 200);
  assert.equal(
    (await at(`${server.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status,
    404,
  );
  const foreign = await rawExchange(url, { path: "/metrics", headers: { host: "rebound.example" } });
  assert.equal(foreign.status, 403);
  assert.doesNotMatch(server.stderr(), /metrics\.address can be reached/);
});

Deno.test("without metrics.address nothing serves metrics", async () => {
  await using running = await startConfiguredServer("");
  const response = await fetch(`${running.server.url}/metrics`);
  await response.body?.cancel();
  assert.equal(response.status, 404);
  assert.doesNotMatch(running.server.stderr(), /metrics/);
});

Deno.test("a server whose metrics.address is taken does not start, and says which setting it is", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const address = `127.0.0.1:${taken.addr.port}`;
  await using folder = await createConfigFolder(`metrics: { address: "${address}" }`);
  const { code, stderr } = await runProgram(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    new RegExp(`Cannot serve metrics.address: Cannot listen on ${address}: the address is in use`),
  );
});

Deno.test("a metrics.address that other machines reach is warned of", async () => {
  await using running = await startConfiguredServer('metrics: { address: ":0" }');
  await waitUntil("it is logged", () => running.server.stderr().includes("metrics.address can be reached"));
});
