import assert from "node:assert/strict";
import { recordCalls } from "../../support/recorded_calls.ts";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { whyEnded } from "../../../src/core/async/abort.ts";
import { createTasks } from "../../../src/tool_server/mcp/tasks.ts";
import { createRegistry } from "../../../src/tool_server/tools/registry.ts";
import { assertHas } from "../../support/assert_has.ts";
import { plainTool, serveMcp } from "../../support/mcp_endpoint.ts";
import { memoryState } from "../../support/state.ts";
import { connectTaskClient } from "../../support/task_client.ts";

/** A server with a tool that takes until it is let go, or cancelled. */
function serveSlowTool() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const run: Parameters<typeof plainTool>[1] = async ({ signal, client }) => {
    client?.notifyProgress?.(1, undefined, "working hard");
    const gone = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => gone.resolve());
    await Promise.race([promise, gone.promise]);
    if (signal.aborted) return { content: [{ type: "text", text: whyEnded(signal) }], isError: true };
    return { content: [{ type: "text", text: "done" }], structuredContent: { canAsk: client?.canAsk } };
  };
  const registry = createRegistry({
    tools: [{ ...plainTool("slow", run), mayBecomeTask: true }, plainTool("plain", run)],
  });
  const state = memoryState();
  const tasks = createTasks({ state, waitMs: 30 });
  const { calls, lines } = recordCalls();
  const served = serveMcp({ registry, tasks, calls });
  return {
    ...served,
    lines,
    letGo: resolve,
    connect: () => new StreamableHTTPClientTransport(new URL(served.url)),
    async [Symbol.asyncDispose]() {
      resolve();
      await served[Symbol.asyncDispose]();
      await tasks[Symbol.asyncDispose]();
      await state[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a client that takes tasks gets a handle and polls for the result", async () => {
  await using server = serveSlowTool();
  await using caller = await connectTaskClient(server.connect());
  assert.deepEqual(caller.client.getServerCapabilities()?.extensions, {
    "io.modelcontextprotocol/ui": {},
    "io.modelcontextprotocol/tasks": {},
  });
  const { taskId, ...handle } = await caller.begin("slow");
  assertHas(handle, { status: "working", statusMessage: "The call goes on", pollIntervalMs: 2_000 });
  assert.match(taskId, /^[0-9a-f-]{36}$/);
  assertHas(await caller.get(taskId), { taskId, status: "working" });
  // there is no question for it to answer
  assert.deepEqual(Object.keys(await caller.update(taskId)), ["_meta"]);
  const calls = () => server.lines.filter(({ event }) => event === "tool_call");
  assert.deepEqual(calls(), []);
  server.letGo();
  const ended = await caller.ended(taskId);
  assertHas(ended, {
    status: "completed",
    result: { content: [{ type: "text", text: "done" }], structuredContent: { canAsk: false } },
  });
  // the line of the audit trail is as of any call, long after its request has gone
  assert.deepEqual(
    calls().map(({ tool, request, address }) => [tool, request, address]),
    [["slow", "2", "127.0.0.1"]],
  );
});

Deno.test("a task is cancelled by its name, and not by the id of its request", async () => {
  await using server = serveSlowTool();
  await using caller = await connectTaskClient(server.connect());
  const { taskId } = await caller.begin("slow");
  for (let id = 0; id < 5; id++) {
    await caller.client.notification({ method: "notifications/cancelled", params: { requestId: id } });
  }
  assertHas(await caller.get(taskId), { status: "working" });
  await caller.cancel(taskId);
  assertHas(await caller.ended(taskId), { status: "cancelled" });
  assertHas(server.lines.find(({ event }) => event === "tool_call"), { outcome: "failed" });
});

Deno.test("a task says what its call does, where its request asked for progress", async () => {
  await using server = serveSlowTool();
  await using caller = await connectTaskClient(server.connect());
  const told: unknown[] = [];
  const { statusMessage } = await caller.begin("slow", {}, { onprogress: (step) => told.push(step) });
  assert.equal(statusMessage, "working hard");
  assert.deepEqual(told, [{ progress: 1, message: "working hard" }]);
});

Deno.test("a task that is not there is told so, whatever is asked of it", async () => {
  await using server = serveSlowTool();
  await using caller = await connectTaskClient(server.connect());
  for (const taskId of ["786512e2-9e0d-44bd-8f29-789f320fe840", ""]) {
    for (const ask of [caller.get, caller.update, caller.cancel]) {
      await assert.rejects(ask(taskId), { code: -32602, message: /Cannot find the task/ });
    }
  }
});

Deno.test("who does not declare the extension waits, and has no tasks", async () => {
  await using server = serveSlowTool();
  await using taker = await connectTaskClient(server.connect());
  const { taskId } = await taker.begin("slow");
  await using other = await connectTaskClient(server.connect(), {});
  for (const ask of [other.get, other.update, other.cancel]) {
    await assert.rejects(ask(taskId), {
      code: -32021,
      data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
    });
  }
  const waiting = other.call("slow");
  const plain = taker.call("plain");
  const earlier = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  await earlier.connect(server.connect());
  assert.deepEqual(earlier.getServerCapabilities()?.extensions, { "io.modelcontextprotocol/ui": {} });
  const before = earlier.callTool({ name: "slow" });
  const bare = fetch(server.url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "slow" } }),
  });
  await new Promise((resolve) => setTimeout(resolve, 60));
  server.letGo();
  for (const result of [await waiting, await plain, await before, (await (await bare).json()).result]) {
    assertHas(result, { content: [{ type: "text", text: "done" }] });
  }
  const none = await fetch(server.url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { taskId } }),
  });
  assertHas(await none.json(), { error: { code: -32601 } });
  await earlier.close();
});
