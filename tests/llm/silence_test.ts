import assert from "node:assert/strict";
import { createAttemptTimer } from "../../src/llm/attempt_timer.ts";
import { createCompletionProvider } from "../../src/llm/create_provider.ts";
import { guardCompletion } from "../../src/llm/guarded_provider.ts";
import { ProviderError } from "../../src/llm/provider_error.ts";
import { readChunks } from "../../src/llm/read_reply.ts";
import { watchedProvider } from "../../src/llm/watched_provider.ts";
import { waitUntil } from "../support/wait_until.ts";
import { optionsFor } from "../providers/provider_subjects.ts";
import { exchangeWith, faultOf, never } from "./exchange_fixture.ts";
import { capturedLogger, startRawServer } from "./raw_server.ts";

const read = (json: unknown) => json;

/** Aborts a request to a server that never answers, and says what came of it. */
async function giveUp(longestSilenceMs: number, reason: unknown) {
  const { logger, lines } = capturedLogger();
  const told: ProviderError[] = [];
  await using server = startRawServer(() => {});
  const exchange = exchangeWith(server.url, {
    logger,
    longestSilenceMs,
    onSilence: (failure) => told.push(failure),
  });
  const controller = new AbortController();
  const running = exchange.send({ path: "/ask", body: {}, signal: controller.signal, read });
  running.catch(() => {});
  await waitUntil("the request arrived", () => server.requests.length === 1);
  controller.abort(reason);
  await assert.rejects(running, (thrown) => thrown === reason);
  return { told, logged: lines.map((line) => JSON.parse(line)) };
}

Deno.test("a caller that gives up after a long silence has it told and logged", async () => {
  const { told, logged } = await giveUp(0, new Error("the client has gone"));
  assert.deepEqual(told.map(({ fault }) => fault), ["timeout"]);
  assert.match(told[0]?.detail ?? "", /^nothing arrived for \d+ ms, then the caller gave up$/);
  assert.deepEqual(logged.map(({ level, message }) => [level, message]), [
    ["warn", "provider was silent until its caller gave up"],
  ]);
  assert.equal((await giveUp(0, new ProviderError("timeout", "no time left"))).told.length, 1);
});

Deno.test("a caller that goes away sooner, or for another fault, says nothing about the provider", async () => {
  for (
    const { told, logged } of [
      await giveUp(1e6, new Error("the client has gone")),
      await giveUp(0, new ProviderError("invalid_request", "another batch was refused")),
    ]
  ) {
    assert.deepEqual([told.length, logged.length], [0, 0]);
  }
});

Deno.test("five callers that gave up on a silent provider open its circuit", async () => {
  const { logger } = capturedLogger();
  await using server = startRawServer(() => {});
  const { options, breaker } = watchedProvider({
    ...optionsFor("openai", server.url, { logger }),
    longestSilenceMs: 0,
  });
  const provider = guardCompletion(createCompletionProvider(options), breaker);
  const messages = [{ role: "user", content: "?" }] as const;
  for (let count = 1; count <= 5; count++) {
    const controller = new AbortController();
    const running = count % 2 === 0
      ? Array.fromAsync(provider.stream({ messages, signal: controller.signal }))
      : provider.complete({ messages, signal: controller.signal });
    running.catch(() => {});
    await waitUntil("the request arrived", () => server.requests.length === count);
    controller.abort();
    await assert.rejects(running, { name: "AbortError" });
  }
  const { fault, detail } = await faultOf(provider.complete({ messages, signal: never }));
  assert.equal(fault, "timeout");
  assert.match(detail, /^not tried, since the provider failed 5 times in a row: nothing arrived/);
});

Deno.test("every piece of a reply ends a silence", async () => {
  const arrival = { at: performance.now() - 1e6 };
  const timer = createAttemptTimer(never, Infinity, arrival);
  assert.ok(timer.silenceMs() >= 1e6);
  for await (const _ of readChunks(new Response("text"), timer, () => Infinity)) {
    assert.ok(timer.silenceMs() < 1e6);
  }
});
