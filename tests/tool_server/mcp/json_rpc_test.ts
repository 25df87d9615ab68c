import assert from "node:assert/strict";
import { AppError, type ErrorCode } from "../../../src/core/app_error.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { untilAborted } from "../../../src/core/async/abort.ts";
import { createCalls } from "../../../src/calls/calls.ts";
import { createJsonRpc } from "../../../src/tool_server/mcp/json_rpc.ts";
import { errorObject } from "../../../src/tool_server/mcp/json_rpc_error.ts";
import { createPromptRegistry } from "../../../src/tool_server/prompts/prompt_registry.ts";
import { createResourceRegistry } from "../../../src/tool_server/resources/resource_registry.ts";
import type { Registry } from "../../../src/tool_server/tools/registry.ts";

const echo = { name: "echo", title: "Echo", description: "Echoes", inputSchema: { type: "object" } };

const registry: Registry = {
  mayBecomeTask: () => false,
  listTools: () => [echo],
  isKnown: (name) => name === "wait" || name === "echo",
  prepareCall(name, args) {
    if (name === "wait") {
      return {
        isFree: false,
        run: ({ signal }) => untilAborted(new Promise(() => {}), signal),
      };
    }
    if (name !== "echo") throw new AppError("invalid", `Cannot call tool "${name}": there is no such tool`);
    const result = { content: [{ type: "text" as const, text: JSON.stringify(args) }] };
    return { isFree: false, run: () => Promise.resolve(result) };
  },
};

function setUp() {
  const serverInfo = { name: "postern", title: "Postern", version: "1" };
  const jsonRpc = createJsonRpc({
    registry,
    resources: createResourceRegistry(),
    prompts: createPromptRegistry(),
    calls: createCalls(),
    serverInfo,
  });
  const caller = {
    principal: { kind: "local" } as const,
    signal: new AbortController().signal,
    logger: silentLogger,
  };
  return { answer: (message: unknown) => jsonRpc.answer(message, caller) };
}

const call = (id: unknown, name = "echo") => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: { a: 1 } },
});

for (const id of [0, -1, 1.5, "", "abc", "0", null, Number.MAX_SAFE_INTEGER]) {
  Deno.test(`the id ${JSON.stringify(id)} comes back as it was sent`, async () => {
    assert.deepEqual(await setUp().answer(call(id)), {
      jsonrpc: "2.0",
      id,
      result: { content: [{ type: "text", text: '{"a":1}' }] },
    });
  });
}

const refused: [string, unknown, unknown][] = [
  ["a number", 1, null],
  ["null", null, null],
  ["an object without jsonrpc", { id: 1, method: "ping" }, 1],
  ["another version", { jsonrpc: "1.0", id: "x", method: "ping" }, "x"],
  ["no method", { jsonrpc: "2.0", id: 1 }, 1],
  ["params that are a list", { jsonrpc: "2.0", id: 1, method: "ping", params: [] }, 1],
  ["an id that is an object", { jsonrpc: "2.0", id: {}, method: "ping" }, null],
  ["an id that is true", { jsonrpc: "2.0", id: true, method: "ping" }, null],
  ["an id too large to echo", { jsonrpc: "2.0", id: 1e300, method: "ping" }, null],
];

for (const [what, message, id] of refused) {
  Deno.test(`${what} is no request`, async () => {
    const reply = await setUp().answer(message);
    assert.ok(reply !== undefined && "error" in reply);
    assert.equal(reply.error.code, -32600);
    assert.equal(reply.id, id);
  });
}

Deno.test("a method that does not exist gives -32601", async () => {
  assert.deepEqual(await setUp().answer({ jsonrpc: "2.0", id: 1, method: "toString" }), {
    jsonrpc: "2.0",
    id: 1,
    error: { code: -32601, message: "Method not found" },
  });
});

Deno.test("an unknown tool and a nameless call give -32602", async () => {
  for (
    const params of [{ name: "nope" }, {}, { name: 1 }, { name: "echo", arguments: [] }, {
      name: "echo",
      arguments: "x",
    }]
  ) {
    const reply = await setUp().answer({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    assert.ok(reply !== undefined && "error" in reply);
    assert.equal(reply.error.code, -32602);
  }
});

Deno.test("a notification gets no answer, whatever it is", async () => {
  const { answer } = setUp();
  assert.equal(await answer({ jsonrpc: "2.0", method: "notifications/initialized" }), undefined);
  assert.equal(await answer({ jsonrpc: "2.0", method: "no/such" }), undefined);
  assert.equal(await answer([{ jsonrpc: "2.0", method: "no/such" }]), undefined);
});

Deno.test("a batch answers each request and no notification", async () => {
  const replies = await setUp().answer([
    call(1),
    { jsonrpc: "2.0", method: "notifications/initialized" },
    7,
    { jsonrpc: "2.0", id: "p", method: "ping" },
  ]);
  assert.deepEqual(replies, [
    { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: '{"a":1}' }] } },
    {
      jsonrpc: "2.0",
      id: null,
      error: {
        code: -32600,
        message: 'Invalid Request: expected an object with jsonrpc "2.0", method and, where given, params',
      },
    },
    { jsonrpc: "2.0", id: "p", result: {} },
  ]);
});

Deno.test("initialize answers without a session, in the revision that was asked for", async () => {
  const { answer } = setUp();
  const ask = (protocolVersion: string) =>
    answer({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion } });
  assert.match(JSON.stringify(await ask("2025-03-26")), /"protocolVersion":"2025-03-26"/);
  assert.match(JSON.stringify(await ask("1999-01-01")), /"protocolVersion":"2025-11-25"/);
});

Deno.test('notifications/cancelled ends the call of that id, and 1 is not "1"', async () => {
  const { answer } = setUp();
  const pending = answer(call(1, "wait"));
  const cancel = (requestId: unknown) =>
    answer({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
  await cancel("1");
  const state = await Promise.race([pending.then(() => "ended"), Promise.resolve("pending")]);
  assert.equal(state, "pending");
  await cancel(1);
  const reply = await pending;
  assert.ok(reply !== undefined && "result" in reply);
  assert.deepEqual(reply.result, {
    content: [{ type: "text", text: "The call was cancelled because its caller cancelled it" }],
    isError: true,
  });
});

Deno.test("each code of errors has its number", () => {
  const numbers: readonly (readonly [ErrorCode, number])[] = [
    ["invalid", -32602],
    ["not_found", -32602],
    ["unauthorized", -32001],
    ["rate_limited", -32002],
    ["quota_exceeded", -32003],
    ["forbidden", -32009],
    ["overloaded", -32004],
    ["unavailable", -32005],
    ["upstream", -32006],
    ["timeout", -32007],
    ["conflict", -32008],
    ["internal", -32603],
  ];
  for (const [code, number] of numbers) assert.equal(errorObject(new AppError(code, "")).code, number, code);
});
