import assert from "node:assert/strict";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Everything, useEverything } from "../../clients/use_everything.ts";
import { runClientProgram } from "../../support/client_programs.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import { commandLine, startServer } from "../../support/server_process.ts";
import { createDocumentFolder } from "../documents/document_servers.ts";

const query = "SELECT count(*) FROM pages";
const toolArguments: Record<string, Record<string, unknown>> = {
  query_database: { query },
  get_schema_info: { schema_name: "public", table_name: "pages" },
  count_rows: { table: "pages" },
  execute_explain: { query },
  list_databases: {},
  select_database: { name: "shop" },
  read_resource: { uri: "pg://databases" },
  search: { query: "annual leave" },
  fetch: { id: "handbook/1-1" },
  ask_pipeline: { pipeline: "handbook", question: "How many days of leave are there?" },
  search_knowledgebase: { query: "annual leave" },
  similarity_search: { table_name: "pages", query_text: "annual leave" },
  generate_embedding: { text: "annual leave" },
  find_tools: { query: "rows" },
  analyze_health: {},
  recommend_indexes: { statements: [query] },
  pages_of_year: { year: 2026 },
};

const definitions = `
tools:
  - name: pages_of_year
    description: Pages of a year.
    type: sql
    sql: SELECT id FROM pages WHERE year = $1
    input_schema: { type: object, properties: { year: { type: integer } }, required: [year] }
    database: shop
prompts:
  - name: greet
    arguments: [{ name: who, required: true }]
    messages: [{ role: user, content: { type: text, text: "Greet {{who}}." } }]
resources:
  - { uri: "custom://note", name: note, type: static, data: "A note." }
`;

/** A server with all that it can offer, but for what needs an extension of PostgreSQL's or a model. */
async function startEverything() {
  await using opening = new AsyncDisposableStack();
  const embedding = { provider: "openai", model: "e", openai_api_key: "k" };
  const fixture = opening.use(await createDocumentFolder());
  const { folder } = fixture;
  const more = {
    embedding: { ...embedding, openai_base_url: fixture.openai.url },
    knowledgebase: { pipeline: "handbook" },
    custom_definitions_path: "definitions.yaml",
    builtins: { tools: { find_tools: true, analyze_health: true, recommend_indexes: true } },
  };
  const config = JSON.parse(await Deno.readTextFile(folder.configFile));
  await folder.write(JSON.stringify({ ...config, ...more }));
  await Deno.writeTextFile(join(folder.path, "definitions.yaml"), definitions);
  const { token } = await folder.addToken();
  const server = opening.use(
    await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]),
  );
  const stack = opening.move();
  return {
    url: `${server.url}/mcp/v1`,
    token,
    overStdio: commandLine(["-config", folder.configFile]),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function checkUsed({ tools, resources, templates, prompts }: Everything): void {
  assert.deepEqual(tools.toSorted(), Object.keys(toolArguments).toSorted());
  for (const uri of ["pg://system_info", "pg://databases", "custom://note"]) {
    assert.ok(resources.includes(uri), uri);
  }
  assert.ok(templates.includes("pg://{database}/schema"), templates.join(" "));
  assert.ok(templates.includes("pg://{database}/{schema}/{table}"), templates.join(" "));
  assert.ok(templates.includes("postern://pipelines/{name}/{id}"), templates.join(" "));
  assert.deepEqual(prompts.toSorted(), [
    "design-schema",
    "diagnose-query-issue",
    "explore-database",
    "greet",
    "setup-semantic-search",
  ]);
}

testWithPgvectorServer("the official SDK uses all that there is, over HTTP and stdio", async () => {
  await using running = await startEverything();
  const overHttp = new StreamableHTTPClientTransport(new URL(running.url), {
    requestInit: { headers: { authorization: `Bearer ${running.token}` } },
  });
  const overStdio = new StdioClientTransport({ ...running.overStdio, stderr: "ignore" });
  for (const transport of [overHttp, overStdio]) {
    const client = new Client({ name: "test", version: "2" });
    await client.connect(transport);
    checkUsed(await useEverything(client, toolArguments));
    await client.close();
  }
});

testWithPgvectorServer(
  "the first major version of the SDK uses all that there is, over HTTP and stdio",
  async () => {
    await using running = await startEverything();
    const env = { TOOL_ARGUMENTS: JSON.stringify(toolArguments) };
    const { command, args } = running.overStdio;
    const script = "tests/clients/sdk_v1.ts";
    const printed = await Promise.all([
      runClientProgram(script, { env: { ...env, POSTERN_URL: running.url, POSTERN_TOKEN: running.token } }),
      runClientProgram(script, { env, args: [command, ...args] }),
    ]);
    for (const used of printed) checkUsed(JSON.parse(used));
  },
);

testWithPgvectorServer("MCP Inspector's command line lists and calls, over HTTP and stdio", async () => {
  await using running = await startEverything();
  const { command, args } = running.overStdio;
  const overHttp = [running.url, "--transport", "http", "--header", `Authorization: Bearer ${running.token}`];
  for (const server of [overHttp, [command, ...args]]) {
    const inspect = async (...what: string[]) => {
      const printed = await runClientProgram("npm:@modelcontextprotocol/inspector@2.12.0", {
        args: ["--cli", ...server, "--method", ...what],
      });
      return JSON.parse(printed);
    };
    const { tools } = await inspect("tools/list");
    assert.deepEqual(
      tools.map(({ name }: { name: string }) => name).toSorted(),
      Object.keys(toolArguments).toSorted(),
    );
    const called = await inspect(
      "tools/call",
      "--tool-name",
      "query_database",
      "--tool-arg",
      `query=${query}`,
    );
    assert.deepEqual(called.structuredContent.rows, [[7]]);
    const { resources } = await inspect("resources/list");
    assert.ok(resources.some(({ uri }: { uri: string }) => uri === "custom://note"));
    const read = await inspect("resources/read", "--uri", "custom://note");
    assert.match(JSON.stringify(read), /A note\./);
    const { prompts } = await inspect("prompts/list");
    assert.ok(prompts.some(({ name }: { name: string }) => name === "greet"));
  }
});
