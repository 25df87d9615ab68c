import assert from "node:assert/strict";
import type { Principal } from "../../../src/core/principal.ts";
import { createHistory, historyOwner } from "../../../src/tool_server/questions/history.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { memoryState } from "../../support/state.ts";
import { createRegistry } from "../../../src/tool_server/tools/registry.ts";
import { callTool } from "../../support/tool_fixture.ts";
import { forget } from "../../../src/tool_server/tools/caller_tools.ts";

const alice: Principal = { kind: "session", id: "s1", username: "alice" };
const aliceAgain: Principal = { kind: "session", id: "s2", username: "alice" };
const token: Principal = { kind: "token", id: "alice" };

function setUp() {
  const state = memoryState(() => 0);
  const history = createHistory(state, silentLogger);
  const add = async (principal: Principal, database: string) => {
    const owner = historyOwner(principal);
    const { generation } = await history.recent(owner, database);
    await history.add(owner, {
      database,
      question: "how many orders?",
      reply: { kind: "statement", sql: "SELECT count(*) FROM orders" },
      at: 0,
    }, generation);
  };
  return {
    history,
    add,
    tool: forget({ history }),
    [Symbol.asyncDispose]: () => state[Symbol.asyncDispose](),
  };
}

Deno.test("forget clears the caller's history in all databases and says how many", async () => {
  await using set = setUp();
  const { history, add, tool } = set;
  await add(alice, "shop");
  await add(alice, "staging");
  await add(token, "shop");
  assert.deepEqual(await callTool(tool, undefined, aliceAgain), {
    text: "Forgot 2 requests.",
    isError: false,
    data: { forgotten: 2 },
  });
  assert.equal((await history.recent("token:alice", "shop")).entries.length, 1);
  assert.equal((await callTool(tool, {}, token)).text, "Forgot 1 request.");
  assert.deepEqual(await callTool(tool, {}, alice), {
    text: "There was nothing to forget.",
    isError: false,
    data: { forgotten: 0 },
  });
});

Deno.test("forget is listed as what removes and cannot be undone", async () => {
  await using set = setUp();
  const [listed] = createRegistry({ tools: [set.tool] }).listTools(alice);
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
  await using set = setUp();
  const { tool } = set;
  await assert.rejects(
    async () => await callTool(tool, { database: "shop" }),
    /database: is not an argument/,
  );
});
