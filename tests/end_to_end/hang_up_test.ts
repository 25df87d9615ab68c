import assert from "node:assert/strict";
import { createConfigFolder, databaseEntry } from "../support/configured_server.ts";
import { serve } from "../support/accounts.ts";
import { command, startServer } from "../support/server_process.ts";
import { testWithPostgres } from "../support/database.ts";
import { createToolClient } from "../support/tool_client.ts";
import { waitUntil } from "../support/wait_until.ts";

const http = (rest: string) => `http: { enabled: true, address: "127.0.0.1:0"${rest} }\ndatabases: []\n`;

Deno.test("SIGHUP has everything read again, and ends no server over HTTP", async () => {
  await using folder = await createConfigFolder(http(""));
  await using server = await serve(folder);
  const tell = () => Deno.kill(server.pid, "SIGHUP");
  const status = async (path: string, headers: Record<string, string>) => {
    const response = await fetch(server.url + path, { method: "POST", body: "{}", headers });
    await response.body?.cancel();
    return response.status;
  };
  const count = (text: string) => server.stderr().split(text).length - 1;
  const origin = { origin: "https://app.example.com", "content-type": "application/json" };
  assert.equal(await status("/mcp/v1", origin), 403);
  tell();
  await waitUntil("it is told", () => count(" INFO  Reloaded ") === 1);

  // what a running server takes in, and what it does not
  await folder.write(http(`, allowed_origins: ["https://app.example.com"]`) + "max_connections: 7\n");
  await waitUntil("the origin is let in", async () => await status("/mcp/v1", origin) === 401);
  await waitUntil(
    "the rest is named",
    () => server.stderr().includes("restart the server to apply the changes in max_connections"),
  );

  // the fault is told each time that somebody asks
  await folder.write("http: [\n");
  await waitUntil("the fault is told", () => count("Failed to reload") === 1);
  tell();
  await waitUntil("the fault is told again", () => count("Failed to reload") === 2);
  await Deno.writeTextFile(folder.tokenFile, "token: {}\n");
  await waitUntil("the credential fault is told", () => count("[AUTH] Failed to reload") === 1);
  tell();
  await waitUntil("and told again", () => count("[AUTH] Failed to reload") === 2);
  await folder.write("");
  await waitUntil("an emptied file is a fault", () => /Failed to reload .*it is empty/.test(server.stderr()));
  assert.equal(await status("/mcp/v1", origin), 401);

  await folder.write(http("") + "log: { level: debug }\n");
  await waitUntil("the setting is taken back", async () => await status("/mcp/v1", origin) === 403);
  for (let i = 0; i < 20; i++) tell();
  assert.equal(await server.stop(), 0);
});

Deno.test("SIGHUP ends no RAG server", async () => {
  await using folder = await createConfigFolder("server: { listen_address: 127.0.0.1, port: 0 }\n");
  await using server = await startServer(["-rag", "-config", folder.configFile]);
  Deno.kill(server.pid, "SIGHUP");
  await waitUntil("it is told", () => server.stderr().includes("SIGHUP: "));
  await folder.write(
    "server: { listen_address: 127.0.0.1, port: 0, cors: { enabled: true, allowed_origins: ['https://a.example'] } }\n",
  );
  await waitUntil("the origin is let in", async () => {
    const response = await fetch(`${server.url}/v1/pipelines`, { headers: { origin: "https://a.example" } });
    await response.body?.cancel();
    return response.headers.get("access-control-allow-origin") === "https://a.example";
  });
  assert.equal(await server.stop(), 0);
});

Deno.test("over stdio SIGHUP ends the process as the end of input does", async () => {
  await using folder = await createConfigFolder("databases: []\n");
  const child = command(["-config", folder.configFile], { stdin: "piped", stdout: "piped", stderr: "piped" })
    .spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"ping"}\n'));
  const reader = child.stdout.getReader();
  await reader.read();
  child.kill("SIGHUP");
  const { code, signal } = await child.status;
  assert.deepEqual([code, signal], [0, null]);
  reader.releaseLock();
  await Promise.all([child.stdout.cancel(), child.stderr.cancel(), writer.abort().catch(() => {})]);
});

testWithPostgres("a running server takes in other databases, and statements under way finish", async () => {
  const databases = (...names: string[]) =>
    http("").replace("databases: []\n", "databases:\n") +
    names.map((name) => `  - ${databaseEntry(name, "postgres")}\n`).join("");
  await using folder = await createConfigFolder(databases("first", "second"));
  const { token } = await folder.addToken();
  await using server = await serve(folder);
  const { call } = createToolClient({ url: server.url, token });
  const query = (database: string, sql: string) => call("query_database", { query: sql, database });
  const slow = query("second", "SELECT pg_sleep(1.5), 'finished'");
  await new Promise((resolve) => setTimeout(resolve, 300));
  await folder.write(databases("first", "third"));
  await waitUntil(
    "the new database is there",
    async () => (await query("third", "SELECT 1")).isError !== true,
  );
  assert.equal((await query("second", "SELECT 1")).isError, true);
  assert.notEqual((await query("first", "SELECT 1")).isError, true);
  assert.match(JSON.stringify(await slow), /finished/);
  assert.equal(await server.stop(), 0);
});
