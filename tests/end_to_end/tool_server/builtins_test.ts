import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { logIn, writeUsers } from "../../support/accounts.ts";
import { createConfigFolder, startConfiguredServer } from "../../support/configured_server.ts";
import { commandLine, startServer } from "../../support/server_process.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { builtinTools } from "../../../src/tool_server/builtin_kinds.ts";

const off = ["execute_explain", "count_rows"];
const config =
  "builtins: { tools: { execute_explain: false, count_rows: off, similarity_search: false, execute_explian: false } }";

async function driveSdk(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name }) => name).filter((name) => off.includes(name)), []);
  assert.equal(tools.length, 5);
  for (const name of [...off, "nope"]) {
    await assert.rejects(client.callTool({ name, arguments: {} }), unknownTool(name));
  }
}

const unknownTool = (name: string) => ({
  code: -32602,
  message: new RegExp(`Cannot call tool "${name}": there is no such tool$`),
});

Deno.test("a tool that builtins switches off is neither listed nor callable, over all transports", async () => {
  await using running = await startConfiguredServer(config);
  const { client, server, token, folder } = running;
  const { result } = await client.request("tools/list", {});
  assert.deepEqual(
    result.tools.map(({ name }: { name: string }) => name).toSorted(),
    ["get_schema_info", "list_databases", "query_database", "read_resource", "select_database"],
  );
  for (const name of [...off, "nope"]) {
    const { error } = await client.request("tools/call", { name, arguments: {} });
    assert.deepEqual(error, { code: -32602, message: `Cannot call tool "${name}": there is no such tool` });
  }

  const http = new Client({ name: "test", version: "1" });
  await http.connect(
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp/v1`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  await driveSdk(http);
  await http.close();

  const stdio = new Client({ name: "test", version: "1" });
  const transport = new StdioClientTransport({
    ...commandLine(["-config", folder.configFile]),
    stderr: "pipe",
  });
  await stdio.connect(transport);
  await driveSdk(stdio);
  await stdio.close();

  assert.match(
    server.stderr(),
    /execute_explian \(line 1\) has no effect: .*; did you mean "execute_explain"\?/,
  );
});

Deno.test("builtins.default: false leaves the tools that are named, and instructions name no other", async () => {
  await using running = await startConfiguredServer(
    "builtins: { default: false, tools: { get_schema_info: true } }",
  );
  const { result } = await running.client.request("tools/list", {});
  assert.deepEqual(result.tools.map(({ name }: { name: string }) => name), ["get_schema_info"]);
  const { error } = await running.client.request("tools/call", { name: "query_database", arguments: {} });
  assert.match(error.message, /no such tool$/);
  const initialized = await running.client.request("initialize", { protocolVersion: "2025-06-18" });
  assert.equal(
    initialized.result.instructions,
    "Read-only access to PostgreSQL databases. Call get_schema_info for their tables and columns. " +
      "Nothing can be written.",
  );
  // an API token has no session to end, which the tool itself says
  const logout = await running.client.call("logout", {});
  assert.match(logout.text, /this is not the session of a user/);
});

Deno.test("authenticate_user and logout are switched off by their names alone", async () => {
  await using folder = await createConfigFolder("builtins: { default: false }");
  await writeUsers(folder, ["alice"]);
  const { token } = await folder.addToken();
  const start = () => startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  {
    await using server = await start();
    const { session } = await logIn(server, "alice");
    assert.equal(session.success, true);
  }
  await folder.write("builtins: { tools: { authenticate_user: false, logout: false } }");
  await using server = await start();
  const login = await logIn(server, "alice");
  assert.deepEqual([login.status, login.body], [401, { error: "Unauthorized" }]);
  const client = createToolClient({ url: server.url, token });
  for (const name of ["authenticate_user", "logout"]) {
    const { error } = await client.request("tools/call", { name, arguments: {} });
    assert.deepEqual(error, { code: -32602, message: `Cannot call tool "${name}": there is no such tool` });
  }
});

Deno.test("builtins can name every tool there is", async () => {
  const all = builtinTools.map((name) => `${name}: false`).join(", ");
  await using running = await startConfiguredServer(
    `builtins: { tools: { ${all} } }`,
  );
  const { result } = await running.client.request("tools/list", {});
  assert.deepEqual(result, { tools: [] });
  assert.doesNotMatch(running.server.stderr(), /builtins/);
});

Deno.test("a client of MCP 2026-07-28 may keep the list of tools for a while", async () => {
  await using running = await startConfiguredServer("");
  const response = await running.client.post(
    JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/list",
      params: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }),
    {
      headers: {
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
      },
    },
  );
  const { result } = await response.json();
  assert.deepEqual([result.ttlMs, result.cacheScope], [60_000, "private"]);
  const names = result.tools.map(({ name }: { name: string }) => name);
  assert.ok(names.includes("query_database"));
  // those for programs are not listed, and without a model nothing is remembered
  assert.deepEqual(
    names.filter((name: string) => ["authenticate_user", "logout", "forget"].includes(name)),
    [],
  );
});

Deno.test("llm_connection_selection switches the tools that list and select databases, unless they are named", async () => {
  const offered = async (switches: string) => {
    await using running = await startConfiguredServer(`builtins: { tools: { ${switches} } }`);
    const names = ["list_databases", "select_database", "list_database_connections"];
    const replies = await Promise.all(
      names.map(async (name) =>
        (await running.client.request("tools/call", { name, arguments: {} })).error?.message ?? "answers"
      ),
    );
    const { result } = await running.client.request("tools/list", {});
    assert.doesNotMatch(JSON.stringify(result), /database_connection/);
    assert.doesNotMatch(running.server.stderr(), /has no effect/);
    return names.filter((_, at) => !/no such tool/.test(replies[at] ?? ""));
  };
  assert.deepEqual(await offered(""), ["list_databases", "select_database", "list_database_connections"]);
  assert.deepEqual(await offered("llm_connection_selection: false"), []);
  assert.deepEqual(await offered("llm_connection_selection: false, list_databases: true"), [
    "list_databases",
  ]);
  assert.deepEqual(await offered("list_databases: false"), ["select_database"]);
  assert.deepEqual(
    await offered("list_databases: false, list_database_connections: true"),
    ["select_database", "list_database_connections"],
  );
});

Deno.test("the tools that look after databases are off until they are named, whatever the default", async () => {
  const care = ["analyze_health", "recommend_indexes", "top_queries"];
  const listed = async (builtins: string) => {
    await using running = await startConfiguredServer(`builtins: { ${builtins} }`);
    const { result } = await running.client.request("tools/list", {});
    const names: string[] = result.tools.map(({ name }: { name: string }) => name);
    return names.filter((name) => care.includes(name)).toSorted();
  };
  assert.deepEqual(await listed("default: true"), []);
  assert.deepEqual(await listed("default: true, tools: { top_queries: true }"), ["top_queries"]);
  assert.deepEqual(await listed(`tools: { ${care.map((name) => `${name}: true`).join(", ")} }`), care);
});
