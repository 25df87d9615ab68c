import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import { withFallback } from "../../src/llm/fallback.ts";
import type { CompletionRequest } from "../../src/llm/provider.ts";
import { ProviderError, type ProviderErrorKind } from "../../src/llm/provider_error.ts";
import { assertError, errorOf, never } from "./exchange_fixture.ts";
import { capturedLogger } from "./raw_server.ts";
import { end, scriptedProvider, text } from "./scripted_provider.ts";

const request = { messages: [], signal: never };
const fault = (kind: ProviderErrorKind) => new ProviderError(kind, `it was ${kind}`);
const forever = () => Promise.withResolvers<void>().promise;

Deno.test("the next provider answers where one fails, whatever its kind of error", async () => {
  for (const kind of ["credentials", "rate_limit", "invalid_request", "unsupported", "timeout"] as const) {
    const { logger, lines } = capturedLogger();
    const first = scriptedProvider("a/first", [fault(kind)]);
    const second = scriptedProvider("b/second", [text("from the second"), end()]);
    const provider = withFallback([first, second], logger);
    assert.equal(provider.name, "a/first");
    assert.equal((await provider.complete(request)).text, "from the second");
    const { level, provider: from, next, fault: logged } = JSON.parse(lines[0] ?? "");
    assert.deepEqual([level, from, next, logged], ["warn", "a/first", "b/second", kind]);
  }
});

Deno.test("a provider that answers is the only one that is asked", async () => {
  const second = scriptedProvider("b", [end()]);
  const provider = withFallback([scriptedProvider("a", [text("x"), end()]), second], silentLogger);
  await provider.complete(request);
  await Array.fromAsync(provider.stream(request));
  assert.equal(second.calls(), 0);
});

Deno.test("where all fail, the first one's error is thrown", async () => {
  const [first, second] = [
    scriptedProvider("a", [fault("rate_limit")]),
    scriptedProvider("b", [fault("credentials")]),
  ];
  const provider = withFallback([first, second], silentLogger);
  await assertError(provider.complete(request), "rate_limit");
  await assertError(Array.fromAsync(provider.stream(request)), "rate_limit");
  await assertError(provider.ping(never), "rate_limit");
});

Deno.test("a stream goes to the next provider only before its first text", async () => {
  const second = scriptedProvider("b", [text("second"), end()]);
  const early = withFallback([scriptedProvider("a", [text(""), fault("timeout")]), second], silentLogger);
  const parts = await Array.fromAsync(early.stream(request));
  assert.deepEqual(parts.slice(-2), [text("second"), end()]);
  const late = withFallback([scriptedProvider("a", [text("half"), fault("timeout")]), second], silentLogger);
  const seen: unknown[] = [];
  const failed = (async () => {
    for await (const part of late.stream(request)) seen.push(part);
  })();
  assert.equal((await errorOf(failed)).kind, "timeout");
  assert.deepEqual(seen, [text("half")]);
  assert.equal(second.calls(), 1);
});

Deno.test("the caller's abort, and what no provider threw, end it all", async () => {
  const second = scriptedProvider("b", [end()]);
  const controller = new AbortController();
  controller.abort(fault("timeout"));
  const aborted = withFallback([scriptedProvider("a", [fault("timeout")]), second], silentLogger);
  await assertError(aborted.complete({ ...request, signal: controller.signal }), "timeout");
  const broken = withFallback([scriptedProvider("a", [new RangeError("a bug")]), second], silentLogger);
  await assert.rejects(broken.complete(request), RangeError);
  await assert.rejects(Array.fromAsync(broken.stream(request)), RangeError);
  assert.equal(second.calls(), 0);
});

Deno.test("a ping succeeds where any provider answers, even behind one that is silent", async () => {
  const silent = scriptedProvider("a", [forever()]);
  await withFallback([silent, scriptedProvider("b", [end()])], silentLogger).ping(never);
  const signal = AbortSignal.abort("why");
  await assert.rejects(withFallback([silent], silentLogger).ping(signal), (thrown) => thrown === "why");
});

Deno.test("no providers at all are refused", () => {
  assert.throws(() => withFallback([], silentLogger), {
    message: "Cannot fall back: there are no providers",
  });
});

Deno.test("a reply without an answer goes to no other provider", async () => {
  for (const noAnswer of ["declined", "empty"] as const) {
    const second = scriptedProvider("b", [text("second"), end()]);
    const first = scriptedProvider("a", [new ProviderError("provider", "", { noAnswer })]);
    const provider = withFallback([first, second], silentLogger);
    assert.equal((await errorOf(provider.complete(request))).noAnswer, noAnswer);
    assert.equal((await errorOf(Array.fromAsync(provider.stream(request)))).noAnswer, noAnswer);
    assert.equal(second.calls(), 0);
  }
});

Deno.test("each provider gets at most its share of the time that is left", async () => {
  const clock = { ms: 1_000 };
  const takes = (name: string, ms: number) => {
    const asked: (number | undefined)[] = [];
    const fail = ({ timeoutMs }: CompletionRequest) => {
      asked.push(timeoutMs);
      clock.ms += ms;
      return Promise.reject(fault("timeout"));
    };
    const stream = (given: CompletionRequest) => ({
      [Symbol.asyncIterator]: () => ({ next: () => fail(given) }),
    });
    return { asked, provider: { ...scriptedProvider(name, []), complete: fail, stream } };
  };
  const all = [takes("a", 20_000), takes("b", 4_000), takes("c", 1_000)];
  const now = () => clock.ms;
  const limited = withFallback(all.map(({ provider }) => provider), silentLogger, { timeoutMs: 60_000, now });
  await assertError(limited.complete(request), "timeout");
  await assertError(Array.fromAsync(limited.stream(request)), "timeout");
  assert.deepEqual(all.map(({ asked }) => asked), [[20_000, 20_000], [20_000, 20_000], [36_000, 36_000]]);
  const unlimited = withFallback(all.map(({ provider }) => provider), silentLogger, { timeoutMs: 0 });
  await assertError(unlimited.complete(request), "timeout");
  assert.deepEqual(all.map(({ asked }) => asked.at(-1)), [undefined, undefined, undefined]);
});

Deno.test("the first provider is asked however short the time is", async () => {
  const provider = withFallback([scriptedProvider("a", [text("quick"), end()])], silentLogger, {
    timeoutMs: 50,
  });
  assert.equal((await provider.complete(request)).text, "quick");
});

Deno.test("where the time is up, or nearly, no other provider is asked", async () => {
  for (const takesMs of [60_001, 59_950]) {
    const clock = { ms: 0 };
    const late = () => {
      clock.ms += takesMs;
      return Promise.reject(fault("rate_limit"));
    };
    const stream = () => ({ [Symbol.asyncIterator]: () => ({ next: late }) });
    const first = { ...scriptedProvider("a", []), complete: late, stream };
    const second = scriptedProvider("b", [end()]);
    const { logger, lines } = capturedLogger();
    const provider = withFallback([first, second], logger, { timeoutMs: 60_000, now: () => clock.ms });
    await assertError(provider.complete(request), "rate_limit");
    await assertError(Array.fromAsync(provider.stream(request)), "rate_limit");
    assert.deepEqual([second.calls(), lines.length], [0, 0]);
  }
});
