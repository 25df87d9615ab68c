import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { tellOfResource } from "./tell_of_resource.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { createChanges } from "../../../src/tool_server/changes.ts";
import { serveStdio } from "../../../src/tool_server/mcp/stdio.ts";
import { createRegistry } from "../../../src/tool_server/tools/registry.ts";
import { mcpOptions, plainTool } from "../../support/mcp_endpoint.ts";
import { envelope } from "../../support/mcp_request.ts";
import { waitUntil } from "../../support/wait_until.ts";

function startStdio() {
  const changes = createChanges();
  const input = new PassThrough();
  const output = new PassThrough();
  const served = serveStdio(
    { ...mcpOptions({ changes }), logger: silentLogger },
    { input, output },
  );
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  return {
    changes,
    send: (message: object) => void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`),
    next: async () => JSON.parse((await lines.next()).value ?? "null"),
    async [Symbol.asyncDispose]() {
      input.end();
      await served.closed;
      await served.close();
    },
  };
}

const asked = (changes: ReturnType<typeof createChanges>) => changes.subscribers().map(({ uris }) => uris);

Deno.test("who listens over stdio is told of what they asked for, until they cancel it", async () => {
  await using server = startStdio();
  const listen = (id: number, notifications: object) =>
    server.send({ id, method: "subscriptions/listen", params: { notifications, _meta: envelope() } });
  listen(1, { toolsListChanged: true });
  listen(2, { resourceSubscriptions: ["pg://a"] });
  assert.equal((await server.next()).method, "notifications/subscriptions/acknowledged");
  assert.equal((await server.next()).method, "notifications/subscriptions/acknowledged");
  assert.deepEqual(asked(server.changes), [["pg://a"]]);
  server.changes.publish({ kind: "prompts" });
  tellOfResource(server.changes, "pg://b");
  tellOfResource(server.changes, "pg://a");
  server.changes.publish({ kind: "tools" });
  const subscriptionOf = (id: number) => ({ _meta: { "io.modelcontextprotocol/subscriptionId": id } });
  assert.deepEqual(await server.next(), {
    jsonrpc: "2.0",
    method: "notifications/resources/updated",
    params: { uri: "pg://a", ...subscriptionOf(2) },
  });
  assert.deepEqual(await server.next(), {
    jsonrpc: "2.0",
    method: "notifications/tools/list_changed",
    params: subscriptionOf(1),
  });
  server.send({ method: "notifications/cancelled", params: { requestId: 2, _meta: envelope() } });
  await waitUntil("nobody asks for a resource", () => asked(server.changes).flat().length === 0);
});

Deno.test("over stdio a client of an earlier revision is told of lists unasked, and of resources it asked for", async () => {
  await using server = startStdio();
  server.send({
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  });
  assert.deepEqual((await server.next()).result.capabilities, {
    tools: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    prompts: { listChanged: true },
    completions: {},
    extensions: { "io.modelcontextprotocol/ui": {} },
  });
  server.send({ method: "notifications/initialized" });
  server.send({ id: 2, method: "resources/subscribe", params: { uri: "pg://a" } });
  assert.deepEqual(await server.next(), { jsonrpc: "2.0", id: 2, result: {} });
  tellOfResource(server.changes, "pg://b");
  tellOfResource(server.changes, "pg://a");
  assert.deepEqual(await server.next(), {
    jsonrpc: "2.0",
    method: "notifications/resources/updated",
    params: { uri: "pg://a" },
  });
  server.send({ id: 3, method: "resources/unsubscribe", params: { uri: "pg://a" } });
  assert.deepEqual(await server.next(), { jsonrpc: "2.0", id: 3, result: {} });
  tellOfResource(server.changes, "pg://a");
  server.changes.publish({ kind: "tools" });
  assert.deepEqual(await server.next(), { jsonrpc: "2.0", method: "notifications/tools/list_changed" });
});

Deno.test("what was asked before standard input ends is answered, and then the server ends", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const asked = Promise.withResolvers<void>();
  const slow = plainTool("slow", async () => {
    asked.resolve();
    await new Promise((resolve) => setTimeout(resolve, 50));
    return { content: [{ type: "text", text: "late" }] };
  });
  const registry = createRegistry({ tools: [slow] });
  const served = serveStdio({ ...mcpOptions({ registry }), logger: silentLogger }, { input, output });
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  const params = { name: "slow", arguments: {}, _meta: envelope() };
  input.end(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })}\n`);
  await asked.promise;
  const { result } = JSON.parse((await lines.next()).value ?? "null");
  assert.equal(result.content[0].text, "late");
  await served.closed;
  await served.close();
});

Deno.test("over stdio a batch is refused with what was expected, and what comes after it is answered", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const served = serveStdio({ ...mcpOptions(), logger: silentLogger }, { input, output });
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  const ping = { jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: envelope() } };
  input.end(`[${JSON.stringify(ping)}]\n${JSON.stringify(ping)}\n`);
  const answers = [await lines.next(), await lines.next()].map(({ value }) => JSON.parse(value ?? "null"));
  const [{ error }, { result }] = answers.toSorted((one) => one.id === null ? -1 : 1);
  assert.equal(error.code, -32600);
  assert.match(error.message, /batches are for HTTP/);
  assert.ok(result);
  await served.closed;
  await served.close();
});
