import assert from "node:assert/strict";
import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { silentLogger } from "../../../src/core/logger.ts";
import type { CallClient } from "../../../src/tool_server/call_context.ts";
import { createSdkServer } from "../../../src/tool_server/mcp/stdio.ts";
import { createPromptRegistry } from "../../../src/tool_server/prompts/prompt_registry.ts";
import { createRegistry } from "../../../src/tool_server/tools/registry.ts";
import { mcpOptions, plainCall, plainTool, serveMcp } from "../../support/mcp_endpoint.ts";

const views = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } };
const nothing = { notifies: false, canAsk: false, showsViews: false };

/** A registry whose one tool keeps what it knows of its client, and tells of three steps. */
function watchingRegistry() {
  const seen: (CallClient | undefined)[] = [];
  const watch = plainTool("watch", ({ client }) => {
    seen.push(client);
    client?.notifyProgress?.(1, 3, "one");
    client?.notifyProgress?.(1, 3, "one again");
    client?.notifyProgress?.(2, undefined, "two");
    return { content: [{ type: "text", text: "done" }] };
  });
  return { seen, registry: createRegistry({ tools: [watch] }) };
}

async function callOverHttp(
  capabilities: NonNullable<ClientOptions["capabilities"]>,
  mode: "auto" | "legacy",
  wantsProgress: boolean,
) {
  const { seen, registry } = watchingRegistry();
  await using served = serveMcp({ registry });
  const client = new Client({ name: "test", version: "1" }, { capabilities, versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(served.url)));
  const told: unknown[] = [];
  await client.callTool({ name: "watch" }, wantsProgress ? { onprogress: (step) => told.push(step) } : {});
  await client.close();
  return { told, ...summary(seen[0]) };
}

function summary(client: CallClient | undefined) {
  assert.ok(client);
  const { notifyProgress, canAsk, showsViews } = client;
  return { notifies: notifyProgress !== undefined, canAsk, showsViews };
}

const steps = [{ progress: 1, total: 3, message: "one" }, { progress: 2, message: "two" }];

Deno.test("over HTTP a client of 2026-07-28 says what it can do in each request", async () => {
  assert.deepEqual(await callOverHttp({}, "auto", false), { told: [], ...nothing });
  assert.deepEqual(await callOverHttp({ elicitation: { form: {} }, ...views }, "auto", true), {
    told: steps,
    notifies: true,
    canAsk: true,
    showsViews: true,
  });
  assert.deepEqual(await callOverHttp({ elicitation: { url: {} } }, "auto", false), { told: [], ...nothing });
});

Deno.test("over HTTP an earlier client is told of progress, and is not known otherwise", async () => {
  const told = await callOverHttp({ elicitation: { form: {} }, ...views }, "legacy", true);
  assert.deepEqual(told, { told: steps, ...nothing, notifies: true });
});

Deno.test("on a connection an earlier client has said at its start what it can do", async () => {
  const { seen, registry } = watchingRegistry();
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createSdkServer(mcpOptions({ registry }), plainCall()).connect(ours);
  const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {}, ...views } });
  await client.connect(theirs);
  const told: unknown[] = [];
  await client.callTool({ name: "watch" }, { onprogress: (step) => told.push(step) });
  // a call that has ended tells of nothing more
  seen[0]?.notifyProgress?.(3, 3, "late");
  await client.ping();
  await client.close();
  assert.deepEqual(summary(seen[0]), { notifies: true, canAsk: true, showsViews: true });
  assert.deepEqual(told, steps);
});

Deno.test("on a connection the progress of an earlier client's call goes on after a question to its user", async () => {
  const ask = { key: "q", message: "Sure?", form: { type: "object", properties: {}, required: [] } } as const;
  const tool = plainTool("watch", ({ client }) => {
    const isAnswered = client?.answers !== undefined;
    for (let step = 1; step <= (isAnswered ? 3 : 2); step++) {
      client?.notifyProgress?.(step, 3, `${isAnswered}`);
    }
    return isAnswered ? { content: [{ type: "text", text: "done" }] } : { content: [], ask };
  });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createSdkServer(mcpOptions({ registry: createRegistry({ tools: [tool] }) }), plainCall()).connect(
    ours,
  );
  const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));
  await client.connect(theirs);
  const told: unknown[] = [];
  await client.callTool({ name: "watch" }, { onprogress: (step) => told.push(step) });
  await client.close();
  assert.deepEqual(told, [
    { progress: 1, total: 3, message: "false" },
    { progress: 2, total: 3, message: "false" },
    { progress: 3, total: 3, message: "true" },
  ]);
});

Deno.test("what a user answered comes with the call that is made again", async () => {
  const { seen, registry } = watchingRegistry();
  await using served = serveMcp({ registry });
  const answer = { action: "accept", content: { sure: true } };
  const response = await fetch(served.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "watch",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name: "watch",
        arguments: {},
        inputResponses: { q: answer },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }),
  });
  assert.equal((await response.json()).error, undefined);
  assert.deepEqual(seen[0]?.answers, { q: answer });
});

Deno.test("on a connection what nobody foresaw is told in the log, and not to the client", async () => {
  const errors: unknown[][] = [];
  const logger = { ...silentLogger, error: (...told: unknown[]) => void errors.push(told) };
  const prompts = { ...createPromptRegistry(), get: () => Promise.reject(new TypeError("a fault of ours")) };
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createSdkServer(mcpOptions({ prompts }), { ...plainCall(), logger }).connect(ours);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(theirs);
  await assert.rejects(client.getPrompt({ name: "any" }), /Internal error/);
  await client.close();
  assert.deepEqual(errors.map(([message]) => message), ["Method prompts/get failed"]);
});
