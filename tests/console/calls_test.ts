import assert from "node:assert/strict";
import { password, writeUsers } from "../support/accounts.ts";
import { createConfigFolder, databaseEntry } from "../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../support/database.ts";
import { startServer } from "../support/server_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { createConsoleClient } from "./console_client.ts";

testWithPostgres(
  "callers see their own calls, administrators all, and nobody a word of what was asked",
  async (t) => {
    await using database = await createTestDatabase();
    await using folder = await createConfigFolder(`
databases:
  - ${databaseEntry("main", database.name)}
  - ${databaseEntry("staff", database.name, "available_to_users: [alice]")}
  - { name: away, host: 127.0.0.1, port: 1, database: none }
console: { administrators: [bob] }
limits: { principals: { alice: { statements_per_minute: 100 } } }
`);
    await writeUsers(folder, ["alice", "bob"]);
    await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
    const logIn = async (username: string) => {
      const client = createConsoleClient(server.url);
      await client.post("session", { username, password });
      return client;
    };
    const [alice, again, bob] = [await logIn("alice"), await logIn("alice"), await logIn("bob")];

    await t.step("the newest first, those of all sessions of a user", async () => {
      await alice.query("SELECT n AS secret FROM generate_series(1, 3) n");
      await again.query("DELETE FROM secret");
      await again.query("SELECT * FROM secret");
      await bob.query("SELECT 4711");
      const { calls } = (await alice.send("calls")).json();
      assert.deepEqual(
        // deno-lint-ignore no-explicit-any
        calls.map(({ at, elapsedMs, ...call }: any) => {
          assert.ok(Math.abs(Date.now() - Date.parse(at)) < 600_000);
          assert.equal(typeof elapsedMs, "number");
          return call;
        }),
        [
          { name: "query_database", of: "tool", about: "main", result: "failed" },
          { name: "query_database", of: "tool", about: "main", result: "refused" },
          { name: "query_database", of: "tool", about: "main", result: "ok", rows: 3 },
        ],
      );
      assert.doesNotMatch((await alice.send("calls")).text, /secret|SELECT|alice/);
      assert.equal((await bob.send("calls")).json().calls.length, 1);
    });

    await t.step("callers see their own limits, and what is left", async () => {
      const usageOf = async (client: typeof alice) => (await client.send("usage")).json();
      const { limits: [own], shared } = await usageOf(alice);
      assert.equal(own.limit, "statements_per_minute");
      assert.equal(own.used + own.remaining, 100);
      assert.ok(own.used > 0);
      assert.deepEqual([shared, await usageOf(bob)], [[], { limits: [], shared: [] }]);
      assert.equal((await createConsoleClient(server.url).send("usage")).status, 401);
    });

    await t.step("what a caller wrote in place of a database or a tool is not told", async () => {
      const call = (name: string, args: object) =>
        alice.post("mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } });
      await call("query_database", { query: "SELECT 1", database: "my secret" });
      await call("my secret", {});
      const { calls } = (await alice.send("calls")).json();
      assert.deepEqual(calls.slice(0, 2).map(({ name }: { name: string }) => name), ["", "query_database"]);
      assert.doesNotMatch(JSON.stringify(calls), /my secret/);
    });

    await t.step("all are for administrators alone", async () => {
      const refused = await alice.send("calls?of=all");
      assert.deepEqual([refused.status, refused.json().error], [
        403,
        "This is for administrators: console.administrators.",
      ]);
      const { calls } = (await bob.send("calls?of=all")).json();
      const callers = calls.map(({ caller }: { caller: string }) => caller);
      assert.deepEqual(callers, ["alice", "alice", "bob", "alice", "alice", "alice"]);
      assert.equal((await createConsoleClient(server.url).send("calls")).status, 401);
    });

    await t.step("so is how the server is, with the names of all databases", async () => {
      assert.equal((await alice.send("server")).status, 403);
      assert.equal((await createConsoleClient(server.url).send("server")).status, 401);
      const { ready, databases, pipelines, pools, providers, processes } = (await bob.send("server")).json();
      assert.deepEqual([ready, pipelines, providers, processes], ["degraded", [], [], 1]);
      assert.deepEqual(databases, [
        { name: "main", reachable: true },
        { name: "staff", reachable: true },
        { name: "away", reachable: false },
      ]);
      const [main] = pools;
      assert.deepEqual(pools.map(({ database }: { database: string }) => database), [
        "main",
        "staff",
        "away",
      ]);
      // two callers' connections
      assert.equal(main.idle + main.in_use >= 2, true, JSON.stringify(main));
      assert.equal(main.waiting, 0);
    });

    await t.step("a caller who leaves ends the statement", async () => {
      const leave = new AbortController();
      const asked = fetch(`${server.url}/console/mcp`, {
        method: "POST",
        signal: leave.signal,
        headers: {
          "content-type": "application/json",
          "sec-fetch-site": "same-origin",
          cookie: `postern_console=${alice.cookies.get("postern_console")}`,
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: {
            name: "query_database",
            arguments: { query: "SELECT count(*) AS left_alone FROM generate_series(1, 100000000000)" },
          },
        }),
      });
      const runs = async () => {
        const [row] = await database.query(
          "SELECT count(*)::int FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%AS left_alone%' " +
            "AND pid <> pg_backend_pid()",
        );
        return row?.[0] === "1";
      };
      await waitUntil("it runs", runs);
      leave.abort();
      await assert.rejects(asked);
      await waitUntil("it has ended", async () => !await runs());
    });
  },
);
