import assert from "node:assert/strict";
import { createSharedDeadline } from "../../src/core/async/deadline.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { createEndpoint } from "../../src/tool_server/endpoint.ts";
import { createCalls } from "../../src/calls/calls.ts";
import { createPromptRegistry } from "../../src/tool_server/prompts/prompt_registry.ts";
import { createResourceRegistry } from "../../src/tool_server/resources/resource_registry.ts";
import { createStreamableHttp } from "../../src/tool_server/mcp/streamable_http.ts";
import { behindFront } from "../support/front.ts";
import { createRegistry } from "../../src/tool_server/tools/registry.ts";

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

/** The status and the first error message that an endpoint without tools answers a message with. */
async function post(message: unknown): Promise<{ status: number; error?: string }> {
  const served = {
    registry: createRegistry({ tools: [] }),
    resources: createResourceRegistry(),
    prompts: createPromptRegistry(),
    calls: createCalls(),
    serverInfo: { name: "postern", title: "Postern", version: "1" },
    logger: silentLogger,
  };
  const streamableHttp = createStreamableHttp(served);
  const bodyTimeout = createSharedDeadline(10_000);
  const endpoint = createEndpoint({
    ...served,
    streamableHttp,
    bodyTimeout,
    readiness: () => Promise.resolve({ status: "ready", databases: [], providers: [] }),
  });
  const request = new Request("http://localhost/mcp/v1", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(message),
  });
  const response = await behindFront({ served: endpoint })(request);
  const { error } = await response.json();
  bodyTimeout.close();
  await streamableHttp.close();
  return { status: response.status, ...(error === undefined ? {} : { error: error.message }) };
}

/** A batch of pings whose JSON has so many characters. */
function batchOf(characters: number): unknown[] {
  const padded = { ...ping, params: { pad: "" } };
  padded.params.pad = "x".repeat(characters - JSON.stringify([padded]).length);
  return [padded];
}

Deno.test("a batch has 1 to 50 requests and 500,000 characters at most", async () => {
  assert.deepEqual(await post(batchOf(500_000)), { status: 200 });
  assert.deepEqual(await post(Array(50).fill(ping)), { status: 200 });
  const count = { status: 400, error: "Invalid Request: a batch holds 1 to 50 requests" };
  assert.deepEqual(await post([]), count);
  assert.deepEqual(await post(Array(51).fill(ping)), count);
  const { status, error = "" } = await post(batchOf(500_001));
  assert.equal(status, 400);
  assert.match(error, /^Invalid Request: a batch has at most 500000 characters; /);
});

Deno.test("what is no batch has no bound of a batch's", async () => {
  const [padded] = batchOf(3_000_000);
  assert.deepEqual(await post(padded), { status: 200 });
  assert.deepEqual(await post(null), {
    status: 400,
    error: 'Invalid Request: expected an object with jsonrpc "2.0", method and, where given, params',
  });
});
