import assert from "node:assert/strict";
import { createConfigFolder, databaseEntry } from "../../../support/configured_server.ts";
import {
  createTestDatabase,
  requireTestDatabaseUrl,
  type TestDatabase,
  testWithPostgres,
} from "../../../support/database.ts";
import { command } from "../../../support/server_process.ts";
import { startSlowRelay } from "../../../support/network/slow_relay.ts";
import { waitUntil } from "../../../support/wait_until.ts";

const slow = "SELECT count(*) FROM generate_series(1, 100000000000)";

async function running(database: TestDatabase): Promise<number> {
  const rows = await database.query(
    `SELECT count(*) FROM pg_stat_activity WHERE datname = '${database.name}' AND state = 'active'
     AND query LIKE '%100000000000%' AND pid <> pg_backend_pid()`,
  );
  return Number(rows[0]?.[0]);
}

/** The program over stdio, in which a statement runs that would take minutes. */
async function startCall(database: TestDatabase, port: number) {
  const entry = databaseEntry("main", database.name, "statement_timeout: 300s");
  const folder = await createConfigFolder(
    `databases: [${entry.replace(/host: \S+, port: \d+/, `host: 127.0.0.1, port: ${port}`)}]`,
  );
  const child = command(["-config", folder.configFile], {
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()));
  const writer = child.stdin.getWriter();
  const send = (message: Readonly<Record<string, unknown>>) =>
    writer.write(new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`));
  await send({
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  });
  await send({ method: "notifications/initialized" });
  await send({
    id: 2,
    method: "tools/call",
    params: { name: "query_database", arguments: { query: slow } },
  });
  await waitUntil("the statement runs", async () => await running(database) === 1);
  return {
    child,
    send,
    leave: () => writer.close(),
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch {
        // it has ended
      }
      await writer.close().catch(() => {});
      await child.status;
      await output;
      await folder[Symbol.asyncDispose]();
    },
  };
}

type Call = Awaited<ReturnType<typeof startCall>>;

const ends: readonly [string, (call: Call) => Promise<void>][] = [
  ["closes its end", (call) => call.leave()],
  ["cancels and closes its end", async (call) => {
    await call.send({ method: "notifications/cancelled", params: { requestId: 2 } });
    await call.leave();
  }],
  ["stops the program", (call) => Promise.resolve(call.child.kill("SIGTERM"))],
];

for (const [what, end] of ends) {
  testWithPostgres(`a client over stdio that ${what} leaves no statement running`, async () => {
    await using database = await createTestDatabase();
    await using relay = await startSlowRelay(new URL(requireTestDatabaseUrl()), { connectMs: 300 });
    await using call = await startCall(database, relay.port);
    await end(call);
    assert.equal((await call.child.status).code, 0);
    await waitUntil("nothing runs", async () => await running(database) === 0);
  });
}

Deno.test("a client over stdio that closes standard output alone ends the program, which says so", async () => {
  await using folder = await createConfigFolder("databases: []");
  const child = command(["-config", folder.configFile], { stdin: "piped", stdout: "piped", stderr: "piped" })
    .spawn();
  const errors = new Response(child.stderr).text();
  const reader = child.stdout.getReader();
  const writer = child.stdin.getWriter();
  const ping = new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await writer.write(ping);
  assert.match(new TextDecoder().decode((await reader.read()).value), /"result"/);
  await reader.cancel();
  // it is found at the next answer
  await writer.write(ping);
  assert.equal((await child.status).code, 1);
  assert.match(await errors, /Cannot write to standard output: its client has closed it/);
  await writer.close().catch(() => {});
});
