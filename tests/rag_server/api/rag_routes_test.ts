import assert from "node:assert/strict";
import type { Principal } from "../../../src/core/principal.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { noUsage } from "../../../src/llm/provider.ts";
import { createRunningPipelines } from "../../../src/rag_server/running_pipelines.ts";
import { createRagFixture } from "./rag_fixture.ts";
import { script, scriptedPipeline, scriptedPipelines, scriptedSet } from "./scripted_pipelines.ts";
import { createUsageLedger } from "../../../src/llm/usage.ts";

const done = { type: "done", sources: [], tokensUsed: 0 } as const;
const handbook = scriptedPipeline({ name: "handbook", description: "The handbook", script: script(done) });
const recipes = scriptedPipeline({ name: "recipes", script: script(done) });
const pipelines = scriptedPipelines([handbook, recipes]);

Deno.test("GET /v1/live answers at once", async () => {
  const { send } = createRagFixture({ pipelines });
  const { status, text, headers } = await send("GET", "/v1/live");
  assert.deepEqual([status, text], [200, '{"status":"ok"}']);
  assert.equal(headers.get("link"), '</v1/openapi.json>; rel="service-desc"');
});

Deno.test("GET /v1/live answers while the pipelines cannot even be listed", async () => {
  const { send } = createRagFixture({
    pipelines: {
      ...pipelines,
      list: () => {
        throw new Error("no configuration");
      },
    },
  });
  assert.equal((await send("GET", "/v1/live")).status, 200);
  const { status, text } = await send("GET", "/v1/pipelines");
  assert.equal(status, 500);
  assert.equal(text, '{"error":{"code":"INTERNAL_ERROR","message":"an internal error occurred"}}');
});

Deno.test("GET /v1/ready says whether the pipelines' databases can be reached, and asks no provider", async () => {
  const down = (name: string) => ({
    ...scriptedPipeline({ name, script: script(done) }),
    ping: () => Promise.reject(new Error("down")),
    health: () => Promise.reject(new Error("a provider was asked")),
  });
  const cases = [
    { list: [], says: [200, '{"status":"ready"}'] },
    { list: [handbook, recipes], says: [200, '{"status":"ready"}'] },
    { list: [handbook, down("recipes")], says: [200, '{"status":"degraded"}'] },
    { list: [down("handbook"), down("recipes")], says: [503, '{"status":"unavailable"}'] },
  ];
  for (const { list, says } of cases) {
    const { send } = createRagFixture({ pipelines: scriptedPipelines(list) });
    const { status, text } = await send("GET", "/v1/ready");
    assert.deepEqual([status, text], says);
    assert.equal((await send("POST", "/v1/ready")).status, 405);
  }
});

Deno.test("GET /v1/pipelines lists names and descriptions, and nothing else", async () => {
  const { send } = createRagFixture({ pipelines });
  const { status, text } = await send("GET", "/v1/pipelines");
  assert.equal(status, 200);
  assert.equal(
    text,
    '{"pipelines":[{"name":"handbook","description":"The handbook"},{"name":"recipes","description":""}]}',
  );
});

Deno.test("GET /v1/pipelines has a pipeline's examples", async () => {
  const examples = ["How many days of leave do I get?"];
  const list = [scriptedPipeline({ name: "handbook", examples, script: script(done) })];
  const { send } = createRagFixture({ pipelines: scriptedPipelines(list) });
  const { text } = await send("GET", "/v1/pipelines");
  assert.deepEqual(JSON.parse(text), { pipelines: [{ name: "handbook", description: "", examples }] });
});

Deno.test("GET /v1/health is healthy where all providers are reachable, and without any pipeline", async () => {
  const { send } = createRagFixture({ pipelines });
  const { status, text } = await send("GET", "/v1/health");
  assert.equal(status, 200);
  assert.equal(
    text,
    '{"status":"healthy","pipelines":[' +
      '{"name":"handbook","embedding":{"reachable":true},"completion":{"reachable":true},"database":{"reachable":true}},' +
      '{"name":"recipes","embedding":{"reachable":true},"completion":{"reachable":true},"database":{"reachable":true}}]}',
  );
  const empty = createRagFixture({ pipelines: scriptedPipelines([]) });
  assert.equal((await empty.send("GET", "/v1/health")).text, '{"status":"healthy","pipelines":[]}');
});

Deno.test("GET /v1/health is degraded with status 200 where a provider is unreachable", async () => {
  const unwell = scriptedPipelines([{
    ...handbook,
    health: () =>
      Promise.resolve({
        name: "handbook",
        embedding: { reachable: true },
        completion: { reachable: false, error: "the provider could not be reached" },
        database: { reachable: true },
      }),
  }]);
  const { status, text } = await createRagFixture({ pipelines: unwell }).send("GET", "/v1/health");
  assert.equal(status, 200);
  assert.equal(
    text,
    '{"status":"degraded","pipelines":[{"name":"handbook","embedding":{"reachable":true},' +
      '"completion":{"reachable":false,"error":"the provider could not be reached"},"database":{"reachable":true}}]}',
  );
});

Deno.test("GET /v1/stats leaves out the cache's counters where they are 0", async () => {
  const ledger = createUsageLedger();
  const usage = {
    embedding: ledger.counter("embedding"),
    completion: ledger.counter("completion"),
    rerank: ledger.counter("rerank"),
  };
  usage.embedding.add({ ...noUsage, promptTokens: 7 });
  usage.completion.add({
    promptTokens: 20,
    completionTokens: 5,
    cacheCreationInputTokens: 3,
    cacheReadInputTokens: 9,
  });
  usage.rerank.add({ ...noUsage, promptTokens: 2 });
  const busy = scriptedPipelines([{ ...handbook, usage }]);
  const { status, text } = await createRagFixture({ pipelines: busy }).send("GET", "/v1/stats");
  assert.equal(status, 200);
  assert.equal(
    text,
    '{"pipelines":[{"name":"handbook","description":"The handbook",' +
      '"embedding":{"prompt_tokens":7,"completion_tokens":0,"total_tokens":7},' +
      '"completion":{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25,' +
      '"cache_creation_input_tokens":3,"cache_read_input_tokens":9},' +
      '"rerank":{"prompt_tokens":2,"completion_tokens":0,"total_tokens":2}}]}',
  );
});

Deno.test("GET /v1/stats leaves out pipelines that read as their callers", async () => {
  const ofTenants = { ...handbook, name: "tenants", rightsKey: ({ kind }: Principal) => `rights of ${kind}` };
  const { send } = createRagFixture({ pipelines: scriptedPipelines([handbook, ofTenants]) });
  const names = async (path: string) =>
    JSON.parse((await send("GET", path)).text).pipelines.map(({ name }: { name: string }) => name);
  assert.deepEqual(await names("/v1/stats"), ["handbook"]);
  assert.deepEqual(await names("/v1/pipelines"), ["handbook", "tenants"]);
});

Deno.test("HEAD answers like GET, without the body", async () => {
  const { send } = createRagFixture({ pipelines });
  for (
    const path of ["/v1/live", "/v1/ready", "/v1/health", "/v1/pipelines", "/v1/stats", "/v1/openapi.json"]
  ) {
    assert.equal((await send("HEAD", path)).status, 200);
  }
});

Deno.test("another method on a path that exists gets 405 with Allow", async () => {
  const { send } = createRagFixture({ pipelines });
  for (
    const path of ["/v1/live", "/v1/ready", "/v1/health", "/v1/pipelines", "/v1/stats", "/v1/openapi.json"]
  ) {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const { status, headers, text } = await send(method, path);
      assert.deepEqual([status, headers.get("allow")], [405, "GET, HEAD"]);
      assert.equal(
        text,
        `{"error":{"code":"METHOD_NOT_ALLOWED","message":"${method} is not for this path: expected GET or HEAD"}}`,
      );
    }
  }
  for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
    const { status, headers, text } = await send(method, "/v1/pipelines/handbook");
    assert.deepEqual([status, headers.get("allow")], [405, "POST"]);
    assert.equal(
      text,
      `{"error":{"code":"METHOD_NOT_ALLOWED","message":"${method} is not for this path: expected POST"}}`,
    );
  }
  assert.equal((await send("HEAD", "/v1/pipelines/handbook")).status, 405);
});

Deno.test("an unknown path gets 404 NOT_FOUND", async () => {
  const { send } = createRagFixture({ pipelines });
  for (
    const path of [
      "/",
      "/v1",
      "/v1/",
      "/v2/live",
      "/v1/live/",
      "/v1/pipelines/",
      "/v1/pipelines/a/b",
      "/live",
    ]
  ) {
    for (const method of ["GET", "POST"]) {
      const { status, text } = await send(method, path);
      assert.equal(status, 404);
      const message = "there is nothing at this path; pipelines are asked at /v1/pipelines/NAME";
      assert.equal(text, JSON.stringify({ error: { code: "NOT_FOUND", message } }));
    }
  }
});

Deno.test("an unknown pipeline gets 404 PIPELINE_NOT_FOUND, whatever its name and the body", async () => {
  const { send } = createRagFixture({ pipelines });
  const { status, text } = await send("POST", "/v1/pipelines/handbok", { body: "no JSON" });
  assert.equal(status, 404);
  assert.equal(
    text,
    '{"error":{"code":"PIPELINE_NOT_FOUND","message":"there is no pipeline \\"handbok\\""}}',
  );
  for (const name of ["%22%0a", "%zz", "..%2f..", "__proto__", "constructor", "x".repeat(5000)]) {
    const reply = await send("POST", `/v1/pipelines/${name}`, { body: "{}" });
    assert.equal(reply.status, 404);
    assert.match(
      reply.text,
      /^\{"error":\{"code":"PIPELINE_NOT_FOUND","message":"there is no pipeline .{1,110}"\}\}$/,
    );
  }
});

Deno.test("a pipeline's name may need escapes in a path", async () => {
  const named = scriptedPipeline({
    name: "über uns/2",
    script: script({ type: "chunk", content: "a" }, done),
  });
  const { send } = createRagFixture({ pipelines: scriptedPipelines([named]) });
  const { status } = await send("POST", `/v1/pipelines/${encodeURIComponent(named.name)}`, {
    body: '{"query":"q"}',
  });
  assert.equal(status, 200);
});

Deno.test("a query is answered by the pipelines of the moment when it is whole, and keeps them", async () => {
  const answering = (text: string, before = () => {}) =>
    scriptedSet([scriptedPipeline({
      name: "handbook",
      async *script() {
        before();
        yield { type: "chunk", content: text };
        await Promise.resolve();
        yield done;
      },
    })]);
  const renewed = answering("new");
  const old = answering("old", () => pipelines.replace(renewed));
  const pipelines = createRunningPipelines(old, { longestQueryMs: 60_000, logger: silentLogger });
  const { ask, send } = createRagFixture({ pipelines });
  assert.equal((await ask({ query: "q" })).text, '{"answer":"old","tokens_used":0}');
  assert.equal((await ask({ query: "q" })).text, '{"answer":"new","tokens_used":0}');

  // what has ended must not be asked by a body that took its time
  pipelines.replace(old);
  const sending = new TransformStream<Uint8Array, Uint8Array>();
  const asked = send("POST", "/v1/pipelines/handbook", { body: sending.readable });
  pipelines.replace(renewed);
  const writer = sending.writable.getWriter();
  await writer.write(new TextEncoder().encode('{"query":"q"}'));
  await writer.close();
  assert.equal((await asked).text, '{"answer":"new","tokens_used":0}');
});
