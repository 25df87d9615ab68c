import assert from "node:assert/strict";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { accountTools, builtinTools } from "../../../src/tool_server/tools/tool_kinds.ts";
import type { ToolDescription } from "../../../src/tool_server/tools/tool.ts";
import { startConfiguredServer } from "../../support/configured_server.ts";

/** What a configuration can switch on besides: each tool that there may be is listed. */
const everything = `
llm: { provider: openai, model: test, openai_api_key: sk-test }
embedding: { provider: local }
knowledgebase: { pipeline: manuals }
pipelines:
  - name: manuals
    database: { host: 127.0.0.1, port: 1, database: none }
    tables: [{ table: manuals, text_column: body, vector_column: embedding }]
    embedding_llm: { provider: local }
    rag_llm: { provider: local }
    allow_include_sources: true
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
  for (const name of accountTools) assert.ok(!tools.some((tool) => tool.name === name));
});
