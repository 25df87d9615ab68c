import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import { createCircuitBreaker } from "../../src/llm/circuit_breaker.ts";
import { guardCompletion, guardEmbedding, guardRerank } from "../../src/llm/guarded_provider.ts";
import { ProviderError } from "../../src/llm/provider_error.ts";
import { assertFault, never } from "./exchange_fixture.ts";
import { end, type Script, scriptedProvider, text } from "./scripted_provider.ts";

const down = new ProviderError("provider", "down");
const request = { messages: [], signal: never };

function guarded(...scripts: readonly Script[]) {
  const clock = { ms: 0 };
  const breaker = createCircuitBreaker({
    now: () => clock.ms,
    failures: 2,
    logger: silentLogger,
    provider: "p",
  });
  const inner = scriptedProvider("kind/model", ...scripts);
  return { clock, breaker, inner, provider: guardCompletion(inner, breaker) };
}

Deno.test("a stream that fails after its start counts, one that ends cleanly succeeds", async () => {
  const { provider, inner } = guarded([text("a"), down], [text("a"), end()], [text("a"), down]);
  const all = () => Array.fromAsync(provider.stream(request));
  await assertFault(all(), "provider");
  assert.deepEqual(await all(), [text("a"), end()]);
  await assertFault(all(), "provider");
  await assertFault(all(), "provider");
  assert.equal(inner.calls(), 4);
  await assertFault(all(), "provider");
  await assertFault(provider.complete(request), "provider");
  assert.equal(inner.calls(), 4);
});

Deno.test("a probe whose reader stops, goes away or stays for the end leaves the circuit usable", async () => {
  const never_ = Promise.withResolvers<void>().promise;
  const { provider, inner, clock } = guarded([down], [down], [text("a"), never_], [text("a"), never_], [
    end(),
  ]);
  await assertFault(provider.complete(request), "provider");
  await assertFault(provider.complete(request), "provider");
  clock.ms = 30_000;
  for await (const _ of provider.stream(request)) break;
  const controller = new AbortController();
  const forgotten = provider.stream({ ...request, signal: controller.signal })[Symbol.asyncIterator]();
  assert.deepEqual((await forgotten.next()).value, text("a"));
  await assertFault(provider.complete(request), "provider");
  controller.abort();
  for await (const part of provider.stream(request)) if (part.type === "end") break;
  assert.equal((await provider.complete(request)).text, "");
  assert.equal(inner.calls(), 6);
});

Deno.test("a ping goes past an open circuit, and does not count", async () => {
  const { provider } = guarded([down], [down], [down], [end()]);
  await assertFault(provider.ping(never), "provider");
  await assertFault(provider.ping(never), "provider");
  await assertFault(provider.complete(request), "provider");
  assert.equal(provider.name, "kind/model");
  assert.equal((await provider.complete(request)).text, "");
});

Deno.test("embedding and reranking are guarded too", async () => {
  const { breaker } = guarded();
  let calls = 0;
  const fail = () => {
    calls++;
    return Promise.reject(down);
  };
  const ping = () => Promise.resolve();
  const embedding = guardEmbedding({ name: "e", ping, embed: fail }, breaker);
  const rerank = guardRerank({ name: "r", ping, rerank: fail }, breaker);
  await assertFault(embedding.embed({ texts: [], purpose: "query", signal: never }), "provider");
  await assertFault(rerank.rerank({ query: "", documents: [], signal: never }), "provider");
  await assertFault(embedding.embed({ texts: [], purpose: "query", signal: never }), "provider");
  await assertFault(rerank.rerank({ query: "", documents: [], signal: never }), "provider");
  assert.equal(calls, 2);
});
