import assert from "node:assert/strict";
import { createLogger } from "../../../src/core/logger.ts";
import { startListener } from "../../../src/http/listener.ts";
import type { PipelineEvent } from "../../../src/rag_server/pipeline.ts";
import { assertEventMatchesApi } from "../../support/rag_api.ts";
import { createCertificateAuthority } from "../../support/network/certificates.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { readEvents } from "./rag_fixture.ts";
import { chunk, createHandbook, done, stream } from "./rag_handbook.ts";
import { hanging, type Script, script } from "./scripted_pipelines.ts";
import { testWithPrograms } from "../../support/programs.ts";

const quiet = createLogger({ level: "error", format: "text", write: () => {} });

/** The RAG server's routes on a port of their own, over one pipeline. */
function serve(
  script: Script,
  { tls, maxQueries = Infinity }: { tls?: { cert: string; key: string }; maxQueries?: number } = {},
) {
  const fixture = createHandbook(script, { maxQueries });
  const listener = startListener({
    address: { host: "127.0.0.1", port: 0 },
    ...(tls === undefined ? {} : { tls }),
    handle: (request) => fixture.fetch(request),
    logger: quiet,
  });
  const { endAll } = fixture.calls.underWay;
  return {
    ...fixture,
    port: listener.address.port,
    query: (body: unknown, signal: AbortSignal | null = null) =>
      fetch(`${listener.url}/v1/pipelines/handbook`, { method: "POST", body: JSON.stringify(body), signal }),
    stop: (graceMs: number) => listener.stop(graceMs, endAll),
    [Symbol.asyncDispose]: () => listener.stop(1_000, endAll),
  };
}

function rawQuery(body: string, headers = `Content-Length: ${body.length}\r\n`): Uint8Array {
  return new TextEncoder().encode(
    `POST /v1/pipelines/handbook HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${body}`,
  );
}

async function connect(port: number, bytes: Uint8Array): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(bytes);
  return connection;
}

/** Reads until what came holds `end`. */
async function readUntil(connection: Deno.TcpConn, end: string): Promise<string> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(4096);
  let text = "";
  while (!text.includes(end)) {
    const length = await connection.read(buffer);
    if (length === null) return text;
    text += decoder.decode(buffer.subarray(0, length), { stream: true });
  }
  return text;
}

Deno.test("a stream's headers and first event leave before there is a second one", async () => {
  const { script } = hanging(chunk("first"));
  await using server = serve(script);
  using connection = await connect(server.port, rawQuery(JSON.stringify(stream)));
  const text = await readUntil(connection, "\n\n");
  assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(text, /\r\ncontent-type: text\/event-stream\r\n/i);
  assert.match(text, /\r\ncache-control: no-cache\r\n/i);
  assert.match(text, /\r\nconnection: keep-alive\r\n/i);
  assert.match(text, /\r\ndata: \{"type":"chunk","content":"first"\}\n\n/);
});

Deno.test("a stream is not held back to be compressed", async () => {
  const { script } = hanging(chunk("first ".repeat(50)));
  await using server = serve(script);
  const body = JSON.stringify(stream);
  const headers = `Accept-Encoding: gzip, br\r\nContent-Length: ${body.length}\r\n`;
  using connection = await connect(server.port, rawQuery(body, headers));
  const text = await readUntil(connection, "\n\n");
  assert.match(text, /\r\ndata: \{"type":"chunk","content":"first first /);
});

Deno.test("a reply of JSON has the document's headers on the wire", async () => {
  await using server = serve(script(done));
  using connection = await connect(
    server.port,
    new TextEncoder().encode("HEAD /v1/live HTTP/1.1\r\nHost: whatever.example\r\n\r\n"),
  );
  const text = await readUntil(connection, "\r\n\r\n");
  assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(text, /\r\nlink: <\/v1\/openapi\.json>; rel="service-desc"\r\n/i);
  assert.match(text, /\r\n\r\n$/);
});

Deno.test("a client that disconnects ends the pipeline's work, at every stage", async () => {
  for (const events of [[], [chunk("a")], [chunk("a"), chunk("b")]]) {
    for (const body of events.length === 0 ? [{ query: "q" }, stream] : [stream]) {
      const { script: waits, aborted } = hanging(...events);
      let current = waits;
      await using server = serve((query) => current(query));
      const connection = await connect(server.port, rawQuery(JSON.stringify(body)));
      await waitUntil("the query arrives", () => server.handbook.asked.length === 1);
      const last = events.at(-1);
      if (last !== undefined) await readUntil(connection, JSON.stringify(last));
      connection.close();
      assert.equal(String(await aborted), "AbortError: its caller disconnected");
      assert.deepEqual(server.log.filter((line) => JSON.parse(line).level !== "debug"), []);
      current = script(chunk("a"), done);
      const next = await server.query({ query: "q" });
      assert.deepEqual(await next.json(), { answer: "a", tokens_used: 7 });
    }
  }
});

Deno.test("a client that disconnects while it sends its body costs the pipeline nothing", async () => {
  await using server = serve(script(chunk("a"), done));
  const connection = await connect(server.port, rawQuery('{"query":', "Content-Length: 100\r\n"));
  connection.close();
  assert.deepEqual(await (await server.query({ query: "q" })).json(), { answer: "a", tokens_used: 7 });
  assert.equal(server.handbook.asked.length, 1);
  assert.deepEqual(server.log, []);
});

Deno.test("a body of 10 MB is refused with 413, and the next request is answered", async () => {
  await using server = serve(script(chunk("a"), done));
  const large = await server.query({ query: "q", x: "x".repeat(10_000_000) });
  assert.equal(large.status, 413);
  assert.deepEqual(await large.json(), {
    error: { code: "REQUEST_TOO_LARGE", message: "the body: expected at most 1 MiB" },
  });
  assert.deepEqual(await (await server.query({ query: "q" })).json(), { answer: "a", tokens_used: 7 });
  assert.equal(server.handbook.asked.length, 1);
});

Deno.test("a client that does not read holds up its pipeline, not the server's memory", async () => {
  let made = 0;
  const content = "x".repeat(64 * 1024);
  await using server = serve(async function* (): AsyncGenerator<PipelineEvent> {
    for (; made < 100_000; made++) yield chunk(content);
    yield done;
  });
  const connection = await connect(server.port, rawQuery(JSON.stringify(stream)));
  await waitUntil("the stream begins", () => made > 0);
  let before: number;
  do {
    before = made;
    await new Promise((resolve) => setTimeout(resolve, 100));
  } while (made > before);
  // what the sockets of both sides hold
  assert.ok(made < 500, `${made} chunks of 64 KiB were made for none that was read`);
  connection.close();
});

Deno.test("a client that does not read an answer keeps nobody else from one", async () => {
  const answer = [chunk("x".repeat(16 * 1024 * 1024)), ...Array(8).fill(chunk("y".repeat(1024))), done];
  let current = script(...answer);
  await using server = serve((query) => current(query), { maxQueries: 1 });
  using slow = await connect(server.port, rawQuery(JSON.stringify(stream)));
  assert.match(await readUntil(slow, "data: "), /^HTTP\/1\.1 200 OK/);
  current = script(chunk("a"), done);
  const other = await server.query({ query: "q" }, AbortSignal.timeout(10_000));
  assert.deepEqual(await other.json(), { answer: "a", tokens_used: 7 });
  let read = 0;
  const buffer = new Uint8Array(1024 * 1024);
  while (!new TextDecoder().decode(buffer.subarray(0, read)).includes('{"type":"done"}')) {
    read = await slow.read(buffer) ?? assert.fail("the answer is not whole");
  }
});

Deno.test("64 streams at once keep their events apart and in order", async () => {
  const parts = 50;
  await using server = serve(async function* ({ query }): AsyncGenerator<PipelineEvent> {
    for (let part = 0; part < parts; part++) {
      await new Promise((resolve) => setTimeout(resolve, part % 3));
      yield chunk(`${query}/${part}`);
    }
    yield done;
  });
  const texts = await Promise.all(
    Array.from({ length: 64 }, async (_, client) => {
      const response = await server.query({ query: `client ${client}`, stream: true });
      return await response.text();
    }),
  );
  for (const [client, text] of texts.entries()) {
    const events = readEvents(text);
    events.forEach(assertEventMatchesApi);
    assert.deepEqual(events, [
      ...Array.from({ length: parts }, (_, part) => chunk(`client ${client}/${part}`)),
      { type: "done" },
    ]);
  }
});

Deno.test("a stop lets a stream finish", async () => {
  const { promise: isGoingOn, resolve: goOn } = Promise.withResolvers<void>();
  await using server = serve(async function* (): AsyncGenerator<PipelineEvent> {
    yield chunk("a");
    await isGoingOn;
    yield chunk("b");
    yield done;
  });
  const response = await server.query(stream);
  const stopped = server.stop(60_000);
  goOn();
  assert.deepEqual(readEvents(await response.text()), [chunk("a"), chunk("b"), { type: "done" }]);
  await stopped;
  await assert.rejects(server.query(stream));
});

Deno.test("a stop ends with one event the stream that does not finish", async () => {
  const { script, aborted } = hanging(chunk("a"));
  await using server = serve(script);
  const response = await server.query(stream);
  const stopped = server.stop(20);
  assert.deepEqual(readEvents(await response.text()), [
    chunk("a"),
    { type: "error", error: "an internal error occurred" },
  ]);
  assert.equal(String(await aborted), "AbortError: the server stops");
  await stopped;
});

testWithPrograms(["openssl"], "a stream arrives over HTTP/2, which knows no Connection header", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const authority = await createCertificateAuthority(folder, "authority");
    const { certFile, keyFile } = await authority.issue({
      commonName: "localhost",
      subjectAltNames: ["DNS:localhost", "IP:127.0.0.1"],
    });
    const [cert, key] = await Promise.all([certFile, keyFile].map((file) => Deno.readTextFile(file)));
    assert.ok(cert !== undefined && key !== undefined);
    await using server = serve(script(chunk("a"), done), { tls: { cert, key } });
    using client = Deno.createHttpClient({
      caCerts: [await Deno.readTextFile(authority.certFile)],
      http1: false,
      http2: true,
    });
    const response = await fetch(`https://localhost:${server.port}/v1/pipelines/handbook`, {
      method: "POST",
      body: JSON.stringify(stream),
      client,
    });
    assert.equal(response.status, 200);
    assert.deepEqual(readEvents(await response.text()), [chunk("a"), { type: "done" }]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
