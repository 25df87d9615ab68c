import assert from "node:assert/strict";
import { type CircuitBreaker, createCircuitBreaker } from "../../src/llm/circuit_breaker.ts";
import { createEmbeddingProvider, createRerankProvider } from "../../src/llm/create_provider.ts";
import { ProviderError, type ProviderErrorKind } from "../../src/llm/provider_error.ts";
import { assertError, errorOf, never } from "./exchange_fixture.ts";
import { capturedLogger } from "./raw_server.ts";
import { end, type Script, scriptedProvider, text } from "./scripted_provider.ts";

function fixture() {
  const clock = { ms: 0 };
  const { logger, lines } = capturedLogger();
  const breaker = createCircuitBreaker({
    kind: "openai",
    model: "model",
    requestTimeoutMs: 0,
    now: () => clock.ms,
    logger,
  });
  const messages = () => lines.map((line) => JSON.parse(line).message);
  return { clock, breaker, messages };
}

const failing = (fault: ProviderErrorKind) => () =>
  Promise.reject(new ProviderError(fault, `it was ${fault}`));
const succeeding = () => Promise.resolve("fine");
const unwanted = () => Promise.reject(new Error("must not run"));

async function failTimes(breaker: CircuitBreaker, times: number, fault: ProviderErrorKind = "provider") {
  for (let count = 0; count < times; count++) await assertError(breaker.run(failing(fault)), fault);
}

Deno.test("five errors in a row open a circuit: calls then fail at once with the last one", async () => {
  const { breaker, messages } = fixture();
  await failTimes(breaker, 4, "timeout");
  assert.equal(await breaker.run(succeeding), "fine");
  await failTimes(breaker, 4, "timeout");
  assert.deepEqual(messages(), []);
  await failTimes(breaker, 1, "unreachable");
  const error = await errorOf(breaker.run(unwanted));
  assert.equal(error.kind, "unreachable");
  assert.equal(error.detail, "not tried, because the provider failed 5 times in a row: it was unreachable");
  assert.deepEqual(messages(), ["provider circuit opened"]);
});

Deno.test("unreachable, timeout, provider and rate_limit open a circuit, and no other kind", async () => {
  const expected = { unreachable: true, timeout: true, provider: true, rate_limit: true };
  const others = { credentials: false, invalid_request: false, unsupported: false, internal: false };
  for (const [fault, isCounted] of Object.entries({ ...expected, ...others })) {
    const { breaker } = fixture();
    await failTimes(breaker, 5, fault as ProviderErrorKind);
    let hasRun = false;
    await breaker.run(() => Promise.resolve(hasRun = true)).catch(() => {});
    assert.equal(hasRun, !isCounted, fault);
  }
});

Deno.test("a bad request in between neither counts nor starts the row anew", async () => {
  const { breaker, messages } = fixture();
  await failTimes(breaker, 4);
  await failTimes(breaker, 1, "invalid_request");
  await failTimes(breaker, 1);
  assert.deepEqual(messages(), ["provider circuit opened"]);
});

Deno.test("the caller's abort counts as nothing, whatever it makes the operation throw", async () => {
  const { breaker, messages } = fixture();
  for (let count = 0; count < 9; count++) {
    await assertError(breaker.run(failing("timeout"), AbortSignal.abort()), "timeout");
    await assert.rejects(breaker.run(() => Promise.reject(new Error("gone"))));
  }
  assert.deepEqual(messages(), []);
});

Deno.test("after 30 seconds one probe runs while others fail at once; its success closes the circuit", async () => {
  const { breaker, clock, messages } = fixture();
  await failTimes(breaker, 5);
  clock.ms = 29_999;
  await assertError(breaker.run(unwanted), "provider");
  clock.ms = 30_000;
  const { promise, resolve } = Promise.withResolvers<string>();
  const probe = breaker.run(() => promise);
  await assertError(breaker.run(unwanted), "provider");
  clock.ms = 90_000;
  await assertError(breaker.run(unwanted), "provider");
  resolve("back");
  assert.equal(await probe, "back");
  assert.equal(await breaker.run(succeeding), "fine");
  assert.deepEqual(messages(), ["provider circuit opened", "provider circuit closed"]);
  await failTimes(breaker, 4);
  assert.equal(await breaker.run(succeeding), "fine");
});

Deno.test("a probe that fails opens the circuit for another 30 seconds, with its kind", async () => {
  const { breaker, clock } = fixture();
  await failTimes(breaker, 5);
  clock.ms = 30_000;
  await failTimes(breaker, 1, "rate_limit");
  clock.ms = 59_999;
  await assertError(breaker.run(unwanted), "rate_limit");
  clock.ms = 60_000;
  assert.equal(await breaker.run(succeeding), "fine");
});

Deno.test("a probe that is aborted, or tells nothing, leaves its place to the next call", async () => {
  const { breaker, clock } = fixture();
  await failTimes(breaker, 5);
  clock.ms = 30_000;
  await assertError(breaker.run(failing("timeout"), AbortSignal.abort()), "timeout");
  await failTimes(breaker, 1, "invalid_request");
  breaker.enter().abandon();
  assert.equal(await breaker.run(succeeding), "fine");
});

Deno.test("an operation from before the circuit opened closes it by its success, and no error of it counts", async () => {
  const { breaker, clock, messages } = fixture();
  const [early, late, silent] = [breaker.enter(), breaker.enter(), breaker.enter()];
  await failTimes(breaker, 5);
  await assertError(breaker.run(unwanted), "provider");
  early.succeed();
  assert.equal(await breaker.run(succeeding), "fine");
  await failTimes(breaker, 5);
  clock.ms = 30_000;
  const probe = breaker.enter();
  late.fail(new ProviderError("timeout", ""));
  silent.leave();
  probe.succeed();
  assert.equal(await breaker.run(succeeding), "fine");
  const change = ["provider circuit opened", "provider circuit closed"];
  assert.deepEqual(messages(), [...change, ...change]);
});

Deno.test("a probe that outlives its open circuit keeps no place in the next", async () => {
  const { breaker, clock } = fixture();
  const early = breaker.enter();
  await failTimes(breaker, 5);
  clock.ms = 30_000;
  const probe = breaker.enter();
  early.succeed();
  await failTimes(breaker, 5);
  clock.ms = 60_000;
  assert.equal(await breaker.run(succeeding), "fine");
  probe.fail(new ProviderError("timeout", ""));
  assert.equal(await breaker.run(succeeding), "fine");
});

Deno.test("only the first end of a pass counts", async () => {
  const { breaker, messages } = fixture();
  await failTimes(breaker, 4);
  const pass = breaker.enter();
  pass.abandon();
  pass.fail(new ProviderError("timeout", ""));
  pass.succeed();
  assert.deepEqual(messages(), []);
  await failTimes(breaker, 1);
  assert.deepEqual(messages(), ["provider circuit opened"]);
});

Deno.test("a reply without an answer tells that the provider works", async () => {
  const { breaker, clock, messages } = fixture();
  const decline = () => Promise.reject(new ProviderError("provider", "", { noAnswer: "declined" }));
  await failTimes(breaker, 4);
  for (let count = 0; count < 9; count++) await assertError(breaker.run(decline), "provider");
  await failTimes(breaker, 4);
  assert.deepEqual(messages(), []);
  await failTimes(breaker, 1);
  clock.ms = 30_000;
  await assertError(breaker.run(decline), "provider");
  assert.deepEqual(messages(), ["provider circuit opened", "provider circuit closed"]);
});

/** Operations that begin together and whose caller leaves after so long. */
function leaveAfter(
  { breaker, clock }: ReturnType<typeof fixture>,
  ms: number,
  count: number,
  between = () => {},
) {
  const passes = Array.from({ length: count }, () => breaker.enter());
  between();
  clock.ms += ms;
  for (const pass of passes) pass.leave();
}

Deno.test("callers that waited in vain open a circuit, where nobody had a reply meanwhile", async () => {
  const made = fixture();
  const { breaker, clock, messages } = made;
  leaveAfter(made, 19_999, 9);
  leaveAfter(made, 90_000, 9, breaker.hear);
  const meanwhile = breaker.enter();
  leaveAfter(made, 90_000, 9, meanwhile.succeed);
  assert.deepEqual(messages(), []);
  clock.ms++;
  leaveAfter(made, 20_000, 4);
  assert.equal(await breaker.run(succeeding), "fine");
  clock.ms++;
  leaveAfter(made, 20_000, 5);
  const error = await errorOf(breaker.run(unwanted));
  assert.equal(error.kind, "timeout");
  assert.match(error.detail, /: nothing arrived for 20000 ms, then the caller gave up$/);
});

Deno.test("a probe whose caller waits in vain opens the circuit for another 30 seconds", async () => {
  const made = fixture();
  await failTimes(made.breaker, 5);
  made.clock.ms = 30_000;
  leaveAfter(made, 20_000, 1);
  made.clock.ms = 79_999;
  await assertError(made.breaker.run(unwanted), "timeout");
  made.clock.ms = 80_000;
  assert.equal(await made.breaker.run(succeeding), "fine");
});

const down = new ProviderError("provider", "down");
const request = { messages: [], signal: never };

function guarded(...scripts: readonly Script[]) {
  const { clock, breaker } = fixture();
  const inner = scriptedProvider("kind/model", ...scripts);
  const complete = () => breaker.run(() => inner.complete(request), request.signal);
  const stream = (signal = request.signal) => breaker.stream(() => inner.stream(request), signal);
  return { clock, inner, complete, stream };
}

Deno.test("a stream that fails after its start counts, one that ends cleanly succeeds", async () => {
  const failed = Array.from({ length: 5 }, () => [text("a"), down]);
  const { inner, complete, stream } = guarded(...failed.slice(1), [text("a"), end()], ...failed);
  const all = () => Array.fromAsync(stream());
  for (let count = 0; count < 4; count++) await assertError(all(), "provider");
  assert.deepEqual(await all(), [text("a"), end()]);
  for (let count = 0; count < 5; count++) await assertError(all(), "provider");
  assert.equal(inner.calls(), 10);
  await assertError(all(), "provider");
  await assertError(complete(), "provider");
  assert.equal(inner.calls(), 10);
});

Deno.test("a probe whose reader stops, goes away or stays for the end leaves the circuit usable", async () => {
  const never_ = Promise.withResolvers<void>().promise;
  const failed = Array.from({ length: 5 }, () => [down]);
  const { inner, clock, complete, stream } = guarded(
    ...failed,
    [text("a"), never_],
    [text("a"), never_],
    [end()],
  );
  for (let count = 0; count < 5; count++) await assertError(complete(), "provider");
  clock.ms = 30_000;
  for await (const _ of stream()) break;
  const controller = new AbortController();
  const forgotten = stream(controller.signal);
  assert.deepEqual((await forgotten.next()).value, text("a"));
  await assertError(complete(), "provider");
  controller.abort();
  for await (const part of stream()) if (part.type === "end") break;
  assert.equal((await complete()).text, "");
  assert.equal(inner.calls(), 9);
});

/** A provider's options with a model that is down, and how often that was asked. */
function optionsOfDown() {
  const asked = { count: 0 };
  const run = () => {
    asked.count++;
    return Promise.reject(down);
  };
  const onnx = { readTokens: 512, run, [Symbol.asyncDispose]: () => Promise.resolve() };
  const { logger } = capturedLogger();
  const apiKey = () => undefined;
  const limits = { requestTimeoutMs: 0, perAttemptTimeoutMs: 0 };
  return { asked, options: { kind: "onnx", model: "model", apiKey, onnx, ...limits, logger } as const };
}

Deno.test("embedding and reranking are guarded too", async () => {
  const { asked, options } = optionsOfDown();
  const [embedding, rerank] = [createEmbeddingProvider(options), createRerankProvider(options)];
  const embed = () => embedding.embed({ texts: ["a"], purpose: "query", signal: never });
  const rank = () => rerank.rerank({ query: "", documents: ["a"], signal: never });
  for (let count = 0; count < 5; count++) {
    await assertError(embed(), "provider");
    await assertError(rank(), "provider");
  }
  assert.equal(asked.count, 10);
  await assertError(embed(), "provider");
  await assertError(rank(), "provider");
  assert.equal(asked.count, 10);
});

Deno.test("work that waits by itself goes past an open circuit, and does not count", async () => {
  const { asked, options } = optionsOfDown();
  const { embed } = createEmbeddingProvider(options);
  const request = { texts: ["a"], purpose: "document", signal: never } as const;
  for (let count = 0; count < 6; count++) {
    await assertError(embed({ ...request, isUnguarded: true }), "provider");
  }
  for (let count = 0; count < 6; count++) await assertError(embed(request), "provider");
  assert.equal(asked.count, 11);
  await assertError(embed({ ...request, isUnguarded: true }), "provider");
  assert.equal(asked.count, 12);
});

Deno.test("a ping goes past an open circuit, and does not count", async () => {
  const { asked, options } = optionsOfDown();
  const { name, embed, ping } = createEmbeddingProvider(options);
  const fail = () => assertError(embed({ texts: ["a"], purpose: "query", signal: never }), "provider");
  for (let count = 0; count < 5; count++) await assertError(ping(never), "provider");
  for (let count = 0; count < 5; count++) await fail();
  assert.equal(name, "onnx/model");
  assert.equal(asked.count, 10);
  await assertError(ping(never), "provider");
  await fail();
  assert.equal(asked.count, 11);
});
