import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Everything, useEverything } from "../../clients/use_everything.ts";
import { runClientProgram } from "../../support/client_programs.ts";
import { databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPgvector } from "../../support/database.ts";
import { commandLine } from "../../support/server_process.ts";

const query = "SELECT count(*) FROM orders";
const toolArguments: Record<string, Record<string, unknown>> = {
  query_database: { query },
  get_schema_info: { schema_name: "public", table_name: "orders" },
  count_rows: { table: "orders" },
  execute_explain: { query },
  list_databases: {},
  select_database: { name: "main" },
};

const createOrders =
  "CREATE TABLE orders (id int PRIMARY KEY, item text); INSERT INTO orders VALUES (1, 'tea')";

async function startEverything() {
  const database = await createTestDatabase();
  await database.query(createOrders);
  const running = await startConfiguredServer(`databases: [${databaseEntry("main", database.name)}]`);
  return {
    ...running,
    url: `${running.server.url}/mcp/v1`,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

function checkUsed(used: Everything): void {
  assert.deepEqual(used.tools.toSorted(), Object.keys(toolArguments).toSorted());
}

testWithPgvector("the official SDK uses all that there is, over HTTP and stdio", async () => {
  await using running = await startEverything();
  const overHttp = new StreamableHTTPClientTransport(new URL(running.url), {
    requestInit: { headers: { authorization: `Bearer ${running.token}` } },
  });
  const overStdio = new StdioClientTransport({
    ...commandLine(["-config", running.folder.configFile]),
    stderr: "ignore",
  });
  for (const transport of [overHttp, overStdio]) {
    const client = new Client({ name: "test", version: "2" });
    await client.connect(transport);
    checkUsed(await useEverything(client, toolArguments));
    await client.close();
  }
});

testWithPgvector(
  "the first major version of the SDK uses all that there is, over HTTP and stdio",
  async () => {
    await using running = await startEverything();
    const env = { TOOL_ARGUMENTS: JSON.stringify(toolArguments) };
    const { command, args } = commandLine(["-config", running.folder.configFile]);
    const script = "tests/clients/sdk_v1.ts";
    const printed = await Promise.all([
      runClientProgram(script, { env: { ...env, POSTERN_URL: running.url, POSTERN_TOKEN: running.token } }),
      runClientProgram(script, { env, args: [command, ...args] }),
    ]);
    for (const used of printed) checkUsed(JSON.parse(used));
  },
);

testWithPgvector("MCP Inspector's command line lists and calls, over HTTP and stdio", async () => {
  await using running = await startEverything();
  const { command, args } = commandLine(["-config", running.folder.configFile]);
  const overHttp = [running.url, "--transport", "http", "--header", `Authorization: Bearer ${running.token}`];
  for (const server of [overHttp, [command, ...args]]) {
    const inspect = async (...what: string[]) => {
      const printed = await runClientProgram("npm:@modelcontextprotocol/inspector@2.12.0", {
        args: ["--cli", ...server, "--method", ...what],
      });
      return JSON.parse(printed);
    };
    const { tools } = await inspect("tools/list");
    assert.ok(tools.some(({ name }: { name: string }) => name === "query_database"));
    const called = await inspect(
      "tools/call",
      "--tool-name",
      "query_database",
      "--tool-arg",
      `query=${query}`,
    );
    assert.deepEqual(called.structuredContent.rows, [[1]]);
    for (const list of ["resources", "prompts"]) {
      assert.ok(Array.isArray((await inspect(`${list}/list`))[list]));
    }
  }
});
