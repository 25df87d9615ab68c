import assert from "node:assert/strict";
import { databaseEntry, startConfiguredServer } from "../../../support/configured_server.ts";
import { createTestDatabase, type TestDatabase, testWithPostgres } from "../../../support/database.ts";
import { waitUntil } from "../../../support/wait_until.ts";

const slow = "SELECT count(*) FROM generate_series(1, 100000000000)";
/** Keeps no core busy while it runs. */
const sleeping = "SELECT pg_sleep(60), 100000000000";

async function running(database: TestDatabase): Promise<number> {
  const rows = await database.query(
    `SELECT count(*) FROM pg_stat_activity WHERE datname = '${database.name}' AND state = 'active'
     AND query LIKE '%100000000000%' AND pid <> pg_backend_pid()`,
  );
  return Number(rows[0]?.[0]);
}

testWithPostgres("a client that disconnects or cancels leaves no statement running", async (t) => {
  await using database = await createTestDatabase();
  await using server = await startConfiguredServer(`databases: [${databaseEntry("main", database.name)}]`);
  const { client } = server;

  await t.step("by closing its connection", async () => {
    const controller = new AbortController();
    const call = client.call("query_database", { query: slow }, { signal: controller.signal });
    const ended = assert.rejects(call);
    await waitUntil("the statement runs", async () => await running(database) === 1);
    controller.abort();
    await ended;
    await waitUntil("nothing runs", async () => await running(database) === 0);
  });

  await t.step("by notifications/cancelled", async () => {
    const call = client.post(
      JSON.stringify({
        jsonrpc: "2.0",
        id: "slow",
        method: "tools/call",
        params: { name: "query_database", arguments: { query: slow } },
      }),
    );
    await waitUntil("the statement runs", async () => await running(database) === 1);
    const cancelled = await client.post(
      '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}}',
    );
    assert.equal(cancelled.status, 202);
    await waitUntil("nothing runs", async () => await running(database) === 0);
    const reply = await (await call).json();
    assert.equal(reply.result.isError, true);
    assert.match(reply.result.content[0].text, /was cancelled because its caller cancelled it/);
  });

  await t.step("over Streamable HTTP", async () => {
    const controller = new AbortController();
    const call = client.call("query_database", { query: slow }, {
      signal: controller.signal,
      headers: { accept: "application/json, text/event-stream" },
    });
    const ended = assert.rejects(call);
    await waitUntil("the statement runs", async () => await running(database) === 1);
    controller.abort();
    await ended;
    await waitUntil("nothing runs", async () => await running(database) === 0);
  });

  await t.step("and the next call works", async () => {
    assert.deepEqual((await client.call("query_database", { query: "SELECT 1" })).data["rows"], [[1]]);
  });
});

const transports = {
  "bare JSON-RPC": "application/json",
  "Streamable HTTP": "application/json, text/event-stream",
};

testWithPostgres(
  "a stop cuts off what still runs after the grace time, and says so over each transport",
  async () => {
    // side by side, as each takes the whole grace time
    await Promise.all(
      Object.entries(transports).map(async ([transport, accept]) => {
        await using database = await createTestDatabase();
        await using server = await startConfiguredServer(
          `databases: [${databaseEntry("main", database.name, "statement_timeout: 60s")}]`,
        );
        const call = server.client.post(
          JSON.stringify({
            jsonrpc: "2.0",
            id: "slow",
            method: "tools/call",
            params: { name: "query_database", arguments: { query: sleeping } },
          }),
          { headers: { accept } },
        ).then((response) => response.text());
        await waitUntil("the statement runs", async () => await running(database) === 1);
        const stopped = server.server.stop();
        assert.match(await call, /was cancelled because the server stops/, transport);
        assert.equal(await stopped, 0, transport);
        await waitUntil("nothing runs", async () => await running(database) === 0);
      }),
    );
  },
);
