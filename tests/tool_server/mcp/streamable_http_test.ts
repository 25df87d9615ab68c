import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { settlesWithin } from "../../../src/core/async/deadline.ts";
import { createRegistry } from "../../../src/tool_server/tools/registry.ts";
import { plainTool, serveMcp } from "../../support/mcp_endpoint.ts";
import { postMcp } from "../../support/mcp_request.ts";

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

const echoing = plainTool("täbelle", ({ client }) => {
  client?.notifyProgress?.(1, 2, "one");
  return Promise.resolve({ content: [{ type: "text", text: "done" }] });
});

Deno.test("a name that no text can be made of is refused as others are, by the method", async () => {
  await using served = serveMcp();
  const odd = { toString: 1, valueOf: 1 };
  for (
    const [method, params] of [
      ["tools/call", { name: odd }],
      ["prompts/get", { name: odd }],
      ["resources/read", { uri: odd }],
    ] as const
  ) {
    for (const headers of [{}, { "mcp-name": "x" }] as const) {
      const response = await postMcp(served.url, "modern", method, params, { headers });
      const { id, error } = await response.json();
      assert.deepEqual([response.status, id, error?.code], [200, 1, -32602], JSON.stringify(error));
    }
  }
});

Deno.test("Mcp-Name in base64 is what one text alone stands for", async () => {
  await using served = serveMcp({ registry: createRegistry({ tools: [echoing] }) });
  const call = (name: string) =>
    postMcp(served.url, "modern", "tools/call", { name: "täbelle", arguments: {} }, {
      headers: { "mcp-name": `=?base64?${name}?=` },
    });
  const right = Buffer.from("täbelle").toString("base64");
  assert.equal((await (await call(right)).json()).result.content[0].text, "done");
  const bom = Buffer.from("\ufefftäbelle").toString("base64");
  for (const wrong of [`${right.slice(0, 4)} ${right.slice(4)}`, right.replace(/=+$/, ""), bom, "%%"]) {
    const response = await call(wrong);
    assert.deepEqual([response.status, (await response.json()).error.code], [400, -32020], wrong);
  }
});

Deno.test("who takes no event streams gets none, and who takes everything takes JSON", async () => {
  await using served = serveMcp({ registry: createRegistry({ tools: [echoing] }), silentMs: 1 });
  const params = { name: "täbelle", arguments: {}, _meta: { progressToken: "a" } };
  const name = `=?base64?${Buffer.from("täbelle").toString("base64")}?=`;
  const json = await postMcp(served.url, "modern", "tools/call", params, {
    headers: { accept: "application/json", "mcp-name": name },
  });
  assert.equal(json.headers.get("content-type"), "application/json");
  assert.equal((await json.json()).result.content[0].text, "done");
  for (const accept of ["text/event-stream, */*", "text/event-stream, application/*"]) {
    const response = await postMcp(served.url, "legacy", "ping", {}, { headers: { accept } });
    assert.deepEqual((await response.json()).result, {});
  }
});

Deno.test("a progress token that could not be told as it came asks for nothing", async () => {
  await using served = serveMcp({ registry: createRegistry({ tools: [echoing] }) });
  for (
    const [token, opens] of [["1e999", false], ["9007199254740993", false], ["1", true], [
      '"a"',
      true,
    ]] as const
  ) {
    const response = await fetch(served.url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body:
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"täbelle","_meta":{"progressToken":${token}}}}`,
    });
    assert.equal(
      response.headers.get("content-type"),
      opens ? "text/event-stream" : "application/json",
      token,
    );
    await response.body?.cancel();
  }
});
