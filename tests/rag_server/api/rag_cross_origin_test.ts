import assert from "node:assert/strict";
import { createRagFixture } from "./rag_fixture.ts";
import { script, scriptedPipeline, scriptedPipelines } from "./scripted_pipelines.ts";

const pipelines = scriptedPipelines([
  scriptedPipeline({
    name: "handbook",
    script: script({ type: "chunk", content: "a" }, { type: "done", sources: [], tokensUsed: 1 }),
  }),
]);
const page = "https://app.example.com";

const corsHeaders = (headers: Headers) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith("access-control-") || name === "vary"));

const preflight = (origin: string) => ({
  headers: {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type",
  },
});

Deno.test("without CORS no reply has its headers", async () => {
  const { send } = createRagFixture({ pipelines });
  const plain = await send("GET", "/v1/live", { headers: { origin: page } });
  assert.deepEqual(corsHeaders(plain.headers), {});
  const asked = await send("OPTIONS", "/v1/pipelines/handbook", preflight(page));
  assert.equal(asked.status, 405);
  assert.deepEqual(corsHeaders(asked.headers), {});
});

Deno.test("a page of an allowed origin may read every kind of reply", async () => {
  const { send } = createRagFixture({
    pipelines,
    allowedOrigins: ["https://other.example.com", "HTTPS://App.example.com/"],
  });
  const headers = { origin: page };
  const replies = [
    await send("GET", "/v1/live", { headers }),
    await send("HEAD", "/v1/live", { headers }),
    await send("GET", "/nowhere", { headers }),
    await send("DELETE", "/v1/live", { headers }),
    await send("POST", "/v1/pipelines/handbook", { headers, body: "no JSON" }),
    await send("POST", "/v1/pipelines/handbook", { headers, body: '{"query":"q"}' }),
    await send("POST", "/v1/pipelines/handbook", { headers, body: '{"query":"q","stream":true}' }),
  ];
  assert.deepEqual(replies.map(({ status }) => status), [200, 200, 404, 405, 400, 200, 200]);
  for (const reply of replies) {
    assert.deepEqual(corsHeaders(reply.headers), {
      "access-control-allow-origin": page,
      "access-control-expose-headers": "Link, Retry-After, WWW-Authenticate, X-Request-Id",
      vary: "Origin",
    });
  }
});

Deno.test("a failure of the program can be read by a page too", async () => {
  const { send } = createRagFixture({
    pipelines: {
      ...pipelines,
      list: () => {
        throw new Error("broken");
      },
    },
    allowedOrigins: ["*"],
  });
  const { status, headers } = await send("GET", "/v1/pipelines", { headers: { origin: page } });
  assert.equal(status, 500);
  assert.equal(headers.get("access-control-allow-origin"), "*");
});

Deno.test("a page of another origin gets an answer that its browser keeps from it", async () => {
  const { send } = createRagFixture({ pipelines, allowedOrigins: [page] });
  for (
    const origin of [
      "https://evil.example.com",
      `${page}.evil.com`,
      "http://app.example.com",
      `${page}:8443`,
      "null",
    ]
  ) {
    const { status, headers } = await send("GET", "/v1/live", { headers: { origin } });
    assert.equal(status, 200);
    assert.deepEqual(corsHeaders(headers), { vary: "Origin" });
    const asked = await send("OPTIONS", "/v1/pipelines/handbook", preflight(origin));
    assert.equal(asked.status, 204);
    assert.deepEqual(corsHeaders(asked.headers), { vary: "Origin" });
  }
});

Deno.test("with CORS a reply varies with the origin even where a request has none", async () => {
  for (const allowedOrigins of [[], [page], ["*"]]) {
    const { send } = createRagFixture({ pipelines, allowedOrigins });
    assert.equal((await send("GET", "/v1/live")).headers.get("vary"), "Origin");
  }
});

Deno.test("the asterisk allows every origin", async () => {
  const { send } = createRagFixture({ pipelines, allowedOrigins: [page, "*"] });
  for (const origin of [page, "https://any.example.org", "null"]) {
    const { headers } = await send("GET", "/v1/live", { headers: { origin } });
    assert.equal(headers.get("access-control-allow-origin"), "*");
    assert.equal(headers.get("access-control-allow-credentials"), null);
  }
});

Deno.test("a preflight says what is allowed", async () => {
  const { send } = createRagFixture({ pipelines, allowedOrigins: [page] });
  for (const path of ["/v1/pipelines/handbook", "/v1/live"]) {
    const { status, headers } = await send("OPTIONS", path, preflight(page));
    assert.equal(status, 204);
    assert.deepEqual(corsHeaders(headers), {
      "access-control-allow-origin": page,
      "access-control-allow-methods": "GET, HEAD, POST",
      "access-control-allow-headers":
        "Content-Type, Authorization, Accept, Cache-Control, Last-Event-ID, X-Request-Id, X-Requested-With",
      "access-control-max-age": "600",
      vary: "Origin",
    });
  }
  assert.equal((await send("OPTIONS", "/v1/live", { headers: { origin: page } })).status, 405);
});
