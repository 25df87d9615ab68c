import assert from "node:assert/strict";
import { createConfigFolder, databaseEntry } from "../../support/configured_server.ts";
import { createTestDatabase, testDatabaseUrl, testWithPostgres } from "../../support/database.ts";
import { startServer } from "../../support/server_process.ts";
import { startSeverableProxy } from "../../support/network/severable_proxy.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { waitUntil } from "../../support/wait_until.ts";

testWithPostgres("a database that is down stops nothing and is used as soon as it is back", async (t) => {
  await using database = await createTestDatabase();
  const { hostname, port } = new URL(testDatabaseUrl ?? "");
  await using proxy = await startSeverableProxy({ host: hostname, port: Number(port) });
  await proxy.stop();
  await using folder = await createConfigFolder(`
databases:
  - { name: flaky, host: 127.0.0.1, port: ${proxy.port}, database: ${database.name}, user: postgres, sslmode: disable }
  - ${databaseEntry("steady", database.name)}
`);
  const { token } = await folder.addToken();
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const { call } = createToolClient({ url: server.url, token });
  const statusOf = async (path: string) => {
    const response = await fetch(server.url + path);
    await response.body?.cancel();
    return response.status;
  };

  const ready = async (bearer = "none") => {
    const response = await fetch(`${server.url}/ready`, { headers: { authorization: `Bearer ${bearer}` } });
    return await response.json();
  };

  await t.step("its tools say so, the others work, /ready says which", async () => {
    const { isError, text } = await call("query_database", { query: "SELECT 1" });
    assert.equal(isError, true);
    assert.match(text, /^Cannot reach database "flaky": /);
    assert.deepEqual(await ready(token), {
      status: "degraded",
      databases: [{ name: "flaky", reachable: false }, { name: "steady", reachable: true }],
      providers: [],
    });
    assert.deepEqual((await ready()).databases, [{ reachable: false }, { reachable: true }]);
    const steady = await call("query_database", { query: "SELECT 1", database: "steady" });
    assert.deepEqual(steady.data["rows"], [[1]]);
    // the other database is there
    assert.equal(await statusOf("/ready"), 200);
    assert.equal(await statusOf("/health"), 200);
  });

  await t.step("it is back", async () => {
    await proxy.start();
    const { data } = await call("query_database", { query: "SELECT 2" });
    assert.deepEqual(data["rows"], [[2]]);
    await waitUntil("the server is ready", async () => (await ready(token)).status === "ready");
  });

  await t.step("it goes away under open connections and comes back", async () => {
    await proxy.stop();
    assert.equal((await call("query_database", { query: "SELECT 3" })).isError, true);
    await proxy.start();
    assert.deepEqual((await call("query_database", { query: "SELECT 4" })).data["rows"], [[4]]);
  });
});

testWithPostgres("/ready is 503 while no database can be reached, and answers where one hangs", async (t) => {
  await using database = await createTestDatabase();
  await using vendor = createVendor("anthropic", { answer: "SELECT 1" });
  const { hostname, port } = new URL(testDatabaseUrl ?? "");
  await using proxy = await startSeverableProxy({ host: hostname, port: Number(port) });
  await using folder = await createConfigFolder(`
databases:
  - { name: only, host: 127.0.0.1, port: ${proxy.port}, database: ${database.name}, user: postgres, sslmode: disable }
llm: { provider: anthropic, model: m, anthropic_api_key: k, anthropic_base_url: "${vendor.url}" }
`);
  await using server = await startServer(
    ["-http", "-addr", "127.0.0.1:0", "-no-auth", "-config", folder.configFile],
  );
  const ready = async () => {
    const response = await fetch(`${server.url}/ready`);
    return [response.status, await response.json()];
  };
  const state = (status: string, reachable: boolean) => ({
    status,
    databases: [{ name: "only", reachable }],
    providers: [{ name: "anthropic/m", reachable: true }],
  });

  await t.step("probes share one connection", async () => {
    await waitUntil("the start is over", async () => (await ready())[0] === 200);
    const before = proxy.accepted();
    for (let n = 0; n < 50; n++) assert.deepEqual(await ready(), [200, state("ready", true)]);
    assert.equal(proxy.accepted(), before);
  });

  await t.step("it is gone", async () => {
    await proxy.stop();
    await waitUntil("the server is not ready", async () => (await ready())[0] === 503);
    assert.deepEqual(await ready(), [503, state("unavailable", false)]);
  });

  await t.step("it hangs, and comes back", async () => {
    await proxy.start();
    await waitUntil("the server is ready", async () => (await ready())[0] === 200);
    await proxy.stop();
    await proxy.start();
    proxy.goSilent();
    await waitUntil("the server is not ready", async () => (await ready())[0] === 503);
    assert.equal((await fetch(`${server.url}/health`)).status, 200);
  });
});

testWithPostgres(
  "what a database refuses of callers' settings is told when it is first reached, once",
  async () => {
    await using database = await createTestDatabase();
    const { hostname, port } = new URL(testDatabaseUrl ?? "");
    await using proxy = await startSeverableProxy({ host: hostname, port: Number(port) });
    await proxy.stop();
    await using folder = await createConfigFolder(`
databases:
  - ${databaseEntry("steady", database.name, "role_from_claim: role, allowed_roles: [no_role_a]")}
  - { name: late, host: 127.0.0.1, port: ${proxy.port}, database: ${database.name}, user: postgres, sslmode: disable,
      role_from_claim: role, allowed_roles: [pg_monitor, no_role_b], session_settings: { TimeZone: nowhere } }
http: { auth: { identity_provider: { issuer: "https://login.example.com", audience: postern } } }
`);
    await using server = await startServer(
      ["-http", "-addr", "127.0.0.1:0", "-no-auth", "-config", folder.configFile],
    );
    const told = (text: string) => server.stderr().split(text).length - 1;
    await waitUntil(
      "the start is over",
      () => told("databases[0].allowed_roles[0]: ") === 1 && told("The database is not ready") === 1,
    );
    const ready = async (status: string) => {
      const response = await fetch(`${server.url}/ready`);
      return (await response.json()).status === status;
    };
    await proxy.start();
    await waitUntil("the server is ready", () => ready("ready"));
    await waitUntil("it is told", () => told("databases[1].session_settings.TimeZone: ") === 1);
    await proxy.stop();
    await waitUntil("the database is gone", () => ready("degraded"));
    await proxy.start();
    await waitUntil("the server is ready again", () => ready("ready"));
    const refusals = server.stderr().match(/databases\[\d\]\.[^ ]+: .*(?= database=)/g)?.sort();
    assert.deepEqual(refusals, [
      'databases[0].allowed_roles[0]: PostgreSQL has no role "no_role_a"',
      'databases[1].allowed_roles[1]: PostgreSQL has no role "no_role_b"',
      'databases[1].session_settings.TimeZone: PostgreSQL refuses the setting: invalid value for parameter "TimeZone": "nowhere"',
    ]);
  },
);
