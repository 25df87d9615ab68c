import assert from "node:assert/strict";
import { parseShallowJson } from "../../src/core/shallow_json.ts";

const nested = (levels: number, inner = "") => "[".repeat(levels) + inner + "]".repeat(levels);

Deno.test("parseShallowJson() gives the value, or the text of what would overflow those who walk it", () => {
  assert.deepEqual(parseShallowJson('{"a": [1, "\\"[", "\\\\"]}'), { a: [1, '"[', "\\"] });
  assert.equal(Array.isArray(parseShallowJson(nested(200))), true);
  assert.equal(parseShallowJson(nested(201)), nested(201));
  assert.equal(parseShallowJson(nested(100_000)), nested(100_000));
  const objects = `${'{"a":'.repeat(201)}1${"}".repeat(201)}`;
  assert.equal(parseShallowJson(objects), objects);
});

Deno.test("parseShallowJson() counts no brackets in strings, and levels, not lists", () => {
  assert.equal(Array.isArray(parseShallowJson(nested(150, JSON.stringify(nested(1_000) + '\\"[')))), true);
  assert.equal((parseShallowJson(`[${Array(5_000).fill(nested(5)).join()}]`) as unknown[]).length, 5_000);
});
