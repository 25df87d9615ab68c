import assert from "node:assert/strict";
import { settlesWithin } from "../../../src/core/async/deadline.ts";
import { createRegistry } from "../../../src/tool_server/tools/registry.ts";
import { plainTool, serveMcp } from "../../support/mcp_endpoint.ts";

const patienceMs = 10_000;

function ask(
  url: string,
  params: Readonly<Record<string, unknown>>,
  signal = new AbortController().signal,
): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    // what never opens is to fail, and not to hang
    signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]),
  });
}

Deno.test("a reply of which nothing is known for long is an event stream, with a comment first", async () => {
  const work = Promise.withResolvers<void>();
  const slow = plainTool("slow", async () => {
    await work.promise;
    return { content: [{ type: "text", text: "late" }] };
  });
  await using served = serveMcp({ registry: createRegistry({ tools: [slow] }), silentMs: 1 });
  const response = await ask(served.url, { name: "slow", arguments: {} });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  work.resolve();
  const text = await response.text();
  assert.match(text, /^:\n\n/);
  const [, data = ""] = /^data: (.+)$/m.exec(text) ?? [];
  assert.equal(JSON.parse(data).result.content[0].text, "late");
});

Deno.test("who leaves an event stream that is open ends the call", async () => {
  const ended = Promise.withResolvers<void>();
  const telling = plainTool("telling", async ({ client, signal }) => {
    client?.notifyProgress?.(1, 2, "one");
    signal?.addEventListener("abort", () => ended.resolve(), { once: true });
    await ended.promise;
    return { content: [] };
  });
  await using served = serveMcp({ registry: createRegistry({ tools: [telling] }) });
  const leaving = new AbortController();
  const params = { name: "telling", arguments: {}, _meta: { progressToken: "a" } };
  const response = await ask(served.url, params, leaving.signal);
  const reader = response.body?.getReader();
  await reader?.read();
  leaving.abort();
  await reader?.read().catch(() => {});
  assert.ok(await settlesWithin(patienceMs, ended.promise));
});
