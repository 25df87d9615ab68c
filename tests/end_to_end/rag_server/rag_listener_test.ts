import assert from "node:assert/strict";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { handbookPipeline, startRagServer } from "../../support/rag_server.ts";
import { rawExchange, type RawRequest } from "../../support/network/raw_exchange.ts";

const page = "https://app.example";
const mebibyte = 1_048_576;
const query = '{"query": "How many days of annual leave are there?"}';
const padded = (text: string, length: number) => text.padEnd(length);

interface Row extends Partial<RawRequest> {
  readonly what: string;
  readonly status: number;
  readonly got?: Readonly<Record<string, string | RegExp | null>>;
  /** The error's code. */
  readonly code?: string;
  /** In the error's message. */
  readonly says?: RegExp;
}

const ask = { method: "POST", path: "/v1/pipelines/handbook", body: query } as const;
const readings = ["/v1/openapi.json", "/v1/live", "/v1/health", "/v1/pipelines", "/v1/stats"];
const other = { host: "evil.example" };
const preflightOf = (origin: string) => ({
  method: "OPTIONS",
  path: "/v1/pipelines/handbook",
  headers: {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type",
  },
});
const invalid = { status: 400, code: "INVALID_REQUEST" };

/** Some versions of the runtime add Accept-Encoding. */
const origin = /\bOrigin\b/;

const rows: readonly Row[] = [
  { what: "a question", ...ask, status: 200 },

  ...["localhost", "localhost.", "[::1]:80", "Rag.example", "rag.example:443"].map((host) => ({
    what: `Host: ${host}`,
    path: "/v1/pipelines",
    headers: { host },
    status: 200,
  })),
  ...readings.filter((path) => path !== "/v1/live").map((path) => ({
    what: `Host: another, for ${path}`,
    path,
    headers: other,
    status: 403,
    code: "FORBIDDEN",
    says: /list the proxy's host name in server\.allowed_hosts$/,
  })),
  {
    what: "Host: another, with a port",
    path: "/v1/pipelines",
    headers: { host: "evil.example:80" },
    status: 403,
  },
  { what: "Host: another, for a question", ...ask, headers: other, status: 403, code: "FORBIDDEN" },
  {
    what: "Host: another, for an unknown path",
    path: "/nope",
    headers: other,
    status: 403,
    code: "FORBIDDEN",
  },
  {
    what: "Host: another, for a preflight",
    ...preflightOf(page),
    headers: { ...preflightOf(page).headers, ...other },
    status: 403,
  },
  {
    what: "Host: any for /v1/live, which no page may read",
    path: "/v1/live",
    headers: { host: "10.0.0.7:8080", origin: page },
    status: 200,
    got: { "access-control-allow-origin": null },
  },

  {
    what: "Origin: an allowed page, which may read the answer",
    ...ask,
    headers: { origin: page },
    status: 200,
    got: { "access-control-allow-origin": page, vary: origin },
  },
  {
    what: "Origin: another page, which may not",
    ...ask,
    headers: { origin: "https://evil.example" },
    status: 200,
    got: { "access-control-allow-origin": null, vary: origin },
  },
  {
    what: "a preflight of an allowed page",
    ...preflightOf(page),
    status: 204,
    got: {
      "access-control-allow-origin": page,
      "access-control-allow-methods": "GET, HEAD, POST",
      "access-control-allow-headers":
        "Content-Type, Authorization, Accept, Cache-Control, Last-Event-ID, X-Request-Id, X-Requested-With",
      "access-control-max-age": "600",
    },
  },
  {
    what: "a preflight of another page",
    ...preflightOf("https://evil.example"),
    status: 204,
    got: { "access-control-allow-origin": null, "access-control-allow-methods": null },
  },

  ...readings.map((path) => ({ what: `GET ${path}`, path, status: 200 })),
  ...["POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map((method) => ({
    what: `${method} /v1/pipelines`,
    method,
    path: "/v1/pipelines",
    status: 405,
    code: "METHOD_NOT_ALLOWED",
    got: { allow: "GET, HEAD" },
  })),
  ...["GET", "PUT", "PATCH", "DELETE", "OPTIONS"].map((method) => ({
    what: `${method} of a pipeline`,
    method,
    path: "/v1/pipelines/handbook",
    status: 405,
    code: "METHOD_NOT_ALLOWED",
    got: { allow: "POST" },
  })),
  ...["/v1", "/v1/", "/v1/live/", "/v2/live", "/mcp/v1", "/health"].map((path) => ({
    what: `the unknown path ${path}`,
    path,
    status: 404,
    code: "NOT_FOUND",
  })),
  {
    what: "an unknown pipeline",
    ...ask,
    path: "/v1/pipelines/nope",
    status: 404,
    code: "PIPELINE_NOT_FOUND",
  },
  {
    what: "an unknown pipeline, and more than 1 MiB",
    ...ask,
    path: "/v1/pipelines/nope",
    body: padded(query, mebibyte + 1),
    status: 404,
    code: "PIPELINE_NOT_FOUND",
  },

  { what: "1 MiB", ...ask, body: padded(query, mebibyte), status: 200 },
  {
    what: "more than 1 MiB",
    ...ask,
    body: padded(query, mebibyte + 1),
    status: 413,
    code: "REQUEST_TOO_LARGE",
  },
  {
    what: "more than 1 MiB in chunks",
    ...ask,
    body: padded(query, mebibyte + 1),
    chunked: true,
    status: 413,
    code: "REQUEST_TOO_LARGE",
  },
  { what: "no body", ...ask, body: "", ...invalid },
  { what: "no JSON", ...ask, body: "{", ...invalid },
  { what: "1 MiB of brackets", ...ask, body: "[".repeat(mebibyte), ...invalid, says: /100 levels/ },
  {
    what: "half a million items",
    ...ask,
    body: `[${Array(500_000).fill(1).join()}]`,
    ...invalid,
    says: /300000 items/,
  },
  {
    what: "11,000 keys",
    ...ask,
    body: `{${Array(11_000).fill('"a":1').join()}}`,
    ...invalid,
    says: /10000 keys/,
  },
];

testWithPgvector("the RAG server's listener", async (t) => {
  await using database = await createHandbookDatabase();
  await using openai = createVendor("openai", { embed: topicVector });
  await using anthropic = createVendor("anthropic", { answer: () => ["25 days."] });
  await using running = await startRagServer({
    server: {
      listen_address: "127.0.0.1",
      port: 0,
      allowed_hosts: ["rag.example"],
      cors: { enabled: true, allowed_origins: [page] },
    },
    pipelines: [handbookPipeline("handbook", { database, openai, anthropic })],
  });
  for (const { what, status, got = {}, code, says, path = "/", ...request } of rows) {
    await t.step(`${what}: ${status}`, async () => {
      const reply = await rawExchange(running.process.url, { path, ...request });
      assert.equal(reply.status, status, reply.text.slice(0, 500));
      for (const [name, value] of Object.entries(got)) {
        const given = reply.headers.get(name);
        if (value instanceof RegExp) assert.match(given ?? "", value, name);
        else assert.equal(given, value, name);
      }
      if (code === undefined && says === undefined) return;
      const { error } = JSON.parse(reply.text);
      assert.equal(error.code, code);
      if (says !== undefined) assert.match(error.message, says);
    });
  }
});
