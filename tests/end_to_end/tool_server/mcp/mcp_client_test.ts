import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { assertHas } from "../../../support/assert_has.ts";
import {
  createConfigFolder,
  databaseEntry,
  startConfiguredServer,
} from "../../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import { commandLine } from "../../../support/server_process.ts";

async function drive(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name).sort(), [
    "count_rows",
    "execute_explain",
    "get_schema_info",
    "list_databases",
    "query_database",
    "read_resource",
    "select_database",
  ]);
  const result = await client.callTool({
    name: "query_database",
    arguments: { query: "SELECT n, n * 2 AS twice FROM generate_series(1, 3) AS n" },
  });
  assertHas(result.structuredContent, { rows: [[1, 2], [2, 4], [3, 6]] });
  const failed = await client.callTool({
    name: "query_database",
    arguments: { query: "DELETE FROM pg_class" },
  });
  assert.equal(failed.isError, true);
  await assert.rejects(client.callTool({ name: "nope", arguments: {} }), /no such tool/);
}

testWithPostgres("the official client drives the server over stdio", async () => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder(`databases: [${databaseEntry("main", database.name)}]`);
  const client = new Client({ name: "test", version: "1" });
  const transport = new StdioClientTransport({
    ...commandLine(["-config", folder.configFile]),
    stderr: "pipe",
  });
  await client.connect(transport);
  assert.equal(client.getServerVersion()?.name, "postern");
  await drive(client);
  await client.close();
});

testWithPostgres("the official client drives the server over Streamable HTTP", async () => {
  await using database = await createTestDatabase();
  await using running = await startConfiguredServer(`databases: [${databaseEntry("main", database.name)}]`);
  const client = new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(`${running.server.url}/mcp/v1`), {
    requestInit: { headers: { authorization: `Bearer ${running.token}` } },
  });
  await client.connect(transport);
  await drive(client);
  await client.close();
  assert.equal(await running.server.stop(), 0);
});

testWithPostgres(
  "over stdio, standard output carries JSON-RPC alone and the end of input ends the server",
  async () => {
    await using folder = await createConfigFolder("log: { level: debug }");
    const { command, args } = commandLine(["-config", folder.configFile]);
    const child = new Deno.Command(command, { args, stdin: "piped", stdout: "piped", stderr: "piped" })
      .spawn();
    const writer = child.stdin.getWriter();
    const initialize = {
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    };
    await writer.write(new TextEncoder().encode(`${JSON.stringify(initialize)}\n`));
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value } = await reader.read();
    assert.equal(JSON.parse(value ?? "").result.serverInfo.name, "postern");
    await writer.close();
    assert.equal((await child.status).code, 0);
    assert.equal((await reader.read()).done, true);
    await child.stderr.cancel();
  },
);
