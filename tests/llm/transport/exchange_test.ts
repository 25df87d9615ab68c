import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { VendorInterface } from "../../../src/llm/transport/http_attempt.ts";
import { ProviderError } from "../../../src/llm/provider_error.ts";
import { sleep as wait } from "../../../src/core/async/deadline.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { assertError, errorOf, exchangeWith, never } from "../exchange_fixture.ts";
import { capturedLogger, chunk, chunkedHead, reply, startRawServer } from "../raw_server.ts";

const read = (json: unknown) => json;
const question = { path: "/ask", body: { question: "?" }, signal: never, read };

Deno.test("a request is a POST of JSON where it has a body, else a GET", async () => {
  await using server = startRawServer((connection) => connection.write(reply(200, `{"answer":42}`)));
  const exchange = exchangeWith(`${server.url}/v1/`);
  assert.deepEqual(await exchange.send({ path: "/ask", body: { a: "ä" }, signal: never, read }), {
    answer: 42,
  });
  assert.deepEqual(await exchange.send({ path: "models", signal: never, read }), { answer: 42 });
  const [post = "", get = ""] = server.requests;
  assert.match(post, /^POST \/v1\/ask HTTP\/1\.1\r\n/);
  assert.match(post, /\r\ncontent-type: application\/json\r\n/);
  assert.match(post, /\r\nauthorization: Bearer the-key-of-the-server\r\n/);
  assert.match(post, /\r\n\r\n\{"a":"ä"\}$/);
  assert.match(get, /^GET \/v1\/models HTTP\/1\.1\r\n/);
});

Deno.test("configured headers win over the wire format's and the key's, whatever their case", async () => {
  await using server = startRawServer((connection) => connection.write(reply(200, "1")));
  const exchange = exchangeWith(server.url, {
    headers: { AUTHORIZATION: "Basic gateway", "X-Version": "2" },
  });
  await exchange.send({ ...question, headers: { "x-version": "1", "x-format": "f" } });
  assert.match(server.requests[0] ?? "", /\r\nauthorization: Basic gateway\r\n/);
  assert.match(server.requests[0] ?? "", /\r\nx-version: 2\r\n/);
  assert.match(server.requests[0] ?? "", /\r\nx-format: f\r\n/);
  assert.doesNotMatch(server.requests[0] ?? "", /the-key-of-the-server|x-version: 1/);
});

Deno.test("a key that was replaced between attempts takes effect", async () => {
  let key = "old";
  await using server = startRawServer(async (connection, number) => {
    key = "new";
    await connection.write(number === 1 ? reply(503, "") : reply(200, "1"));
  });
  await exchangeWith(server.url, { apiKey: () => key, authHeaders: (key) => ({ "x-key": key }) }).send(
    question,
  );
  assert.deepEqual(server.requests.map((request) => /x-key: (\w+)/.exec(request)?.[1]), ["old", "new"]);
});

for (
  const [status, fault, attempts] of [
    [302, "provider", 1],
    [400, "invalid_request", 1],
    [401, "credentials", 1],
    [403, "credentials", 1],
    [404, "invalid_request", 1],
    [405, "unsupported", 1],
    [408, "timeout", 4],
    [409, "provider", 4],
    [413, "invalid_request", 1],
    [422, "invalid_request", 1],
    [429, "rate_limit", 4],
    [500, "provider", 4],
    [501, "unsupported", 1],
    [502, "provider", 4],
    [503, "provider", 4],
    [504, "provider", 4],
    [529, "provider", 4],
  ] as const
) {
  Deno.test(`status ${status} is the fault ${fault} after ${attempts} attempts`, async () => {
    await using server = startRawServer((connection) =>
      connection.write(reply(status, `{"error":"no ${status}"}`, "location: http://127.0.0.1:9/\r\n"))
    );
    const error = await errorOf(exchangeWith(server.url).send(question));
    assert.equal(error.kind, fault);
    assert.match(error.detail, new RegExp(`^HTTP ${status} .*no ${status}`));
    assert.equal(error.cause, undefined);
    assert.equal(server.requests.length, attempts);
  });
}

Deno.test("a vendor's x-should-retry: false ends the attempts", async () => {
  await using server = startRawServer((connection) =>
    connection.write(reply(429, "", "x-should-retry: false\r\n"))
  );
  await assertError(exchangeWith(server.url).send(question), "rate_limit");
  assert.equal(server.requests.length, 1);
});

Deno.test("a reset before the reply, an empty and a broken-off reply are tried again", async () => {
  await using server = startRawServer(async (connection, number) => {
    if (number === 2) await connection.write(reply(200, ""));
    if (number === 3) await connection.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
    if (number === 4) await connection.write(reply(200, "[4]"));
    connection.close();
  });
  assert.deepEqual(await exchangeWith(server.url).send(question), [4]);
  assert.equal(server.requests.length, 4);
});

Deno.test("a connection that breaks each time, or is refused, is unreachable", async () => {
  const server = startRawServer((connection) => connection.close());
  await assertError(exchangeWith(server.url).send(question), "unreachable");
  assert.equal(server.requests.length, 4);
  await server[Symbol.asyncDispose]();
  await assertError(exchangeWith(server.url).send(question), "unreachable");
});

Deno.test("a name that does not resolve is unreachable", async () => {
  await assertError(exchangeWith("http://nothing.invalid").send(question), "unreachable");
});

Deno.test("malformed JSON and malformed UTF-8 are the provider's fault, once, and the detail quotes nothing of it", async () => {
  for (const body of [`{"text":"private words`, "<html>private words"]) {
    await using server = startRawServer((connection) => connection.write(reply(200, body)));
    const error = await errorOf(exchangeWith(server.url).send(question));
    assert.equal(error.kind, "provider");
    assert.doesNotMatch(error.detail, /private/);
    assert.equal(server.requests.length, 1);
  }
  await using server = startRawServer(async (connection) => {
    await connection.write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n");
    await connection.write(new Uint8Array([0x22, 0xff, 0xfe, 0x22]));
  });
  await assertError(exchangeWith(server.url).send(question), "provider");
});

Deno.test("what the reader throws is the provider's fault, unless it says another", async () => {
  await using server = startRawServer((connection) => connection.write(reply(200, "{}")));
  const exchange = exchangeWith(server.url);
  const failing = (error: Error) => () => {
    throw error;
  };
  const plain = await errorOf(exchange.send({ ...question, read: failing(new TypeError("no choices")) }));
  assert.deepEqual([plain.kind, plain.detail], ["provider", "no choices"]);
  const own = new ProviderError("unsupported", "key the-key-of-the-server");
  const kept = await errorOf(exchange.send({ ...question, read: failing(own) }));
  assert.deepEqual([kept.kind, kept.detail], ["unsupported", "key [redacted]"]);
  assert.equal(server.requests.length, 2);
});

Deno.test("a reply that is too slow is a timeout, tried again while the request has time", async () => {
  await using server = startRawServer(async (connection, number) => {
    if (number === 2) await connection.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
    if (number === 3) await connection.write(reply(200, "[3]"));
  });
  const exchange = exchangeWith(server.url, { perAttemptTimeoutMs: 400 });
  assert.deepEqual(await exchange.send(question), [3]);
  assert.equal(server.requests.length, 3);
});

Deno.test("the request's time holds for all attempts together", async () => {
  await using server = startRawServer(() => {});
  const exchange = exchangeWith(server.url, { requestTimeoutMs: 150, perAttemptTimeoutMs: 0 });
  await assertError(exchange.send(question), "timeout");
  assert.equal(server.requests.length, 1);
});

Deno.test("an attempt that got only what time was left does not hide why it was made", async () => {
  const { logger, lines } = capturedLogger();
  await using server = startRawServer(async (connection, number) => {
    if (number === 1) await connection.write(reply(503, "overloaded"));
  });
  const exchange = exchangeWith(server.url, { requestTimeoutMs: 1_000, logger });
  const error = await errorOf(exchange.send(question));
  assert.deepEqual([error.kind, error.detail], ["provider", "HTTP 503 for POST /ask: overloaded"]);
  assert.equal(server.requests.length, 2);
  const { level, attempt, status, fault } = JSON.parse(lines.at(-1) ?? "{}");
  assert.deepEqual({ level, attempt, status, fault }, {
    level: "warn",
    attempt: 2,
    status: 503,
    fault: "provider",
  });
});

Deno.test("a status whose body stalls keeps its fault", async () => {
  await using server = startRawServer((connection) =>
    connection.write("HTTP/1.1 401 No\r\ncontent-length: 100\r\n\r\nwrong")
  );
  const error = await errorOf(exchangeWith(server.url, { perAttemptTimeoutMs: 400 }).send(question));
  assert.deepEqual([error.kind, error.detail], ["credentials", "HTTP 401 for POST /ask: wrong"]);
});

Deno.test("the wait is what Retry-After asks for", async () => {
  const asked = ["retry-after: 7\r\n", "retry-after-ms: 1500\r\nretry-after: 7\r\n", ""];
  await using server = startRawServer((connection, number) =>
    connection.write(number === 4 ? reply(200, "1") : reply(429, "", asked[number - 1]))
  );
  const waits: number[] = [];
  const sleep = (ms: number) => Promise.resolve(void waits.push(ms));
  await exchangeWith(server.url, { sleep, random: () => 0.5 }).send(question);
  assert.deepEqual(waits, [7000, 1500, 1000]);
});

Deno.test("the wait doubles from half a second, with full jitter, and is no shorter than what was asked for", async () => {
  const asked = (number: number) => number < 5 ? "" : "retry-after-ms: 700\r\n";
  await using server = startRawServer((connection, number) =>
    connection.write(reply(503, "", asked(number)))
  );
  const waitsWith = async (random: number) => {
    const waits: number[] = [];
    const sleep = (ms: number) => Promise.resolve(void waits.push(ms));
    await assertError(exchangeWith(server.url, { sleep, random: () => random }).send(question), "provider");
    return waits;
  };
  assert.deepEqual(await waitsWith(1), [500, 1000, 2000]);
  assert.deepEqual(await waitsWith(0.5), [700, 700, 1000]);
  assert.deepEqual(await waitsWith(0), [700, 700, 700]);
});

Deno.test("a wait that the request has no time for, or over a minute, ends the attempts at once", async () => {
  await using server = startRawServer((connection, number) =>
    connection.write(reply(429, "", `retry-after: ${number === 1 ? 21 : 61}\r\n`))
  );
  await assertError(exchangeWith(server.url, { requestTimeoutMs: 20_000 }).send(question), "rate_limit");
  await assertError(exchangeWith(server.url, { requestTimeoutMs: 0 }).send(question), "rate_limit");
  assert.equal(server.requests.length, 2);
});

Deno.test("the caller's abort ends connecting, reading and waiting with its reason, and is no fault in the log", async () => {
  const { logger, lines } = capturedLogger();
  await using server = startRawServer(async (connection, number) => {
    if (number === 2) await connection.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
    if (number === 3) await connection.write("HTTP/1.1 500 No\r\ncontent-length: 100\r\n\r\n{");
    if (number === 4) await connection.write(reply(500, "", "retry-after: 9\r\n"));
  });
  const exchange = exchangeWith(server.url, { logger });
  for (const number of [1, 2, 3]) {
    const controller = new AbortController();
    const sent = exchange.send({ ...question, signal: controller.signal });
    await waitUntil("the request arrives", () => server.requests.length === number);
    const reason = new Error("gone");
    controller.abort(reason);
    await assert.rejects(sent, (thrown) => thrown === reason);
  }
  assert.deepEqual(lines, []);
  const controller = new AbortController();
  const waiting = exchangeWith(server.url, { logger, sleep: wait });
  const sent = waiting.send({ ...question, signal: controller.signal });
  await waitUntil("the attempt fails", () => lines.length === 1);
  const reason = new Error("gone");
  controller.abort(reason);
  await assert.rejects(sent, (thrown) => thrown === reason);
  await waitUntil("the connections are closed", () => server.openConnections() <= 1);
});

Deno.test("a request whose signal is aborted already is not sent", async () => {
  await using server = startRawServer((connection) => connection.write(reply(200, "1")));
  const signal = AbortSignal.abort("why");
  await assert.rejects(exchangeWith(server.url).send({ ...question, signal }), (thrown) => thrown === "why");
  assert.equal(server.requests.length, 0);
});

Deno.test("a redirect is not followed: its place is named without its query", async () => {
  await using other = startRawServer((connection) => connection.write(reply(200, "1")));
  await using server = startRawServer((connection) =>
    connection.write(reply(307, "", `location: ${other.url}/v2?secret=12345\r\n`))
  );
  const error = await errorOf(exchangeWith(server.url).send(question));
  assert.equal(error.detail, `HTTP 307 for POST /ask to ${other.url}/v2?[redacted]`);
  assert.equal(other.requests.length, 0);
});

Deno.test("an address that is not found is told without its query, with what may be wrong about it", async () => {
  await using server = startRawServer((connection) => connection.write(reply(404, "not here")));
  const exchange = exchangeWith(`${server.url}/v2/the-key-of-the-server`, { notFoundHint: "try /v3" });
  const error = await errorOf(exchange.send({ path: "/models?limit=1", signal: never, read }));
  assert.equal(error.detail, "HTTP 404 for GET /v2/[redacted]/models (try /v3): not here");
});

Deno.test("Google's wait, which stands in the body, is kept like the header's", async () => {
  const slept: number[] = [];
  const body = JSON.stringify({
    error: {
      code: 429,
      status: "RESOURCE_EXHAUSTED",
      details: [
        { "@type": "type.googleapis.com/google.rpc.QuotaFailure" },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "46s" },
      ],
    },
  });
  await using server = startRawServer((connection, number) =>
    connection.write(number === 1 ? reply(429, body) : reply(200, "1"))
  );
  const sleep = (ms: number) => {
    slept.push(ms);
    return Promise.resolve();
  };
  await exchangeWith(server.url, { sleep, requestTimeoutMs: 100_000 }).send(question);
  assert.deepEqual(slept, [46_000]);
});

Deno.test("a request's own limit ends its attempts before the exchange's", async () => {
  await using server = startRawServer(() => {});
  const error = await errorOf(exchangeWith(server.url).send({ ...question, timeoutMs: 30 }));
  assert.equal(error.kind, "timeout");
  assert.equal(server.requests.length, 1);
});

Deno.test("a header or an address that cannot be sent is our own fault", async () => {
  const bad = exchangeWith("http://127.0.0.1:9", {
    authHeaders: (key) => ({ "x-key": `${key}\n!` }),
  });
  const error = await errorOf(bad.send(question));
  assert.equal(error.kind, "internal");
  assert.doesNotMatch(error.detail, /the-key/);
  await assertError(exchangeWith("no address").send(question), "internal");
});

Deno.test("bodies that are not read do not hold their connections", async () => {
  const part = "x".repeat(60_000);
  await using server = startRawServer(async (connection) => {
    await connection.write("HTTP/1.1 400 No\r\ntransfer-encoding: chunked\r\n\r\n");
    for (let index = 0; index < 4; index++) await connection.write(chunk(part));
  });
  const exchange = exchangeWith(server.url);
  for (let index = 0; index < 50; index++) await assertError(exchange.send(question), "invalid_request");
  await waitUntil("the connections are closed", () => server.openConnections() === 0);
});

Deno.test("a reply without an end is bounded", async () => {
  const part = chunk(" ".repeat(4 * 1024 * 1024));
  await using server = startRawServer(async (connection) => {
    await connection.write(chunkedHead);
    for (let index = 0; index < 32; index++) await connection.write(part);
  });
  const error = await errorOf(exchangeWith(server.url).send(question));
  assert.equal(error.kind, "provider");
  assert.match(error.detail, /over 64 MiB/);
  const bounded = await errorOf(exchangeWith(server.url).send({ ...question, maxBytes: 1_000_000 }));
  assert.match(bounded.detail, /over 976\.6 KiB/);
});

Deno.test("a short reply that unpacks to a long one is bounded, and so is one that says its length", async () => {
  const packed = new Uint8Array(gzipSync(new Uint8Array(2_000_000)));
  const heads = [
    `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`,
    "HTTP/1.1 200 OK\r\ncontent-length: 2000000\r\n\r\n",
  ];
  for (const [at, body] of [packed, new Uint8Array(2_000_000)].entries()) {
    await using server = startRawServer(async (connection) => {
      await connection.write(heads[at] ?? "");
      await connection.write(body);
    });
    const error = await errorOf(exchangeWith(server.url).send({ ...question, maxBytes: 1_000_000 }));
    assert.match(error.detail, /over 976\.6 KiB/);
  }
});

Deno.test("each failed attempt is one log line, the last one a warning, and none holds the prompt", async () => {
  const { logger, lines } = capturedLogger();
  await using server = startRawServer((connection) =>
    connection.write(reply(503, "down", "x-request-id: r1\r\n"))
  );
  const exchange = exchangeWith(server.url, { logger });
  await assertError(exchange.send({ ...question, body: { prompt: "the prompt" } }), "provider");
  const logged = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    logged.map(({ time: _, elapsedMs, ...line }) => ({ ...line, elapsedMs: typeof elapsedMs })),
    [1, 2, 3, 4].map((attempt) => ({
      level: attempt === 4 ? "warn" : "debug",
      message: attempt === 4 ? "provider request failed" : "provider attempt failed",
      provider: "openai/model",
      attempt,
      status: 503,
      fault: "provider",
      requestId: "r1",
      detail: "HTTP 503 for POST /ask: down",
      elapsedMs: "number",
    })),
  );
});

Deno.test("what an error's text says decides its kind, in the log too", async () => {
  await using server = startRawServer((connection) => connection.write(reply(400, "KEY_UNKNOWN")));
  const told = async (said: ReturnType<NonNullable<VendorInterface["readError"]>>) => {
    const { logger, lines } = capturedLogger();
    const exchange = exchangeWith(server.url, {
      logger,
      readError: (detail) => detail.includes("KEY_UNKNOWN") ? said : undefined,
    });
    const error = await errorOf(exchange.send(question));
    const { level, message, fault } = JSON.parse(lines[0] ?? "");
    assert.equal(fault, error.kind);
    return [error.kind, error.noAnswer, level, message];
  };
  const failed = ["warn", "provider request failed"];
  assert.deepEqual(await told(undefined), ["invalid_request", undefined, ...failed]);
  assert.deepEqual(await told({ kind: "credentials" }), ["credentials", undefined, ...failed]);
  const declined = ["invalid_request", "declined", "info", "a model gave no answer"];
  assert.deepEqual(await told({ noAnswer: "declined" }), declined);
});
