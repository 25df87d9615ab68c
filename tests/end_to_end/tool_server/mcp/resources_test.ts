import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { assertHas } from "../../../support/assert_has.ts";
import {
  createConfigFolder,
  databaseEntry,
  startConfiguredServer,
} from "../../../support/configured_server.ts";
import { createTestDatabase, type TestDatabase, testWithPostgres } from "../../../support/database.ts";
import { commandLine } from "../../../support/server_process.ts";

const tableUri = "pg://main/sales/old%20orders";

function configOf({ name }: TestDatabase): string {
  return `databases:\n  - ${databaseEntry("main", name)}\n  - ${
    databaseEntry("closed", name, "available_to_users: [alice]")
  }\n`;
}

async function createSales(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await database.query(
    'CREATE SCHEMA sales; CREATE TABLE sales."old orders" (id int PRIMARY KEY); CREATE TABLE people (id int)',
  );
  return database;
}

const jsonOf = (contents: readonly unknown[]) => {
  const [first] = contents;
  assert.ok(typeof first === "object" && first !== null && "text" in first && typeof first.text === "string");
  return JSON.parse(first.text);
};

async function drive(client: Client): Promise<void> {
  const listed = await client.listResources();
  const resources = listed.resources.filter(({ uri }) => uri.startsWith("pg:"));
  assert.deepEqual(resources.map(({ uri, mimeType }) => [uri, mimeType]), [
    ["pg://databases", "application/json"],
    ["pg://system_info", "application/json"],
  ]);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(resourceTemplates.map(({ uriTemplate }) => uriTemplate), [
    "pg://{database}/schema",
    "pg://{database}/{schema}/{table}",
  ]);
  for (const { uri } of resources) {
    const { contents } = await client.readResource({ uri });
    assertHas(contents, [{ uri, mimeType: "application/json" }]);
    jsonOf(contents);
  }
  const completed = await client.complete({
    ref: { type: "ref/resource", uri: "pg://{database}/{schema}/{table}" },
    argument: { name: "table", value: "OLD" },
    context: { arguments: { database: "main", schema: "sales" } },
  });
  assert.deepEqual(completed.completion.values, ["old orders"]);

  const schema = jsonOf((await client.readResource({ uri: "pg://main/schema" })).contents);
  assert.deepEqual(schema.tables.map(({ name }: { name: string }) => name), ["people", "old orders"]);
  const described = await client.callTool({
    name: "get_schema_info",
    arguments: { schema_name: "sales", table_name: "old orders" },
  });
  const link = described.content.find(({ type }) => type === "resource_link");
  assertHas(link, { uri: tableUri });
  const { table } = jsonOf((await client.readResource({ uri: tableUri })).contents);
  assert.deepEqual([table.name, table.primary_key], ["old orders", ["id"]]);
  const read = await client.callTool({ name: "read_resource", arguments: { uri: tableUri } });
  const [text] = read.content;
  assert.ok(text?.type === "text" && text.text.includes(JSON.stringify(table)));

  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map(({ name }) => name), [
    "explore-database",
    "setup-semantic-search",
    "diagnose-query-issue",
    "design-schema",
  ]);
  const { messages } = await client.getPrompt({ name: "explore-database", arguments: { database: "main" } });
  assertHas(messages, [{ role: "user", content: { type: "text" } }]);
  await assert.rejects(
    client.getPrompt({ name: "setup-semantic-search", arguments: {} }),
    /query_text: is missing/,
  );
}

async function isMissing(client: Client, uri: string): Promise<void> {
  await assert.rejects(client.readResource({ uri }), (error: Error) => {
    assert.ok(
      error.message.includes(`Cannot read resource "${uri}": there is no such resource`),
      error.message,
    );
    return true;
  });
}

testWithPostgres("the official client uses resources and prompts over stdio", async () => {
  await using database = await createSales();
  await using folder = await createConfigFolder(configOf(database));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StdioClientTransport({ ...commandLine(["-config", folder.configFile]), stderr: "pipe" }),
  );
  await drive(client);
  // the one caller of stdio may use all databases
  assert.equal(jsonOf((await client.readResource({ uri: "pg://closed/schema" })).contents).table_count, 2);
  await isMissing(client, "pg://none/schema");
  await client.close();
});

testWithPostgres("the official client uses resources and prompts over Streamable HTTP", async () => {
  await using database = await createSales();
  await using running = await startConfiguredServer(configOf(database));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${running.server.url}/mcp/v1`), {
      requestInit: { headers: { authorization: `Bearer ${running.token}` } },
    }),
  );
  await drive(client);
  for (const uri of ["pg://closed/schema", "pg://none/schema", "pg://main/public/none"]) {
    await isMissing(client, uri);
  }
  await client.close();
  assert.equal(await running.server.stop(), 0);
});

testWithPostgres("bare JSON-RPC reads resources and gets prompts, and sees a change at once", async () => {
  await using database = await createSales();
  await using running = await startConfiguredServer(configOf(database));
  const { client } = running;
  const read = async (uri: string) => {
    const { result, error } = await client.request("resources/read", { uri });
    return result === undefined ? error : jsonOf(result.contents);
  };
  assert.deepEqual(await read("pg://databases"), {
    databases: [{ name: "main", current: true, schema: "pg://main/schema" }],
    current: "main",
  });
  assert.equal((await read("pg://main/public/people")).table.columns.length, 1);
  await database.query("ALTER TABLE people ADD name text");
  assert.equal((await read("pg://main/public/people")).table.columns.length, 2);
  for (const uri of ["pg://closed/public/people", "pg://none/public/people"]) {
    assert.deepEqual(await read(uri), {
      code: -32602,
      message: `Cannot read resource "${uri}": there is no such resource`,
      data: { uri },
    });
  }
  const { result } = await client.request("prompts/get", {
    name: "design-schema",
    arguments: { requirements: "a library" },
  });
  assert.match(result.messages[0].content.text, /\n<data-([0-9a-f]{32})>\na library\n<\/data-\1>\n/);
  assert.doesNotMatch(result.messages[0].content.text, /search_knowledgebase/);
});

testWithPostgres(
  "resources and prompts that builtins switches off are neither there nor spoken of",
  async () => {
    await using database = await createSales();
    await using running = await startConfiguredServer(
      `${configOf(database)}builtins:
  tools: { count_rows: false }
  resources: { table: false, schema: false, system_info: false, view: false }
  prompts: { design-schema: false }
`,
    );
    const { client } = running;
    const list = async (method: string, field: string) => (await client.request(method, {})).result[field];
    assertHas(await list("resources/list", "resources"), [{ uri: "pg://databases" }]);
    assert.deepEqual(await list("resources/templates/list", "resourceTemplates"), []);
    assert.deepEqual((await list("prompts/list", "prompts")).map(({ name }: { name: string }) => name), [
      "explore-database",
      "setup-semantic-search",
      "diagnose-query-issue",
    ]);
    for (const uri of ["pg://system_info", "pg://main/schema", "pg://main/public/people"]) {
      const { error } = await client.request("resources/read", { uri });
      assert.equal(error.data.uri, uri);
    }
    for (
      const [tool, args] of [
        ["get_schema_info", { schema_name: "public", table_name: "people" }],
        ["list_databases", {}],
      ] as const
    ) {
      const { result } = await client.request("tools/call", { name: tool, arguments: args });
      assert.equal(result.content.length, 1);
    }
    const { error } = await client.request("prompts/get", {
      name: "design-schema",
      arguments: { requirements: "x" },
    });
    assert.match(error.message, /there is no such prompt/);
    const { result } = await client.request("prompts/get", { name: "explore-database" });
    assert.doesNotMatch(result.messages[0].content.text, /count_rows/);
    const diagnosis = await client.request("prompts/get", { name: "diagnose-query-issue" });
    assert.doesNotMatch(diagnosis.result.messages[0].content.text, /system_info/);
  },
);

testWithPostgres("a client of a revision without links to resources gets none", async () => {
  await using database = await createSales();
  await using running = await startConfiguredServer(configOf(database));
  const contentFor = async (headers: Record<string, string>) => {
    const response = await running.client.post(
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_databases" } }),
      { headers: { accept: "application/json, text/event-stream", ...headers } },
    );
    return (await response.json()).result.content.map(({ type }: { type: string }) => type);
  };
  assert.deepEqual(await contentFor({ "mcp-protocol-version": "2025-06-18" }), ["text", "resource_link"]);
  assert.deepEqual(await contentFor({ "mcp-protocol-version": "2025-03-26" }), ["text"]);
  assert.deepEqual(await contentFor({}), ["text"]);
  // over stdio the revision is agreed on at the start
  for (
    const [protocolVersion, types] of [["2025-03-26", ["text"]], ["2025-06-18", [
      "text",
      "resource_link",
      "resource_link",
    ]]]
  ) {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const { command, args } = commandLine(["-config", running.folder.configFile]);
    const child = new Deno.Command(command, { args, stdin: "piped", stdout: "piped", stderr: "null" })
      .spawn();
    const writer = child.stdin.getWriter();
    const lines = [
      { jsonrpc: "2.0", id: 0, method: "initialize", params },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_databases", arguments: {} } },
    ];
    await writer.write(new TextEncoder().encode(lines.map((line) => `${JSON.stringify(line)}\n`).join("")));
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let output = "";
    while (!output.includes('"id":1')) output += (await reader.read()).value ?? assert.fail(output);
    await writer.close();
    await reader.cancel();
    await child.status;
    const reply = output.split("\n").find((line) => line.includes('"id":1')) ?? "";
    assert.deepEqual(JSON.parse(reply).result.content.map(({ type }: { type: string }) => type), types);
  }
});
