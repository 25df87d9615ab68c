import assert from "node:assert/strict";
import { ProviderError } from "../../src/llm/provider_error.ts";
import { createUsageLedger } from "../../src/llm/usage_ledger.ts";
import { createPipelines, type PipelineEntry } from "../../src/rag_server/create_pipelines.ts";

function entry(name: string, ping: (signal: AbortSignal) => Promise<void>): PipelineEntry {
  const ledger = createUsageLedger();
  return {
    pipeline: {
      name,
      description: `about ${name}`,
      allowsSources: false,
      answer: () => Promise.reject(new Error("not asked")),
      stream: () => assert.fail("not asked"),
    },
    embedding: { provider: { ping: () => Promise.resolve() }, usage: ledger.counter("embedding") },
    completion: { provider: { ping }, usage: ledger.counter("completion") },
  };
}

Deno.test("health() tells each provider's fault as its phrase, and anything else as an internal error", async () => {
  const pipelines = createPipelines([
    entry("fine", () => Promise.resolve()),
    entry("down", () => Promise.reject(new ProviderError("unreachable", "10.0.0.1 refused"))),
    entry("odd", () => Promise.reject(new Error("secret detail"))),
    entry("slow", () => Promise.reject(new DOMException("late", "TimeoutError"))),
  ]);
  const embedding = { reachable: true };
  assert.deepEqual(await pipelines.health(), [
    { name: "fine", embedding, completion: { reachable: true } },
    {
      name: "down",
      embedding,
      completion: { reachable: false, error: "the provider could not be reached" },
    },
    { name: "odd", embedding, completion: { reachable: false, error: "an internal error occurred" } },
    { name: "slow", embedding, completion: { reachable: false, error: "the request took too long" } },
  ]);
});

Deno.test("callers of health() at the same time share one round of pings, and the next gets a new one", async () => {
  let pings = 0;
  const pipelines = createPipelines([entry("one", async () => void await Promise.resolve(pings++))]);
  await Promise.all([pipelines.health(), pipelines.health(), pipelines.health()]);
  assert.equal(pings, 1);
  await pipelines.health();
  assert.equal(pings, 2);
});
