import assert from "node:assert/strict";
import { createConfigFolder, databaseEntry } from "../../support/configured_server.ts";
import { createTestDatabase, testDatabaseUrl, testWithPostgres } from "../../support/database.ts";
import { startServer } from "../../support/server_process.ts";
import { startSeverableProxy } from "../../support/network/severable_proxy.ts";
import { createToolClient } from "../../support/tool_client.ts";
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

  await t.step("its tools say so, the others work, /ready is 503", async () => {
    const { isError, text } = await call("query_database", { query: "SELECT 1" });
    assert.equal(isError, true);
    assert.match(text, /^Cannot reach database "flaky": /);
    const steady = await call("query_database", { query: "SELECT 1", database: "steady" });
    assert.deepEqual(steady.data["rows"], [[1]]);
    assert.equal(await statusOf("/ready"), 503);
    assert.equal(await statusOf("/health"), 200);
  });

  await t.step("it is back", async () => {
    await proxy.start();
    const { data } = await call("query_database", { query: "SELECT 2" });
    assert.deepEqual(data["rows"], [[2]]);
    await waitUntil("the server is ready", async () => await statusOf("/ready") === 200);
  });

  await t.step("it goes away under open connections and comes back", async () => {
    await proxy.stop();
    assert.equal((await call("query_database", { query: "SELECT 3" })).isError, true);
    await proxy.start();
    assert.deepEqual((await call("query_database", { query: "SELECT 4" })).data["rows"], [[4]]);
  });
});
