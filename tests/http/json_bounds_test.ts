import assert from "node:assert/strict";
import fc from "fast-check";
import { findExcess } from "../../src/http/json_bounds.ts";

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

Deno.test("a hundred levels pass, and one more does not, whatever they are made of", () => {
  const objects = (levels: number) => '{"a":'.repeat(levels - 1) + "{}" + "}".repeat(levels - 1);
  assert.equal(findExcess(nested(100)), undefined);
  assert.equal(findExcess(objects(100)), undefined);
  for (const text of [nested(101), objects(101), "[".repeat(4_000_000), `["x",${nested(100)}]`]) {
    assert.equal(findExcess(text), "it nests deeper than 100 levels");
  }
});

Deno.test("levels side by side do not add up", () => {
  assert.equal(findExcess(`[${Array(1_000).fill(nested(90)).join()}]`), undefined);
});

Deno.test("what stands in a string counts for nothing", () => {
  for (
    const inner of ["[".repeat(500), ",:".repeat(100_000), '"'.repeat(500) + "[[[", '\\"[\\'.repeat(300)]
  ) {
    assert.equal(findExcess(JSON.stringify([inner, inner])), undefined);
  }
});

Deno.test("300,000 items and 10,000 keys pass, and more do not", () => {
  assert.equal(findExcess(`[${Array(300_001).fill(1).join()}]`), undefined);
  assert.equal(findExcess(`[${Array(300_002).fill(1).join()}]`), "it holds more than 300000 items");
  assert.equal(findExcess(`{${'"a":1,'.repeat(10_000)}`), undefined);
  assert.equal(findExcess(`{${'"a":1,'.repeat(10_001)}`), "it holds more than 10000 keys");
});

Deno.test("no text that is small and flat is refused, JSON or not", () => {
  fc.assert(fc.property(fc.json({ maxDepth: 20 }), (text) => findExcess(text) === undefined));
  fc.assert(fc.property(fc.string({ maxLength: 100 }), (text) => findExcess(text) === undefined));
});
