import assert from "node:assert/strict";
import { mergeHeaders } from "../../../src/llm/transport/merge_headers.ts";

Deno.test("mergeHeaders() lets later levels win, names compared without case", () => {
  const merged = mergeHeaders({ "X-A": "1", "X-B": "1" }, undefined, { "x-a": "2" }, {
    "X-a": "3",
    "x-C": "3",
  });
  assert.deepEqual(merged, { "x-a": "3", "x-b": "1", "x-c": "3" });
  assert.deepEqual(mergeHeaders(), {});
});

Deno.test("mergeHeaders() takes any name as a header's", () => {
  assert.equal(Object.hasOwn(mergeHeaders(JSON.parse('{"__proto__":"x"}')), "__proto__"), true);
});
