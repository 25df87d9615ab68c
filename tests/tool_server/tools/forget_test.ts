import assert from "node:assert/strict";
import type { Principal } from "../../../src/core/principal.ts";
import { createMemoryHistory, historyOwner } from "../../../src/tool_server/questions/history.ts";
import { createRegistry } from "../../../src/tool_server/tools/registry.ts";
import { callTool } from "../../support/tool_fixture.ts";
import { forget } from "../../../src/tool_server/tools/caller_tools.ts";

const alice: Principal = { kind: "session", id: "s1", username: "alice" };
const aliceAgain: Principal = { kind: "session", id: "s2", username: "alice" };
const token: Principal = { kind: "token", id: "alice" };

function setUp() {
  const history = createMemoryHistory({ now: () => 0 });
  const add = (principal: Principal, database: string) =>
    history.add(historyOwner(principal), {
      database,
      question: "how many orders?",
      reply: { kind: "statement", sql: "SELECT count(*) FROM orders" },
      at: 0,
    }, history.generation(historyOwner(principal)));
  return { history, add, tool: forget({ history }) };
}

Deno.test("forget clears the caller's history in all databases and says how many", async () => {
  const { history, add, tool } = setUp();
  add(alice, "shop");
  add(alice, "staging");
  add(token, "shop");
  assert.deepEqual(await callTool(tool, undefined, aliceAgain), {
    text: "Forgot 2 requests.",
    isError: false,
    data: { forgotten: 2 },
  });
  assert.equal(history.recent("token:alice", "shop").length, 1);
  assert.equal((await callTool(tool, {}, token)).text, "Forgot 1 request.");
  assert.deepEqual(await callTool(tool, {}, alice), {
    text: "There was nothing to forget.",
    isError: false,
    data: { forgotten: 0 },
  });
});

Deno.test("forget is listed as what removes and cannot be undone", () => {
  const [listed] = createRegistry({ tools: [setUp().tool] }).listTools(alice);
  assert.deepEqual(listed && { ...listed, outputSchema: undefined, inputSchema: undefined }, {
    name: "forget",
    title: "Forget",
    description:
      "Clear the memory of your earlier requests to query_database, so that the next one cannot refer to them. " +
      "Cannot be undone.",
    inputSchema: undefined,
    outputSchema: undefined,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  });
  assert.deepEqual(listed?.inputSchema, {
    type: "object",
    properties: {},
  });
});

Deno.test("forget takes no arguments", async () => {
  const { tool } = setUp();
  await assert.rejects(
    async () => await callTool(tool, { database: "shop" }),
    /database: is not an argument/,
  );
});
