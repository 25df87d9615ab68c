import assert from "node:assert/strict";
import { password, writeUsers } from "../support/accounts.ts";
import { databaseEntry, startConfiguredServer } from "../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../support/database.ts";
import { rawExchange } from "../support/network/raw_exchange.ts";
import { waitUntil } from "../support/wait_until.ts";
import { createConsoleClient, fromPage } from "./console_client.ts";

const test = Deno.build.os === "linux"
  ? testWithPostgres
  : (name: string, fn: () => Promise<void>) => Deno.test({ name: `${name} (needs Linux)`, ignore: true, fn });

test("a session and the calls of two processes are seen from either", async () => {
  await using database = await createTestDatabase();
  await using running = await startConfiguredServer(
    `{ databases: [${databaseEntry("main", database.name)}], console: { administrators: [alice] }, ` +
      "audit: { file: audit.jsonl } }",
    ["-processes", "2"],
  );
  const { server, folder } = running;
  await writeUsers(folder, ["alice"]);
  await waitUntil("both serve", () => server.stderr().includes("2 processes serve"));
  const client = createConsoleClient(server.url);
  await waitUntil(
    "the account is known",
    async () => (await client.post("session", { username: "alice", password })).status === 204,
  );
  const cookie = `postern_console=${client.cookies.get("postern_console")}`;
  /** On a connection of its own, which the system gives to any process. */
  const ask = async (path: string, body?: object) => {
    const reply = await rawExchange(server.url, {
      path: `/console/${path}`,
      method: body === undefined ? "GET" : "POST",
      headers: { ...fromPage, cookie, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    assert.equal(reply.status, 200, reply.text);
    return JSON.parse(reply.text);
  };
  for (let n = 0; n < 30; n++) {
    const params = { name: "query_database", arguments: { query: `SELECT ${n}` } };
    await ask("mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params });
  }
  const trails = await Promise.all(["audit.jsonl", "audit-2.jsonl"].map(async (file) => {
    const text = await Deno.readTextFile(`${folder.path}/${file}`);
    return text.split("\n").filter((line) => line.includes('"event":"tool_call"')).length;
  }));
  assert.ok(trails.every((count) => count > 0), `each process answers: ${trails}`);
  for (let n = 0; n < 10; n++) {
    for (const path of ["calls", "calls?of=all"]) {
      const { calls } = await ask(path);
      assert.equal(calls.length, 30);
      const times = calls.map(({ at }: { at: string }) => at);
      assert.deepEqual(times, times.toSorted().toReversed());
    }
    const { processes, ready, pools: [main] } = await ask("server");
    assert.deepEqual([processes, ready], [2, "ready"]);
    assert.ok(main.idle >= 2, JSON.stringify(main));
  }
});
