import assert from "node:assert/strict";
import { defined } from "../../src/core/defined.ts";

Deno.test("defined() leaves out what is undefined, and nothing else", () => {
  assert.deepEqual(defined({ a: 0, b: undefined, c: "", d: null, e: false }), {
    a: 0,
    c: "",
    d: null,
    e: false,
  });
  const defaults: { limit?: number } = { limit: 10 };
  const given: { limit?: number | undefined } = { limit: undefined };
  assert.deepEqual({ ...defaults, ...defined(given) }, { limit: 10 });
});
