import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createConfigFolder, databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import { createTestDatabase, type TestDatabase, testWithPostgres } from "../../support/database.ts";
import { overEachTransport } from "../../support/each_transport.ts";
import { scrape } from "../../support/scrape.ts";
import { commandLine, startServer } from "../../support/server_process.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";

type ToolClient = ReturnType<typeof createToolClient>;
type Held = Pick<Awaited<ReturnType<typeof startConfiguredServer>>, "client" | "server">;

/** One connection in each database, and one call of a caller that waits for it. */
const narrow = (database: TestDatabase) =>
  `admission: { max_waiting: 1 }
metrics: { address: "127.0.0.1:0" }
databases:
  - ${databaseEntry("main", database.name, "pool_max_conns: 1")}
  - ${databaseEntry("other", database.name, "pool_max_conns: 1")}
`;

const message = (id: number, query: string, database = "main") => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "query_database", arguments: { query, database } },
});

/** In which what was sent arrives, and waits. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 500));

/** Calls that hold the caller's connection and its place in the queue; disposing of it cancels them. */
async function holdUp({ client, server }: Held, database: TestDatabase): Promise<AsyncDisposable> {
  const held = await holdConnection(client, database, ["SELECT pg_sleep(29)", "SELECT 'waits'"]);
  const waiting = async () => (await scrape(server)).value("postern_database_waiting_requests");
  await waitUntil("the second waits", async () => await waiting() === 1);
  return {
    async [Symbol.asyncDispose]() {
      await held[Symbol.asyncDispose]();
      await waitUntil("nobody waits any more", async () => await waiting() === 0);
    },
  };
}

/** As {@link holdUp}, of statements of which the first runs. */
async function holdConnection(
  client: ToolClient,
  database: TestDatabase,
  statements = ["SELECT pg_sleep(29)"],
): Promise<AsyncDisposable> {
  const gone = new AbortController();
  const calls: Promise<unknown>[] = [];
  for (const [at, statement] of statements.entries()) {
    const body = JSON.stringify(message(1_000 + at, statement));
    calls.push(client.post(body, { signal: gone.signal }).then((reply) => reply.text()));
    if (at === 0) await waitUntil("the first statement runs", async () => await sleeping(database) === 1);
  }
  const settled = Promise.allSettled(calls);
  return {
    async [Symbol.asyncDispose]() {
      gone.abort();
      await settled;
      await waitUntil("nothing runs any more", async () => await sleeping(database) === 0);
    },
  };
}

async function sleeping(database: TestDatabase): Promise<number> {
  const rows = await database.query(
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' " +
      "AND query LIKE 'SELECT pg_sleep(29)%'",
  );
  return rows.length;
}

function assertOverloaded(error: { code: number; message: string; data: { retryAfterSeconds: number } }) {
  assert.equal(error.code, -32004);
  assert.match(
    error.message,
    /^Cannot run the call: 1 calls of this caller wait already; try again in \d+ s$/,
  );
  assert.ok(error.data.retryAfterSeconds >= 1);
}

testWithPostgres(
  "a call without room is refused by each transport over HTTP, and by none later",
  async (t) => {
    await using database = await createTestDatabase();
    await using running = await startConfiguredServer(narrow(database));
    const { client } = running;
    {
      await using _held = await holdUp(running, database);
      for (const [name, { body, headers }] of Object.entries(overEachTransport(message(7, "SELECT 7")))) {
        await t.step(name, async () => {
          const reply = await client.post(JSON.stringify(body), { headers });
          const { id, error } = await reply.json();
          assert.equal(reply.status, 503, JSON.stringify(error));
          assert.match(reply.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
          assert.equal(reply.headers.get("retry-after"), String(error.data.retryAfterSeconds));
          assert.equal(id, 7);
          assertOverloaded(error);
        });
      }

      await t.step("a batch, of which some is answered", async () => {
        const reply = await client.post(
          JSON.stringify([message(1, "SELECT 1"), message(2, "SELECT 2", "other")]),
        );
        const [refused, answered] = await reply.json();
        assert.equal(reply.status, 200);
        assert.equal(reply.headers.get("retry-after"), null);
        assertOverloaded(refused.error);
        assert.equal(answered.result.isError, undefined);
      });

      await t.step("a batch without room for any of it", async () => {
        const reply = await client.post(JSON.stringify([message(1, "SELECT 1"), message(2, "SELECT 2")]));
        for (const { error } of await reply.json()) assertOverloaded(error);
        assert.equal(reply.status, 503);
        assert.match(reply.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      });

      await t.step("what needs no connection is answered", async () => {
        assert.equal((await client.request("ping", {})).error, undefined);
        assert.equal((await client.call("list_databases", {})).isError, false);
      });
    }
    for (const [name, { body, headers }] of Object.entries(overEachTransport(message(7, "SELECT 7")))) {
      const reply = await client.post(JSON.stringify(body), { headers });
      const text = await reply.text();
      assert.equal(reply.status, 200, name);
      assert.match(text, /"rows":\[\[7\]\]/, name);
    }
    await waitUntil(
      "the log tells of it",
      () =>
        /WARN .*A call was refused: there was no room for it.* outcome=overloaded/.test(
          running.server.stderr(),
        ),
    );
  },
);

testWithPostgres("a call without room is refused over stdio", async () => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder(narrow(database));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StdioClientTransport({ ...commandLine(["-config", folder.configFile]), stderr: "pipe" }),
  );
  const gone = new AbortController();
  const ask = (query: string, signal?: AbortSignal) =>
    client.callTool({ name: "query_database", arguments: { query } }, { ...(signal && { signal }) });
  const held = assert.rejects(ask("SELECT pg_sleep(29)", gone.signal));
  await waitUntil("the statement runs", async () => await sleeping(database) === 1);
  const waits = assert.rejects(ask("SELECT 'waits'", gone.signal));
  await assert.rejects(ask("SELECT 1"), (error: { code: number }) => error.code === -32004);
  gone.abort();
  await Promise.all([held, waits]);
  await waitUntil("it is answered again", async () => {
    const reply = await ask("SELECT 1").catch(() => undefined);
    return reply !== undefined && reply.isError !== true;
  });
  await client.close();
});

testWithPostgres("a flood by one token leaves another token and another database alone", async () => {
  await using database = await createTestDatabase();
  await using running = await startConfiguredServer(narrow(database));
  const { server, client, folder } = running;
  const quiet = await folder.addToken();
  await waitUntil("the other token is known", () => server.stderr().includes("Reloaded"));
  const other = createToolClient({ url: server.url, token: quiet.token });
  await using _held = await holdUp(running, database);
  const gone = new AbortController();
  const counts: Record<number, number> = {};
  const flood = Promise.allSettled(Array.from({ length: 40 }, async () => {
    while (!gone.signal.aborted) {
      const reply = await client.post(JSON.stringify(message(1, "SELECT 1")), { signal: gone.signal });
      await reply.text();
      counts[reply.status] = (counts[reply.status] ?? 0) + 1;
    }
  }));
  for (let n = 0; n < 20; n++) {
    const rows = (await other.call("query_database", { query: `SELECT ${n}` })).data["rows"];
    assert.deepEqual(rows, [[n]]);
    // the flooding caller's own calls to a database that nothing holds up
    const own = await client.call("query_database", { query: `SELECT ${n}`, database: "other" });
    assert.deepEqual(own.data["rows"], [[n]]);
  }
  gone.abort();
  await flood;
  assert.deepEqual(Object.keys(counts), ["503"]);
});

testWithPostgres("without authentication an address that floods leaves another one its share", async () => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder(
    `http: { client_ip: { header: X-Forwarded-For, trusted_proxies: [127.0.0.1] } }
admission: { max_waiting: 4 }
databases: [${databaseEntry("main", database.name, "pool_max_conns: 1")}]
`,
  );
  await using server = await startServer(
    ["-http", "-addr", "127.0.0.1:0", "-no-auth", "-config", folder.configFile],
  );
  const { post } = createToolClient({ url: server.url });
  const from = (address: string, query: string, signal = new AbortController().signal) =>
    post(JSON.stringify(message(1, query)), { headers: { "x-forwarded-for": address }, signal });
  const gone = new AbortController();
  const held = assert.rejects(from("192.0.2.1", "SELECT pg_sleep(29)", gone.signal));
  await waitUntil("it runs", async () => await sleeping(database) === 1);
  const order: string[] = [];
  const ask = async (address: string) => {
    const reply = await from(address, "SELECT pg_sleep(0.1)");
    await reply.text();
    order.push(reply.status === 200 ? address : String(reply.status));
  };
  const flood = Array.from({ length: 6 }, () => ask("192.0.2.1"));
  await waitUntil("two of them are refused", () => order.length === 2);
  const quiet = [ask("192.0.2.2"), ask("192.0.2.3")];
  await pause();
  gone.abort();
  await Promise.all([held, ...flood, ...quiet]);
  const [many, one, other] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
  assert.deepEqual(order, ["503", "503", many, one, other, many, many, many]);
});

testWithPostgres("a storm of calls that are cancelled leaves nothing behind", async () => {
  await using database = await createTestDatabase();
  await using running = await startConfiguredServer(
    `admission: { max_wait: 0s }
databases: [${databaseEntry("main", database.name, "pool_max_conns: 1")}]`,
  );
  const { client } = running;
  const held = await holdConnection(client, database);
  const gone = new AbortController();
  const storm = Promise.allSettled(
    Array.from(
      { length: 200 },
      () => client.post(JSON.stringify(message(1, "SELECT 1")), { signal: gone.signal }),
    ),
  );
  const last = client.call("query_database", { query: "SELECT 'last'" });
  await pause();
  gone.abort();
  await storm;
  await held[Symbol.asyncDispose]();
  assert.deepEqual((await last).data["rows"], [["last"]]);
  assert.equal(await running.server.stop(), 0);
});

testWithPostgres("a call whose wait is expected to be too long is refused at once", async () => {
  await using database = await createTestDatabase();
  await using running = await startConfiguredServer(
    `admission: { max_wait: 2s }
databases: [${databaseEntry("main", database.name, "pool_max_conns: 1")}]`,
  );
  const { client } = running;
  await using _held = await holdConnection(client, database);
  // the one statement that runs has taken longer than a call may wait
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  const reply = await client.post(JSON.stringify(message(1, "SELECT 1")));
  const { error } = await reply.json();
  assert.equal(reply.status, 503);
  assert.match(error.message, /^Cannot run the call: it would wait about \d+ s for others to end/);
});
