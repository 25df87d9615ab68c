import assert from "node:assert/strict";
import { databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { readCodeBlocks, runPageProgram } from "../../support/client_programs.ts";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { commandLine } from "../../support/server_process.ts";
import { createConfigFolder } from "../../support/configured_server.ts";

async function startServer() {
  const database = await createTestDatabase();
  const running = await startConfiguredServer(
    `databases: [${databaseEntry("main", database.name)}]`,
  );
  return {
    env: {
      POSTERN_URL: `${running.server.url}/mcp/v1`,
      POSTERN_TOKEN: running.token,
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

testWithPostgres(
  "the program for LangChain that its page shows queries the database",
  async () => {
    await using server = await startServer();
    assert.match(
      await runPageProgram("docs/clients/langchain.md", server.env),
      /rows: \[ \[ 42 \] \]/,
    );
  },
);

testWithPostgres(
  "the program for the OpenAI Agents SDK that its page shows queries the database",
  async () => {
    await using server = await startServer();
    await using model = playResponsesApi();
    const printed = await runPageProgram("docs/clients/openai_agents.md", {
      ...server.env,
      OPENAI_API_KEY: "sk-test",
      OPENAI_BASE_URL: model.url,
      OPENAI_AGENTS_DISABLE_TRACING: "1",
    });
    assert.match(printed, /It is 42\./);
    assert.match(model.toolOutput() ?? "", /42/);
  },
);

/**
 * OpenAI's Responses API, as far as this agent goes: it first calls `query_database`, then answers from what that gave.
 */
function playResponsesApi() {
  let toolOutput: string | undefined;
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => {},
  }, async (request) => {
    const { input, tools, model } = await request.json();
    assert.ok(
      tools.some(({ name }: { name: string }) => name === "query_database"),
    );
    const output = Array.isArray(input)
      ? input.find(({ type }: { type?: string }) => type === "function_call_output")?.output
      : undefined;
    const [id, common] = [crypto.randomUUID(), { status: "completed" }];
    if (output !== undefined) toolOutput = JSON.stringify(output);
    const items = output === undefined
      ? [{
        ...common,
        type: "function_call",
        id: `fc_${id}`,
        call_id: `call_${id}`,
        name: "query_database",
        arguments: JSON.stringify({ query: "SELECT 40 + 2 AS answer" }),
      }]
      : [{
        ...common,
        type: "message",
        id: `msg_${id}`,
        role: "assistant",
        content: [{ type: "output_text", text: "It is 42.", annotations: [] }],
      }];
    return Response.json({
      id: `resp_${id}`,
      object: "response",
      created_at: 0,
      status: "completed",
      model: model ?? "gpt",
      output: items,
      usage: {
        input_tokens: 1,
        output_tokens: 1,
        total_tokens: 2,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    toolOutput: () => toolOutput,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A server as a client's file names it. */
type Entry =
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | {
    readonly command: string;
    readonly args?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  };

for (const page of ["claude_desktop", "vscode", "cursor"]) {
  testWithPostgres(
    `each file that docs/clients/${page}.md shows leads to the server`,
    async () => {
      await using server = await startServer();
      await using database = await createTestDatabase();
      await using folder = await createConfigFolder(
        `databases: [${databaseEntry("main", database.name)}]`,
      );
      const files = await readCodeBlocks(`docs/clients/${page}.md`, "json");
      assert.ok(files.length > 0);
      for (const file of files) {
        const { mcpServers, servers = mcpServers } = JSON.parse(file);
        const entry: Entry = servers.postern;
        const client = new Client({ name: page, version: "1" });
        if ("url" in entry) {
          assert.equal(entry.url, "http://localhost:8080/mcp/v1");
          const headers = Object.entries(entry.headers).map(([name, value]) =>
            [
              name,
              value.replace(
                /\$\{(?:input:postern-token|env:POSTERN_TOKEN)\}/,
                server.env.POSTERN_TOKEN,
              ),
            ] as const
          );
          await client.connect(
            new StreamableHTTPClientTransport(new URL(server.env.POSTERN_URL), {
              requestInit: { headers: Object.fromEntries(headers) },
            }),
          );
        } else {
          const [command, ...given] = [entry.command, ...entry.args ?? []];
          const start = command === "npx" ? given.splice(0, 2) : [];
          assert.ok(command === "/usr/local/bin/postern" || start.join(" ") === "-y postern", command);
          const args = given.map((each) => each.endsWith(".yaml") ? folder.configFile : each);
          const { hostname, port, username } = new URL(database.url);
          const env = {
            ...entry.env,
            ...(entry.env &&
              {
                PGHOST: hostname,
                PGPORT: port,
                PGUSER: username,
                PGDATABASE: database.name,
              }),
          };
          await client.connect(
            new StdioClientTransport({
              ...commandLine(args),
              env,
              stderr: "ignore",
            }),
          );
        }
        const result = await client.callTool({
          name: "query_database",
          arguments: { query: "SELECT 42 AS answer" },
        });
        assert.ok(result.isError !== true, JSON.stringify(result));
        await client.close();
      }
    },
  );
}
