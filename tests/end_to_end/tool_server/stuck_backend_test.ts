import assert from "node:assert/strict";
import { createConfigFolder, databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import { createTestDatabase, requireTestDatabaseUrl, testWithPostgres } from "../../support/database.ts";
import { startPoolerProxy } from "../../support/network/pooler_proxy.ts";
import { startServer } from "../../support/server_process.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";

testWithPostgres(
  "a statement that PostgreSQL does not stop holds its caller's place and nobody else's",
  async () => {
    await using database = await createTestDatabase();
    const { hostname, port } = new URL(requireTestDatabaseUrl());
    // it does not relay requests to cancel
    await using proxy = await startPoolerProxy({ host: hostname, port: Number(port || "5432") });
    const entry = databaseEntry("main", database.name, "statement_timeout: 300s, pool_max_conns: 1");
    await using server = await startConfiguredServer(
      `databases: [${entry.replace(/host: \S+, port: \d+/, `host: 127.0.0.1, port: ${proxy.port}`)}]`,
    );
    const other = await server.folder.addToken({ note: "other" });
    await waitUntil("the other token is known", () => server.server.stderr().includes("Reloaded"));
    const runs = async () => {
      const rows = await database.query(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' " +
          "AND query = 'SELECT pg_sleep(250)'",
      );
      return rows.length === 1;
    };
    const ask = (query: string, init?: RequestInit) => server.client.call("query_database", { query }, init);

    const leaving = new AbortController();
    const left = assert.rejects(ask("SELECT pg_sleep(250)", { signal: leaving.signal }));
    await waitUntil("the statement runs", runs);
    leaving.abort();
    await left;
    // waits for the place, until it is known to be taken for good
    const refused = await ask("SELECT 1");
    assert.equal(refused.isError, true);
    assert.match(
      refused.text,
      /statements that PostgreSQL does not stop hold all of this caller's connections \(1\)/,
    );
    assert.equal(await runs(), true);
    await waitUntil(
      "the log tells of it",
      () =>
        /WARN .*does not stop a statement that has to end; .* database=main backend=\d+ caller="token /.test(
          server.server.stderr(),
        ),
    );

    const others = createToolClient({ url: server.server.url, token: other.token });
    assert.deepEqual((await others.call("query_database", { query: "SELECT 1" })).data["rows"], [[1]]);

    await database.query(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(250)'",
    );
    await waitUntil("the place is free", async () => !(await ask("SELECT 1")).isError);
    assert.match(
      server.server.stderr(),
      /INFO .*has ended; its place in the pool is free again .*caller="token /,
    );
  },
);

testWithPostgres(
  "without authentication the client's address is told, and a stop does not wait",
  async () => {
    await using database = await createTestDatabase();
    const { hostname, port } = new URL(requireTestDatabaseUrl());
    await using proxy = await startPoolerProxy({ host: hostname, port: Number(port || "5432") });
    const entry = databaseEntry("main", database.name, "statement_timeout: 300s, pool_max_conns: 1");
    await using folder = await createConfigFolder(
      `databases: [${entry.replace(/host: \S+, port: \d+/, `host: 127.0.0.1, port: ${proxy.port}`)}]`,
    );
    await using server = await startServer(
      ["-http", "-addr", "127.0.0.1:0", "-no-auth", "-config", folder.configFile],
    );
    const { call } = createToolClient({ url: server.url });
    const leaving = new AbortController();
    const left = assert.rejects(
      call("query_database", { query: "SELECT pg_sleep(250)" }, { signal: leaving.signal }),
    );
    const runs = () =>
      database.query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query = 'SELECT pg_sleep(250)'",
      );
    await waitUntil("the statement runs", async () => (await runs()).length === 1);
    leaving.abort();
    await left;
    await waitUntil("the log tells of it", () => server.stderr().includes('caller="address 127.0.0.1"'));
    assert.equal((await call("query_database", { query: "SELECT 1" })).isError, true);
    assert.equal((await fetch(`${server.url}/ready`)).status, 200);
    assert.equal(await server.stop(), 0);
    assert.equal((await runs()).length, 1);
  },
);
