import assert from "node:assert/strict";
import type { PipelineEvent } from "../../../src/rag_server/pipeline.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { chunk, createHandbook, done, stream } from "./rag_handbook.ts";
import { hanging, type Script, script } from "./scripted_pipelines.ts";

Deno.test("a query over the request timeout gets 504, and its pipeline is told to end", async () => {
  const { script, aborted } = hanging(chunk("a"));
  const { ask, log } = createHandbook(script, { requestTimeoutMs: 20 });
  const { status, text } = await ask({ query: "q" });
  assert.equal(status, 504);
  assert.equal(text, '{"error":{"code":"REQUEST_TIMEOUT","message":"the request took too long"}}');
  assert.equal(String(await aborted), "TimeoutError: it took too long");
  assert.deepEqual(log.map((line) => JSON.parse(line).message), ["A query took too long"]);
});

Deno.test("a stream over the request timeout ends with an error event", async () => {
  const { script, aborted } = hanging(chunk("a"));
  const { ask } = createHandbook(script, { requestTimeoutMs: 20 });
  const { status, text } = await ask(stream);
  assert.equal(status, 200);
  assert.equal(
    text,
    'data: {"type":"chunk","content":"a"}\n\ndata: {"type":"error","error":"the request took too long"}\n\n',
  );
  await aborted;
});

Deno.test("a request timeout of 0, or longer than a timer can be, ends nothing", async () => {
  for (const requestTimeoutMs of [0, 2 ** 31, Infinity]) {
    const slow: Script = async function* () {
      await new Promise((resolve) => setTimeout(resolve, 5));
      yield chunk("a");
      yield done;
    };
    assert.equal((await createHandbook(slow, { requestTimeoutMs }).ask({ query: "q" })).status, 200);
  }
});

Deno.test("the request timeout holds for a pipeline that does not heed the signal", async () => {
  const deaf: Script = async function* () {
    yield chunk("a");
    await new Promise(() => {});
  };
  const { ask } = createHandbook(deaf, { requestTimeoutMs: 20 });
  assert.equal((await ask({ query: "q" })).status, 504);
  assert.match(
    (await ask(stream)).text,
    /\n\ndata: \{"type":"error","error":"the request took too long"\}\n\n$/,
  );
});

Deno.test("a client that leaves ends the pipeline's work, and nothing is sent or logged as an error", async () => {
  for (const body of [{ query: "q" }, stream]) {
    const { script, aborted } = hanging();
    const { ask, handbook, log } = createHandbook(script);
    const client = new AbortController();
    const asking = ask(body, client.signal);
    await waitUntil("the query arrives", () => handbook.asked.length === 1);
    client.abort();
    assert.equal((await asking).status, 499);
    assert.equal(String(await aborted), "AbortError: its caller disconnected");
    assert.deepEqual(log.map((line) => JSON.parse(line).level), ["debug"]);
  }
});

Deno.test("a client that stops reading a stream ends the pipeline's work", async () => {
  const { script, aborted } = hanging(chunk("a"), chunk("b"));
  const { fetch, log } = createHandbook(script);
  const response = await fetch(
    new Request("http://localhost/v1/pipelines/handbook", { method: "POST", body: JSON.stringify(stream) }),
  );
  const reader = response.body?.getReader();
  assert.ok(reader);
  assert.equal(
    new TextDecoder().decode((await reader.read()).value),
    'data: {"type":"chunk","content":"a"}\n\n',
  );
  await reader.cancel();
  assert.equal(String(await aborted), "AbortError: its caller disconnected");
  assert.deepEqual(log.filter((line) => JSON.parse(line).level !== "debug"), []);
});

Deno.test("a pipeline between two events is let go when the client leaves", async () => {
  const { promise: released, resolve } = Promise.withResolvers<void>();
  const { fetch, counted } = createHandbook(async function* (): AsyncGenerator<PipelineEvent> {
    try {
      while (true) yield chunk("a");
    } finally {
      resolve();
    }
  });
  const response = await fetch(
    new Request("http://localhost/v1/pipelines/handbook", { method: "POST", body: JSON.stringify(stream) }),
  );
  await response.body?.cancel();
  await released;
  await waitUntil("the end is counted", () => counted.length === 1);
  assert.deepEqual(counted, ["handbook client_left"]);
});

Deno.test("a client that is gone before its query begins costs the pipeline nothing", async () => {
  const { ask, handbook } = createHandbook(script(chunk("a"), done));
  for (const body of [{ query: "q" }, stream]) {
    assert.equal((await ask(body, AbortSignal.abort())).status, 499);
  }
  assert.deepEqual(handbook.asked, []);
});

Deno.test("what a stop cuts off ends with one error, and later queries work", async () => {
  const { script: waits } = hanging(chunk("a"));
  let current = waits;
  const { ask, handbook, calls } = createHandbook((query) => current(query));
  const replies = [ask({ query: "q" }), ask(stream)];
  await waitUntil("the queries arrive", () => handbook.asked.length === 2);
  await new Promise((resolve) => setTimeout(resolve, 1));
  calls.underWay.endAll();
  const [atOnce, inParts] = await Promise.all(replies);
  assert.equal(atOnce?.status, 500);
  assert.equal(atOnce?.text, '{"error":{"code":"INTERNAL_ERROR","message":"an internal error occurred"}}');
  assert.equal(
    inParts?.text,
    'data: {"type":"chunk","content":"a"}\n\ndata: {"type":"error","error":"an internal error occurred"}\n\n',
  );
  current = script(chunk("a"), done);
  assert.equal((await ask({ query: "q" })).status, 200);
});

Deno.test("a query that is answered is no longer under way", async () => {
  const { ask, handbook, calls } = createHandbook(script(chunk("a"), done), {
    requestTimeoutMs: 50,
  });
  const client = new AbortController();
  for (const body of [{ query: "q" }, stream]) await ask(body, client.signal);
  calls.underWay.endAll();
  client.abort();
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.deepEqual(handbook.asked.map(({ signal }) => signal.aborted), [false, false]);
});

Deno.test("a slow reader slows down the pipeline", async () => {
  let made = 0;
  const { fetch } = createHandbook(async function* (): AsyncGenerator<PipelineEvent> {
    for (; made < 1_000; made++) yield chunk("x".repeat(64 * 1024));
    yield done;
  });
  const response = await fetch(
    new Request("http://localhost/v1/pipelines/handbook", { method: "POST", body: JSON.stringify(stream) }),
  );
  const reader = response.body?.getReader();
  assert.ok(reader);
  for (let read = 0; read < 5; read++) await reader.read();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(made <= 23, `${made} chunks of 64 KiB were made for 5 that were read`);
  await reader.cancel();
});
