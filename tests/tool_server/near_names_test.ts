import assert from "node:assert/strict";
import type { Principal } from "../../src/core/principal.ts";
import { createPromptRegistry } from "../../src/tool_server/prompts/prompt_registry.ts";
import { createResourceRegistry } from "../../src/tool_server/resources/resource_registry.ts";
import { createRegistry } from "../../src/tool_server/tools/registry.ts";
import { plainCall, plainTool } from "../support/mcp_endpoint.ts";

const anna: Principal = { kind: "session", id: "1", username: "anna" };
const berta: Principal = { kind: "session", id: "2", username: "berta" };

const tools = createRegistry({
  tools: [
    plainTool("count_rows", () => ({ content: [] })),
    { ...plainTool("logout", () => ({ content: [] })), hidden: true },
  ],
});
const prompts = createPromptRegistry(() => [{
  kind: "prompt",
  name: "explore-orders",
  available_to_users: ["anna"],
  description: { name: "explore-orders", arguments: [{ name: "table" }] },
  messages: () => Promise.resolve([]),
}]);
const resources = createResourceRegistry([{
  list: (principal) => principal === anna ? [{ uri: "pg://orders", name: "orders" }] : [],
  templates: (principal) => principal === anna ? [{ uriTemplate: "pg://{table}", name: "table" }] : [],
  read: () => Promise.resolve(undefined),
}]);

Deno.test("an unknown name is told the nearest one that there is", async () => {
  assert.throws(() => tools.prepareCall("count_row", {}, anna), {
    message: 'Cannot call tool "count_row": there is no such tool; did you mean "count_rows"?',
  });
  await assert.rejects(prompts.get("explore-order", {}, plainCall(anna)), {
    message: 'Cannot get prompt "explore-order": there is no such prompt; did you mean "explore-orders"?',
  });
  await assert.rejects(prompts.get("explore-orders", { tables: "x" }, plainCall(anna)), {
    message:
      'Cannot get prompt explore-orders: tables: is not an argument of this prompt; did you mean "table"?',
  });
  await assert.rejects(resources.read("pg://order", plainCall(anna)), {
    message: 'Cannot read resource "pg://order": there is no such resource; did you mean "pg://orders"?',
    data: { uri: "pg://order" },
  });
  const completion = { uriTemplate: "pg://{tables}", variable: "table", value: "", given: {} };
  await assert.rejects(resources.complete(completion, plainCall(anna)), {
    message:
      'Cannot complete resource template "pg://{tables}": there is no such template; did you mean "pg://{table}"?',
  });
});

Deno.test("no name is told that is hidden", async () => {
  assert.throws(() => tools.prepareCall("logot", {}, anna), {
    message: 'Cannot call tool "logot": there is no such tool',
  });
  await assert.rejects(prompts.get("explore-order", {}, plainCall(berta)), {
    message: 'Cannot get prompt "explore-order": there is no such prompt',
  });
  await assert.rejects(resources.read("pg://order", plainCall(berta)), {
    message: 'Cannot read resource "pg://order": there is no such resource',
  });
  const completion = { uriTemplate: "pg://{tables}", variable: "table", value: "", given: {} };
  await assert.rejects(resources.complete(completion, plainCall(berta)), {
    message: 'Cannot complete resource template "pg://{tables}": there is no such template',
  });
});
