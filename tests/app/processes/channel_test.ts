import assert from "node:assert/strict";
import { type Channel, createChannel } from "../../../src/app/processes/channel.ts";
import { AppError } from "../../../src/core/app_error.ts";
import { sleep } from "../../../src/core/async/deadline.ts";
import { silentLogger } from "../../../src/core/logger.ts";

type Bounds = Partial<Omit<Parameters<typeof createChannel>[0], "readable" | "writable">>;
type Bytes = Uint8Array;

/** A stream of bytes that can be broken off. */
function pipe() {
  let controller: TransformStreamDefaultController<Bytes> | undefined;
  const { readable, writable } = new TransformStream<Bytes, Bytes>({
    start: (own) => void (controller = own),
  });
  return { readable, writable, end: () => controller?.terminate() };
}

/** Two ends, joined as by pipes. */
function pair(bounds: Bounds = {}) {
  const [there, back] = [pipe(), pipe()];
  const options = { logger: silentLogger, ...bounds };
  const left = createChannel({ readable: back.readable, writable: there.writable, ...options });
  const right = createChannel({ readable: there.readable, writable: back.writable, ...options });
  return {
    left,
    right,
    async [Symbol.asyncDispose]() {
      there.end();
      back.end();
      await Promise.all([left.closed, right.closed]);
    },
  };
}

/** An end whose other end reads nothing, and what it has written. */
function unread(bounds: Bounds = {}): Channel {
  const writable = new WritableStream<Bytes>({ write: () => new Promise(() => {}) });
  const readable = new ReadableStream<Bytes>();
  return createChannel({ readable, writable, logger: silentLogger, ...bounds });
}

Deno.test("both ends ask and answer at the same time, and each answer is its question's", async () => {
  await using ends = pair();
  const { left, right } = ends;
  left.on("double", (value) => Number(value) * 2);
  right.on("slowly", async (value) => {
    await sleep(20 - Number(value));
    return await right.ask("double", value);
  });
  const asked = Array.from({ length: 20 }, (_, n) => left.ask("slowly", n));
  assert.deepEqual(await Promise.all(asked), Array.from({ length: 20 }, (_, n) => n * 2));
  assert.equal(await left.ask("slowly", 3), 6);
});

Deno.test("what is told comes in its order, whatever stands in it", async () => {
  await using ends = pair();
  const { left, right } = ends;
  const told: unknown[] = [];
  const all = Promise.withResolvers<void>();
  right.on("told", (value) => {
    told.push(value);
    if (told.length === 201) all.resolve();
  });
  const long = "ü\n".repeat(200_000);
  for (let n = 0; n < 100; n++) left.tell("told", n);
  left.tell("told", { long, nothing: null });
  for (let n = 0; n < 100; n++) left.tell("told", n);
  await all.promise;
  const numbers = Array.from({ length: 100 }, (_, n) => n);
  assert.deepEqual(told, [...numbers, { long, nothing: null }, ...numbers]);
});

Deno.test("what the other end throws is thrown here: with its code, or without its words", async () => {
  await using ends = pair();
  const { left, right } = ends;
  right.on("refuse", () => {
    throw new AppError("conflict", "Cannot do it: it is done");
  });
  right.on("fail", () => {
    throw new Error("a password");
  });
  const error = (kind: string) => left.ask(kind).then(() => [], ({ code, message }) => [code, message]);
  assert.deepEqual(await error("refuse"), ["conflict", "Cannot do it: it is done"]);
  assert.deepEqual(await error("fail"), ["internal", "Internal error"]);
  assert.deepEqual(await error("other"), ["not_found", 'Cannot answer "other": nobody here does']);
});

Deno.test("who asks is told when the other end does not answer, or is gone", async () => {
  await using ends = pair({ answerWithinMs: 1_000 });
  const { left, right } = ends;
  // the channel's own timer keeps no process alive
  const timer = setInterval(() => {}, 1_000);
  right.on("never", () => new Promise(() => {}));
  await assert.rejects(left.ask("never"), { code: "timeout" });
  clearInterval(timer);

  const ended = new TransformStream<Bytes, Bytes>();
  const { writable } = new TransformStream<Bytes, Bytes>();
  const channel = createChannel({ readable: ended.readable, writable, logger: silentLogger });
  const asked = assert.rejects(channel.ask("anything"), { code: "unavailable" });
  await ended.writable.close();
  await asked;
  await channel.closed;
  await assert.rejects(channel.ask("anything"), { code: "unavailable" });
});

Deno.test("what waits for an end that does not read is bounded", async () => {
  const asking = unread({ mostWaiting: 1_000 });
  const waiting = asking.ask("kind", "x".repeat(500)).catch(() => {});
  await assert.rejects(asking.ask("kind", "x".repeat(500)), { code: "overloaded" });

  // what is told must not be lost in silence
  const telling = unread({ mostWaiting: 1_000 });
  let isClosed = false;
  void telling.closed.then(() => isClosed = true);
  telling.tell("kind", "x".repeat(500));
  await sleep(0);
  assert.equal(isClosed, false);
  telling.tell("kind", "x".repeat(500));
  await telling.closed;
  asking.tell("kind", "x".repeat(500));
  await waiting;
});

Deno.test("a line that is no message is logged, and the others are read", async () => {
  const lines = new TransformStream<Bytes, Bytes>();
  const { writable } = new TransformStream<Bytes, Bytes>();
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (message: string) => void errors.push(message) };
  const channel = createChannel({ readable: lines.readable, writable, logger });
  const told = Promise.withResolvers<unknown>();
  channel.on("told", told.resolve);
  const writer = lines.writable.getWriter();
  await writer.write(new TextEncoder().encode('printed by a library\n{"kind":"told","val'));
  await writer.write(new TextEncoder().encode('ue":7}\n'));
  assert.equal(await told.promise, 7);
  await writer.close();
  await channel.closed;
  assert.deepEqual(errors, ["Cannot take a message of another process"]);
});
