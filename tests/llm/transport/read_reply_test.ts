import assert from "node:assert/strict";
import type { VendorExchange } from "../../../src/llm/transport/exchange.ts";
import type { StreamItem } from "../../../src/llm/transport/read_reply.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { assertError, errorOf, exchangeWith, never } from "../exchange_fixture.ts";
import { capturedLogger, chunk, chunkedEnd, chunkedHead, reply, startRawServer } from "../raw_server.ts";

function streamOf(exchange: VendorExchange, format: "events" | "lines" = "events", signal = never) {
  return exchange.stream({ path: "/stream", body: {}, signal, format, read: (item) => item });
}

const all = (exchange: VendorExchange, format?: "events" | "lines") =>
  Array.fromAsync(streamOf(exchange, format));

/** The items until the stream ends or fails, and how. */
async function itemsUntilError(stream: AsyncIterable<StreamItem>): Promise<[StreamItem[], Promise<unknown>]> {
  const items: StreamItem[] = [];
  try {
    for await (const item of stream) items.push(item);
  } catch (thrown) {
    return [items, Promise.reject(thrown)];
  }
  return [items, Promise.resolve()];
}

const events = 'event: start\ndata: {"ä": "😀"}\n\n: ping\n\ndata: one\ndata: two\r\n\r\ndata: [DONE]\n\n';
const eventItems = [{ event: "start", data: '{"ä": "😀"}' }, { data: "one\ntwo" }, { data: "[DONE]" }];

Deno.test("server-sent events come in order, wherever their bytes are split", async () => {
  const bytes = new TextEncoder().encode(events);
  await using server = startRawServer(async (connection) => {
    await connection.write(chunkedHead);
    for (const byte of bytes) await connection.write(chunk(new Uint8Array([byte])));
    await connection.write(chunkedEnd);
  });
  assert.deepEqual(await all(exchangeWith(server.url)), eventItems);
  assert.match(server.requests[0] ?? "", /\r\naccept: text\/event-stream\r\n/);
});

Deno.test("lines come in order, without blank ones, and the last may lack its end", async () => {
  await using server = startRawServer(async (connection) => {
    await connection.write(chunkedHead);
    for (const part of ['{"a"', ":1}\n", '{"b":2}\r\n\n{"c"', ":3}"]) await connection.write(chunk(part));
    await connection.write(chunkedEnd);
  });
  const items = await all(exchangeWith(server.url), "lines");
  assert.deepEqual(items, [{ data: '{"a":1}' }, { data: '{"b":2}' }, { data: '{"c":3}' }]);
});

Deno.test("a last event without its blank line counts", async () => {
  await using server = startRawServer((connection) =>
    connection.write(reply(200, "data: a\n\ndata: [DONE]"))
  );
  assert.deepEqual(await all(exchangeWith(server.url)), [{ data: "a" }, { data: "[DONE]" }]);
});

Deno.test("a stream is tried again until its first item", async () => {
  await using server = startRawServer(async (connection, number) => {
    if (number === 1) await connection.write(reply(529, "busy"));
    if (number === 2) await connection.write(reply(200, ": nothing\n\n"));
    if (number === 3) await connection.write(chunkedHead + "3\r\nda");
    if (number === 4) await connection.write(reply(200, "data: a\n\n"));
    connection.close();
  });
  assert.deepEqual(await all(exchangeWith(server.url)), [{ data: "a" }]);
  assert.equal(server.requests.length, 4);
});

Deno.test("a stream that breaks after its first item is a fault, and is not tried again", async () => {
  const { logger, lines } = capturedLogger();
  await using server = startRawServer(async (connection) => {
    await connection.write(chunkedHead);
    await connection.write(chunk("data: a\n\n"));
    connection.close();
  });
  const [items, end] = await itemsUntilError(streamOf(exchangeWith(server.url, { logger })));
  assert.deepEqual(items, [{ data: "a" }]);
  await assertError(end, "unreachable");
  assert.equal(server.requests.length, 1);
  assert.equal(lines.length, 1);
  assert.equal(JSON.parse(lines[0] ?? "").level, "warn");
});

Deno.test("silence after the headers and in the middle is a timeout; the first is tried again", async () => {
  await using server = startRawServer(async (connection, number) => {
    await connection.write(chunkedHead);
    if (number > 1) await connection.write(chunk("data: a\n\n"));
  });
  const [items, end] = await itemsUntilError(
    streamOf(exchangeWith(server.url, { stallTimeoutMs: 250, perAttemptTimeoutMs: 0 })),
  );
  assert.deepEqual(items, [{ data: "a" }]);
  await assertError(end, "timeout");
  assert.equal(server.requests.length, 2);
});

Deno.test("silence before the first item may last as long as the attempt", async () => {
  await using server = startRawServer(async (connection, number) => {
    await connection.write(chunkedHead);
    if (number === 1) return;
    await new Promise((resolve) => setTimeout(resolve, 150));
    await connection.write(chunk("data: a\n\n"));
    await connection.write(chunkedEnd);
  });
  const exchange = exchangeWith(server.url, { stallTimeoutMs: 50, perAttemptTimeoutMs: 1500 });
  assert.deepEqual(await all(exchange), [{ data: "a" }]);
  assert.equal(server.requests.length, 2);
});

Deno.test("signs of life do not put off the first item's time, and no other item has one", async () => {
  await using server = startRawServer(async (connection, number) => {
    await connection.write(chunkedHead);
    if (number > 1) await connection.write(chunk("data: a\n\n"));
    for (let beat = 0; beat < 10; beat++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      await connection.write(chunk(": ping\n\n"));
    }
    await connection.write(chunk("data: b\n\n"));
    await connection.write(chunkedEnd);
  });
  const exchange = exchangeWith(server.url, { perAttemptTimeoutMs: 500, requestTimeoutMs: 3000 });
  assert.deepEqual(await all(exchange), [{ data: "a" }, { data: "b" }]);
  assert.equal(server.requests.length, 2);
});

Deno.test("the time that the reader takes is no silence of the stream", async () => {
  await using server = startRawServer(async (connection) => {
    await connection.write(chunkedHead);
    await connection.write(chunk("data: a\n\n"));
    await connection.write(chunk("data: b\n\n"));
    await connection.write(chunkedEnd);
  });
  const items: string[] = [];
  for await (
    const { data } of streamOf(exchangeWith(server.url, { stallTimeoutMs: 100, perAttemptTimeoutMs: 200 }))
  ) {
    items.push(data);
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
  assert.deepEqual(items, ["a", "b"]);
});

Deno.test("malformed and cut UTF-8 is the provider's fault", async () => {
  for (const bytes of [[0x61, 0xff, 0x0a, 0x0a], [0xf0, 0x9f, 0x98]]) {
    await using server = startRawServer(async (connection) => {
      await connection.write(chunkedHead);
      await connection.write(chunk("data: a\n\n"));
      await connection.write(chunk(new Uint8Array([...new TextEncoder().encode("data: "), ...bytes])));
      await connection.write(chunkedEnd);
    });
    await assertError(all(exchangeWith(server.url)), "provider");
    await assertError(all(exchangeWith(server.url), "lines"), "provider");
    assert.equal(server.requests.length, 2);
  }
});

Deno.test("an item without an end is bounded", async () => {
  const part = chunk("x".repeat(1024 * 1024));
  await using server = startRawServer(async (connection) => {
    await connection.write(chunkedHead);
    await connection.write(chunk("data: "));
    for (let index = 0; index < 8; index++) await connection.write(part);
  });
  for (const format of ["events", "lines"] as const) {
    const error = await errorOf(all(exchangeWith(server.url), format));
    assert.equal(error.kind, "provider");
    assert.match(error.detail, /an item of the stream is over 4194304 characters/);
  }
});

Deno.test("the caller's abort ends a stream with its reason, whether or not more has arrived already", async () => {
  const { logger, lines } = capturedLogger();
  await using server = startRawServer(async (connection, number) => {
    await connection.write(chunkedHead);
    await connection.write(chunk(number === 1 ? "data: a\n\n" : "data: a\n\ndata: b\n\n"));
  });
  const exchange = exchangeWith(server.url, { logger });
  const reason = new Error("gone");

  const waiting = new AbortController();
  const stream = streamOf(exchange, "events", waiting.signal)[Symbol.asyncIterator]();
  assert.deepEqual((await stream.next()).value, { data: "a" });
  const next = stream.next();
  waiting.abort(reason);
  await assert.rejects(next, (thrown) => thrown === reason);

  const holding = new AbortController();
  const full = streamOf(exchange, "events", holding.signal)[Symbol.asyncIterator]();
  assert.deepEqual((await full.next()).value, { data: "a" });
  holding.abort(reason);
  await assert.rejects(full.next(), (thrown) => thrown === reason);

  assert.deepEqual(lines, []);
  await waitUntil("the connections are closed", () => server.openConnections() === 0);
});

Deno.test("a reader that stops frees the connection", async () => {
  await using server = startRawServer(async (connection) => {
    await connection.write(chunkedHead);
    await connection.write(chunk("data: a\n\ndata: b\n\n"));
  });
  for (let index = 0; index < 50; index++) {
    for await (const _ of streamOf(exchangeWith(server.url))) break;
  }
  await waitUntil("the connections are closed", () => server.openConnections() === 0);
  assert.equal(server.requests.length, 50);
});

Deno.test("a stream is not asked for before its first item is wanted", async () => {
  await using server = startRawServer((connection) => connection.write(reply(200, "data: a\n\n")));
  const stream = streamOf(exchangeWith(server.url));
  await assertError(
    exchangeWith(server.url).send({ path: "/", signal: never, read: () => null }),
    "provider",
  );
  assert.equal(server.requests.length, 1);
  assert.deepEqual(await Array.fromAsync(stream), [{ data: "a" }]);
});
