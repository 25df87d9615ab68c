import assert from "node:assert/strict";
import fc from "fast-check";
import { noUsage } from "../../src/llm/provider.ts";
import { createUsageLedger } from "../../src/llm/usage.ts";

Deno.test("a counter begins at nothing and is the same for the same key", () => {
  const ledger = createUsageLedger();
  const nothing = {
    promptTokens: 0,
    completionTokens: 0,
    cacheCreationInputTokens: 0,
    cacheReadInputTokens: 0,
    totalTokens: 0,
  };
  assert.deepEqual(ledger.counter("a").read(), nothing);
  ledger.counter("a").add({
    promptTokens: 5,
    completionTokens: 7,
    cacheCreationInputTokens: 2,
    cacheReadInputTokens: 3,
  });
  ledger.counter("a").add({ ...noUsage, promptTokens: 1 });
  assert.deepEqual(ledger.counter("a").read(), {
    promptTokens: 6,
    completionTokens: 7,
    cacheCreationInputTokens: 2,
    cacheReadInputTokens: 3,
    totalTokens: 13,
  });
  assert.deepEqual(ledger.counter("b").read(), nothing);
});

Deno.test("a counter only grows, in safe integers, whatever a provider reports", () => {
  const tokens = fc.oneof(fc.double(), fc.maxSafeInteger(), fc.constant(Number.MAX_SAFE_INTEGER));
  fc.assert(fc.property(fc.array(tokens), (reports) => {
    const counter = createUsageLedger().counter("a");
    let before = counter.read();
    for (const promptTokens of reports) {
      counter.add({ ...noUsage, promptTokens, completionTokens: promptTokens });
      const after = counter.read();
      assert.ok(Number.isSafeInteger(after.promptTokens) && Number.isSafeInteger(after.totalTokens));
      assert.ok(after.promptTokens >= before.promptTokens && after.totalTokens >= before.totalTokens);
      before = after;
    }
  }));
});
