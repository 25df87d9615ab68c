import assert from "node:assert/strict";
import { Server } from "@modelcontextprotocol/server";
import { tellOfResource } from "./tell_of_resource.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { type Changes, createChanges } from "../../../src/tool_server/changes.ts";
import { createChangeStreams } from "../../../src/tool_server/mcp/change_streams.ts";
import { createCalls } from "../../../src/calls/calls.ts";
import { capabilitiesOf } from "../../../src/tool_server/mcp/json_rpc.ts";
import { plainCall, serveMcp } from "../../support/mcp_endpoint.ts";
import { askMcp, envelope, messagesOf, postMcp } from "../../support/mcp_request.ts";
import { waitUntil } from "../../support/wait_until.ts";

const everything = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ["pg://a", "pg://b"],
};

/** The stream of one who listens, read message by message. */
async function listen(url: string, notifications: object = everything, id: number | string = 1) {
  const response = await postMcp(url, "modern", "subscriptions/listen", { notifications }, { id });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const messages = messagesOf(response);
  return {
    next: async () => (await messages.next()).value,
    leave: async () => void await messages.return(undefined),
  };
}

const told = (method: string, id: number | string, params: object = {}) => ({
  jsonrpc: "2.0",
  method,
  params: { ...params, _meta: { "io.modelcontextprotocol/subscriptionId": id } },
});

Deno.test("who listens is told of what they asked for, and of nothing else", async () => {
  const changes = createChanges();
  await using served = serveMcp({ changes });
  const all = await listen(served.url, everything, "all");
  const tools = await listen(served.url, { toolsListChanged: true }, 7);
  assert.deepEqual(
    await all.next(),
    told("notifications/subscriptions/acknowledged", "all", { notifications: everything }),
  );
  assert.deepEqual(
    await tools.next(),
    told("notifications/subscriptions/acknowledged", 7, { notifications: { toolsListChanged: true } }),
  );
  changes.publish({ kind: "prompts" });
  changes.publish({ kind: "resources" });
  tellOfResource(changes, "pg://c");
  tellOfResource(changes, "pg://b");
  changes.publish({ kind: "tools" });
  assert.deepEqual(await all.next(), told("notifications/prompts/list_changed", "all"));
  assert.deepEqual(await all.next(), told("notifications/resources/list_changed", "all"));
  assert.deepEqual(await all.next(), told("notifications/resources/updated", "all", { uri: "pg://b" }));
  assert.deepEqual(await all.next(), told("notifications/tools/list_changed", "all"));
  assert.deepEqual(await tools.next(), told("notifications/tools/list_changed", 7));
  await all.leave();
  await tools.leave();
});

Deno.test("a stream ends when its client leaves or cancels it, and when the server stops", async () => {
  const changes = createChanges();
  const served = serveMcp({ changes });
  const openStreams = () => changes.subscribers().length;
  const [left, cancelled, stopped] = [
    await listen(served.url, everything, 1),
    await listen(served.url, everything, 2),
    await listen(served.url, everything, 3),
  ];
  for (const stream of [left, cancelled, stopped]) await stream.next();
  assert.equal(openStreams(), 3);
  await left.leave();
  await waitUntil("two streams are left", () => openStreams() === 2);
  const response = await fetch(served.url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } }),
  });
  assert.equal(response.status, 202);
  assert.equal((await cancelled.next()).id, 2);
  assert.equal(await cancelled.next(), undefined);
  assert.equal(openStreams(), 1);
  await served[Symbol.asyncDispose]();
  // says that it ends, so that its client need not guess
  assert.deepEqual(await stopped.next(), {
    jsonrpc: "2.0",
    id: 3,
    result: {
      resultType: "complete",
      _meta: {
        "io.modelcontextprotocol/subscriptionId": 3,
        "io.modelcontextprotocol/serverInfo": { name: "postern", title: "Postern", version: "1" },
      },
    },
  });
  assert.equal(await stopped.next(), undefined);
  assert.equal(openStreams(), 0);
});

Deno.test("a caller has 20 streams at most, and asks for 1,000 resources at most", async () => {
  const changes = createChanges();
  await using served = serveMcp({ changes });
  const streams = [];
  for (let id = 0; id < 20; id++) streams.push(await listen(served.url, everything, id));
  const refused = await postMcp(served.url, "modern", "subscriptions/listen", { notifications: everything });
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get("retry-after"), "30");
  assert.deepEqual((await refused.json()).error, {
    code: -32004,
    message: "Cannot listen: the caller has 20 event streams open; end one of them",
    data: { retryAfterSeconds: 30 },
  });
  for (const stream of streams) {
    await stream.next();
    await stream.leave();
  }
  await waitUntil("no stream is left", () => changes.subscribers().length === 0);
  for (const resourceSubscriptions of [Array(1001).fill("pg://a"), ["x".repeat(2001)]]) {
    const { error } = await askMcp(served.url, "modern", "subscriptions/listen", {
      notifications: { resourceSubscriptions },
    });
    assert.equal(error?.code, -32602);
    assert.match(error.message, /^Cannot listen: notifications.resourceSubscriptions: /);
  }
});

Deno.test("what a client may listen to is what the server says that it can", async () => {
  await using tells = serveMcp({ changes: createChanges() });
  await using silent = serveMcp();
  const told = {
    tools: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    prompts: { listChanged: true },
    completions: {},
    extensions: { "io.modelcontextprotocol/ui": {} },
  };
  const { extensions } = told;
  const untold = { tools: {}, resources: {}, prompts: {}, completions: {}, extensions };
  const discovered = await askMcp(tells.url, "modern", "server/discover");
  assert.deepEqual(discovered.result?.["capabilities"], told);
  assert.deepEqual((await askMcp(silent.url, "modern", "server/discover")).result?.["capabilities"], untold);
  // before 2026-07-28 and over bare JSON-RPC there is no stream that could tell
  const initialize = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "t", version: "1" },
  };
  for (const way of ["bare", "legacy"] as const) {
    const { result } = await askMcp(tells.url, way, "initialize", initialize);
    assert.deepEqual(result?.["capabilities"], untold);
    for (const method of ["subscriptions/listen", "resources/subscribe"]) {
      assert.equal((await askMcp(tells.url, way, method, { uri: "pg://a" })).error?.code, -32601);
    }
  }
});

/** Whose stream cannot be checked. */
const unchecked: Principal = { kind: "token", id: "unchecked" };

/** Streams without HTTP, whose callers are let in as long as `admitted` has them. */
function openStreams(changes: Changes) {
  const calls = createCalls();
  const admitted = new Set<Principal>();
  const streams = createChangeStreams({
    changes,
    calls,
    serverOf: () =>
      new Server({ name: "test", version: "1" }, {
        capabilities: capabilitiesOf({ tasks: undefined, tells: true }),
      }),
    logger: silentLogger,
    checkEveryMs: 10,
  });
  async function open(principal: Principal) {
    admitted.add(principal);
    const message = {
      jsonrpc: "2.0",
      id: 1,
      method: "subscriptions/listen",
      params: { notifications: everything, _meta: envelope() },
    };
    const request = new Request("http://localhost/mcp/v1", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
      },
      body: JSON.stringify(message),
    });
    const response = await streams.listen({
      request,
      message,
      caller: plainCall(principal),
      isStillAdmitted: () =>
        principal === unchecked
          ? Promise.reject(new Error("the issuer does not answer"))
          : Promise.resolve(admitted.has(principal)),
    });
    const ids: unknown[] = [];
    const ended = (async () => {
      for await (const { id } of messagesOf(response)) ids.push(id);
      return ids;
    })();
    return { ended };
  }
  return { open, admitted, calls, close: streams.close };
}

Deno.test("a stream ends when its token or session ends, and others go on", async () => {
  const changes = createChanges();
  const streams = openStreams(changes);
  const [expired, removed, other] = ["a", "b", "c"].map((id): Principal => ({ kind: "token", id }));
  assert.ok(expired && removed && other);
  const ofUnchecked = await streams.open(unchecked);
  const [ofExpired, ofRemoved, ofOther] = [
    await streams.open(expired),
    await streams.open(removed),
    await streams.open(other),
  ];
  const listening = () => changes.subscribers().map(({ principal }) => principal);
  streams.calls.underWay.endPrincipal(removed);
  assert.deepEqual(await ofRemoved.ended, [undefined, 1]);
  assert.deepEqual(listening(), [unchecked, expired, other]);
  streams.admitted.delete(expired);
  assert.deepEqual(await ofExpired.ended, [undefined, 1]);
  assert.deepEqual(listening(), [unchecked, other]);
  await streams.close();
  assert.deepEqual(await ofOther.ended, [undefined, 1]);
  assert.deepEqual(await ofUnchecked.ended, [undefined, 1]);
});

Deno.test("of streams that are asked for at once, without a pause between, no more open than there is room for", async () => {
  const changes = createChanges();
  const streams = openStreams(changes);
  const caller: Principal = { kind: "token", id: "a" };
  const asked = await Promise.allSettled(Array.from({ length: 40 }, () => streams.open(caller)));
  assert.equal(asked.filter(({ status }) => status === "fulfilled").length, 20);
  assert.equal(changes.subscribers().length, 20);
  await streams.close();
  for (const each of asked) if (each.status === "fulfilled") await each.value.ended;
  // what was refused, and what has ended, takes no place
  await streams.open(caller);
  await streams.close();
});
