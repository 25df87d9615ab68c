import assert from "node:assert/strict";
import { createCompletionProvider, createEmbeddingProvider } from "../../src/llm/create_provider.ts";
import type { ProviderOptions } from "../../src/llm/provider.ts";
import { sleep as wait } from "../../src/core/async/deadline.ts";
import { optionsFor } from "./wire/provider_subjects.ts";
import { waitUntil } from "../support/wait_until.ts";
import { errorOf, never } from "./exchange_fixture.ts";
import {
  capturedLogger,
  chunk,
  chunkedHead,
  type RawConnection,
  reply,
  startRawServer,
} from "./raw_server.ts";

const messages = [{ role: "user", content: "?" }] as const;
const answer = reply(200, JSON.stringify({ choices: [{ message: { content: "Yes." } }] }));
const event = `data: ${JSON.stringify({ choices: [{ delta: { content: "Yes" } }] })}\n\n`;
const silence = () => {};

type Answer = (connection: RawConnection, number: number, request: string) => Promise<void> | void;

/** A guarded model of OpenAI's interface whose server answers as the test says, on a clock that the test moves. */
function startModel(answerWith: Answer, more: Partial<ProviderOptions> = {}) {
  const clock = { ms: 0 };
  const server = startRawServer(answerWith);
  const { logger, lines } = capturedLogger();
  const options = optionsFor("openai", server.url, { logger, requestTimeoutMs: 55_000, ...more });
  const timed = { ...options, perAttemptTimeoutMs: 0, now: () => clock.ms };
  return {
    clock,
    server,
    completion: createCompletionProvider(timed),
    embedding: createEmbeddingProvider(timed),
    messages: () => lines.map((line) => JSON.parse(line).message),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

type Model = ReturnType<typeof startModel>;

/** Begins a request, moves the clock once so many requests have arrived in all, and leaves. */
async function leave(
  { clock, server }: Model,
  run: (signal: AbortSignal) => Promise<unknown>,
  arrived: number,
  ms: number,
): Promise<void> {
  const controller = new AbortController();
  const running = run(controller.signal);
  running.catch(() => {});
  await waitUntil("the requests arrived", () => server.requests.length === arrived);
  clock.ms += ms;
  controller.abort();
  await assert.rejects(running, { name: "AbortError" });
  clock.ms++;
}

const complete = ({ completion }: Model) => (signal: AbortSignal) =>
  completion.complete({ messages, signal });
const stream = ({ completion }: Model) => (signal: AbortSignal) =>
  Array.fromAsync(completion.stream({ messages, signal }));

Deno.test("five callers that gave up on a silent provider open its circuit", async () => {
  await using model = startModel(silence);
  for (let count = 1; count <= 5; count++) {
    if (count % 2 === 0) await leave(model, stream(model), count, 20_000);
    else await leave(model, complete(model), count, 27_500);
  }
  const { kind, detail } = await errorOf(model.completion.complete({ messages, signal: never }));
  assert.equal(kind, "timeout");
  assert.match(
    detail,
    /^not tried, because the provider failed 5 times in a row: nothing arrived for 27500 ms/,
  );
  const told = model.messages().filter((message) =>
    message === "provider was silent until its caller gave up"
  );
  assert.equal(told.length, 5);
});

Deno.test("a caller waits in vain from half of the request's time on, at least 20 and at most 45 seconds", async () => {
  for (
    const [requestTimeoutMs, patienceMs] of [
      [55_000, 27_500],
      [30_000, 20_000],
      [120_000, 45_000],
      [0, 45_000],
    ] as const
  ) {
    await using model = startModel(silence, { requestTimeoutMs });
    await leave(model, complete(model), 1, patienceMs - 1);
    assert.deepEqual(model.messages(), []);
    await leave(model, complete(model), 2, patienceMs);
    assert.deepEqual(model.messages(), ["provider was silent until its caller gave up"]);
  }
});

Deno.test("callers that leave a provider which answers others do not open its circuit", async () => {
  await using model = startModel((connection, number) =>
    number % 2 === 0 ? connection.write(answer) : undefined
  );
  for (let count = 1; count <= 5; count++) {
    const both = (signal: AbortSignal) => {
      const left = complete(model)(signal);
      return waitUntil("the first arrived", () => model.server.requests.length === 2 * count - 1)
        .then(() => model.completion.complete({ messages, signal: never }))
        .then(() => left);
    };
    await leave(model, both, 2 * count, 90_000);
  }
  assert.deepEqual(model.messages(), []);
});

Deno.test("a model that can be listed may be silent all the same", async () => {
  await using model = startModel((connection, _, request) =>
    request.startsWith("GET") ? connection.write(reply(200, "{}")) : undefined
  );
  for (let count = 1; count <= 5; count++) {
    const run = async (signal: AbortSignal) => {
      const left = complete(model)(signal);
      left.catch(() => {});
      await model.completion.ping(never);
      return await left;
    };
    await leave(model, run, 2 * count, 90_000);
  }
  assert.equal(model.messages().at(-1), "provider circuit opened");
});

Deno.test("the wait that a provider asked for is not its silence", async () => {
  const busy = reply(503, "", "retry-after: 1\r\n");
  let pauses = 0;
  const sleep = (_: number, signal: AbortSignal) => {
    pauses++;
    return wait(1e6, signal);
  };
  await using model = startModel((connection) => connection.write(busy), { sleep });
  for (let count = 1; count <= 5; count++) {
    const controller = new AbortController();
    const running = complete(model)(controller.signal);
    running.catch(() => {});
    await waitUntil("the pause began", () => pauses === count);
    model.clock.ms += 90_000;
    controller.abort();
    await assert.rejects(running, { name: "AbortError" });
    model.clock.ms++;
  }
  assert.ok(!model.messages().includes("provider circuit opened"));
});

Deno.test("a stream that goes on proves that the provider works", async () => {
  const goOn = Promise.withResolvers<void>();
  await using model = startModel(async (connection, number) => {
    if (number > 1) return;
    await connection.write(chunkedHead);
    await connection.write(chunk(event));
    await goOn.promise;
    await connection.write(chunk(event));
  });
  const first = new AbortController();
  const parts = model.completion.stream({ messages, signal: first.signal })[Symbol.asyncIterator]();
  await parts.next();
  model.clock.ms++;
  const others = new AbortController();
  const running = Promise.allSettled(Array.from({ length: 5 }, () => complete(model)(others.signal)));
  await waitUntil("the others arrived", () => model.server.requests.length === 6);
  goOn.resolve();
  await parts.next();
  model.clock.ms += 90_000;
  others.abort();
  await running;
  first.abort();
  await assert.rejects(parts.next(), { name: "AbortError" });
  assert.deepEqual(model.messages(), []);
});

Deno.test("a reader that pauses makes no silence of the provider's", async () => {
  await using model = startModel(async (connection) => {
    await connection.write(chunkedHead);
    await connection.write(chunk(event));
  });
  for (let count = 1; count <= 5; count++) {
    const controller = new AbortController();
    const { signal } = controller;
    const read = async () => {
      for await (const part of model.completion.stream({ messages, signal })) {
        assert.deepEqual(part, { type: "text", text: "Yes" });
        model.clock.ms += 90_000;
        controller.abort();
      }
    };
    await assert.rejects(read(), { name: "AbortError" });
    model.clock.ms++;
  }
  assert.deepEqual(model.messages(), []);
});

Deno.test("a request of several batches that gets no reply counts once", async () => {
  await using model = startModel(silence);
  const texts = Array.from({ length: 128 }, (_, index) => `text ${index}`);
  const embed = (signal: AbortSignal) => model.embedding.embed({ texts, purpose: "document", signal });
  for (let count = 1; count <= 4; count++) await leave(model, embed, 4 * count, 90_000);
  assert.ok(!model.messages().includes("provider circuit opened"));
  await leave(model, embed, 20, 90_000);
  assert.equal(model.messages().at(-1), "provider circuit opened");
});
