import assert from "node:assert/strict";
import fc from "fast-check";
import { meterCompletion, meterEmbedding, meterRerank } from "../../src/llm/metered_provider.ts";
import { noUsage } from "../../src/llm/provider.ts";
import { ProviderError } from "../../src/llm/provider_error.ts";
import { createUsageLedger } from "../../src/llm/usage_ledger.ts";
import { assertFault, never } from "./exchange_fixture.ts";
import { end, scriptedProvider, text } from "./scripted_provider.ts";

const request = { messages: [], signal: never };

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

Deno.test("a completion's and a stream's usage is counted once, a failure's not", async () => {
  const counter = createUsageLedger().counter("a");
  const failed = [text("a"), new ProviderError("provider", "")];
  const provider = meterCompletion(scriptedProvider("k/m", [end(3)], [text("a"), end(4)], failed), counter);
  await provider.complete(request);
  await Array.fromAsync(provider.stream(request));
  await assertFault(provider.complete(request), "provider");
  await assertFault(Array.fromAsync(provider.stream(request)), "provider");
  assert.equal(counter.read().promptTokens, 7);
  assert.equal(counter.read().completionTokens, 14);
  assert.equal(provider.name, "k/m");
});

Deno.test("a stream's usage counts where the reader goes as soon as it is reported", async () => {
  const counter = createUsageLedger().counter("a");
  const provider = meterCompletion(scriptedProvider("k/m", [text("a"), end(3)]), counter);
  for await (const part of provider.stream(request)) if (part.type === "end") break;
  assert.equal(counter.read().promptTokens, 3);
});

Deno.test("embeddings and reranking are counted", async () => {
  const counter = createUsageLedger().counter("a");
  const ping = () => Promise.resolve();
  const usage = { ...noUsage, promptTokens: 5 };
  const embedding = meterEmbedding(
    { name: "e", ping, embed: () => Promise.resolve({ vectors: [], usage }) },
    counter,
  );
  const rerank = meterRerank(
    { name: "r", ping, rerank: () => Promise.resolve({ results: [], usage }) },
    counter,
  );
  await embedding.embed({ texts: [], purpose: "query", signal: never });
  await rerank.rerank({ query: "", documents: [], signal: never });
  assert.equal(counter.read().promptTokens, 10);
});
