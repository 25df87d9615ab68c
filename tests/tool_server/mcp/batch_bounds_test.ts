import assert from "node:assert/strict";
import { findBatchFault } from "../../../src/tool_server/mcp/batch_bounds.ts";

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

Deno.test("a batch has 1 to 50 requests and 500,000 characters at most", () => {
  assert.equal(findBatchFault([ping], 500_000), undefined);
  assert.equal(findBatchFault(Array(50).fill(ping), 1), undefined);
  assert.equal(findBatchFault([], 2), "a batch holds 1 to 50 requests");
  assert.equal(findBatchFault(Array(51).fill(ping), 1), "a batch holds 1 to 50 requests");
  assert.match(findBatchFault([ping], 500_001) ?? "", /^a batch has at most 500000 characters; /);
});

Deno.test("what is no batch has no bound of a batch's", () => {
  assert.equal(findBatchFault(ping, 4_000_000), undefined);
  assert.equal(findBatchFault(null, 4), undefined);
});
