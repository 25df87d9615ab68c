import assert from "node:assert/strict";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { ToolDescription } from "../../../../src/tool_server/tools/tool.ts";
import { startConfiguredServer } from "../../../support/configured_server.ts";
import { accountTools, builtinTools, connectionTools } from "../../../../src/tool_server/builtin_kinds.ts";

/** All that a tool may need: with it, each tool that there may be is offered. */
const everything = `
llm: { provider: openai, model: test, openai_api_key: sk-test }
embedding: { enabled: true, provider: openai, model: test, openai_api_key: sk-test }
databases: [{ name: shop, host: 127.0.0.1, port: 1, user: u, database: d }]
pipelines:
  - name: handbook
    database: { host: 127.0.0.1, port: 1, user: u, database: d }
    allow_include_sources: true
    tables: [{ table: documents, text_column: content, vector_column: embedding }]
    embedding_llm: { provider: openai, model: test }
    rag_llm: { provider: openai, model: test }
    api_keys: { openai: sk-test }
knowledgebase: { enabled: true, pipeline: handbook }
limits: { default: { calls_per_minute: 1000 } }
`;

/** What a model reads of a list of tools, in tokens of o200k; hosts send it anew with every turn. */
function tokensOf(tools: readonly ToolDescription[]): number {
  return countTokens(
    JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))),
  );
}

async function listedTools(config: string): Promise<ToolDescription[]> {
  await using running = await startConfiguredServer(config);
  const { result } = await running.client.request("tools/list", {});
  return result.tools;
}

Deno.test("the tools that are listed by default take at most 2,500 tokens", async () => {
  const tokens = tokensOf(await listedTools(everything));
  assert.ok(tokens <= 2_500, `${tokens} tokens`);
});

Deno.test("all tools take at most 4,000 tokens", async () => {
  const switches = builtinTools.map((name) => `${name}: true`).join(", ");
  const tools = await listedTools(`${everything}builtins: { tools: { ${switches} } }`);
  const tokens = tokensOf(tools);
  assert.ok(tokens <= 4_000, `${tokens} tokens`);
  // otherwise the configuration above lacks what a tool needs
  const listed = tools.map(({ name }) => name).toSorted();
  const unlisted: readonly string[] = [...accountTools, ...Object.keys(connectionTools)];
  assert.deepEqual(listed, builtinTools.filter((name) => !unlisted.includes(name)).toSorted());
});
