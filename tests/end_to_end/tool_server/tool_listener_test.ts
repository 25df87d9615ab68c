import assert from "node:assert/strict";
import { createConfigFolder, databaseEntry } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { openRawConnection } from "../../support/network/raw_connection.ts";
import { rawExchange, type RawRequest } from "../../support/network/raw_exchange.ts";
import { startServer } from "../../support/server_process.ts";

const page = "https://chat.example";
const kibibyte = 1_024;
const mebibyte = 1_024 * kibibyte;

const ping = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}';
const login = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "authenticate_user", arguments: { username: "nobody", password: "wrong password" } },
});
/** White space after it is part of a JSON text. */
const padded = (text: string, length: number) => text.padEnd(length);
const batch = (...parts: string[]) => `[${parts.join()}]`;

interface Row extends Partial<RawRequest> {
  readonly what: string;
  /** Without the token where false. */
  readonly token?: boolean;
  readonly status: number;
  /** Headers of the reply; null is one that is not there. */
  readonly got?: Readonly<Record<string, string | RegExp | null>>;
  /** Of the body. */
  readonly says?: RegExp;
}

const readyUnnamed = /^\{"status":"ready","databases":\[\{"reachable":true\}\],"providers":\[\]\}$/;
const json = { "content-type": "application/json" };
const post = { method: "POST", path: "/mcp/v1", headers: json, body: ping } as const;
const preflight = { method: "OPTIONS", path: "/mcp/v1", token: false } as const;
const preflightOf = (origin: string) => ({
  ...preflight,
  headers: {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization",
  },
});
const from = (headers: Readonly<Record<string, string>>) => ({ ...post, headers: { ...json, ...headers } });

const notHost =
  /^\{"error":"Forbidden: the Host header names a host that [^"]* list the proxy's host name in http\.allowed_hosts"\}$/;
const notOrigin =
  /^\{"error":"Forbidden: the Origin header [^"]* list its origin in http\.allowed_origins"\}$/;
const unauthorized = /^\{"error": "Unauthorized"\}$/;
const code = (number: number, more = "") => new RegExp(`"code":${number},"message":"[^"]*${more}`);

/** Some versions of the runtime add Accept-Encoding. */
const origin = /\bOrigin\b/;

const rows: readonly Row[] = [
  { what: "a ping", ...post, status: 200, says: /^\{"jsonrpc":"2.0","id":1,"result":\{\}\}$/ },

  {
    what: "a body that is said to be compressed",
    ...from({ "content-encoding": "gzip" }),
    status: 415,
    got: { "accept-encoding": "identity" },
  },
  { what: "a body that says it is as it is", ...from({ "content-encoding": "identity" }), status: 200 },
  {
    what: "two transfer codings",
    ...from({ "transfer-encoding": "gzip, chunked" }),
    chunked: true,
    status: 400,
  },
  { what: "a body in chunks", ...post, chunked: true, status: 200 },

  { what: "Host: localhost", ...from({ host: "localhost" }), status: 200 },
  { what: "Host: one of the list", ...from({ host: "Tools.example:443" }), status: 200 },
  { what: "Host: another name", ...from({ host: "evil.example" }), status: 403, says: notHost },
  {
    what: "Host: what begins like its own",
    ...from({ host: "localhost.evil.example" }),
    status: 403,
    says: notHost,
  },
  {
    what: "Host: another, of an allowed page",
    ...from({ host: "evil.example", origin: page }),
    status: 403,
    says: notHost,
  },
  {
    what: "Host: another, on an unknown path",
    path: "/nope",
    headers: { host: "evil.example" },
    status: 403,
    says: notHost,
  },
  {
    what: "Host: any for /health",
    path: "/health",
    headers: { host: "10.0.0.7:8080" },
    token: false,
    status: 200,
  },
  {
    what: "Host: any for /ready, and no name by a foreign one",
    path: "/ready",
    headers: { host: "10.0.0.7:8080" },
    status: 200,
    says: readyUnnamed,
  },
  {
    what: "Host: any for /health, asked wrongly",
    method: "POST",
    path: "/health",
    headers: { host: "a.b" },
    status: 405,
  },

  { what: "Origin: its own", ...from({ origin: "http://localhost:7", host: "localhost:7" }), status: 200 },
  {
    what: "Origin: an allowed page, which may read the answer",
    ...from({ origin: page }),
    status: 200,
    got: { "access-control-allow-origin": page, vary: origin },
  },
  { what: "Origin: another page", ...from({ origin: "https://evil.example" }), status: 403, says: notOrigin },
  { what: "Origin: none of a page", ...from({ origin: "null" }), status: 403, says: notOrigin },
  {
    what: "Origin: another page, for /health",
    path: "/health",
    headers: { origin: "https://evil.example" },
    status: 403,
  },

  {
    what: "a preflight of an allowed page",
    ...preflightOf(page),
    status: 204,
    got: {
      "access-control-allow-origin": page,
      "access-control-allow-methods": "POST, GET",
      "access-control-allow-headers":
        "authorization, content-type, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, x-request-id",
      "access-control-max-age": "600",
      vary: origin,
    },
  },
  {
    what: "a preflight of another page",
    ...preflightOf("https://evil.example"),
    status: 403,
    got: { "access-control-allow-origin": null },
  },
  { what: "OPTIONS that is no preflight", ...preflight, status: 405, got: { allow: "POST" } },

  ...["GET", "PUT", "PATCH", "DELETE", "HEAD"].map((method) => ({
    what: `${method} of the endpoint`,
    method,
    path: "/mcp/v1",
    status: 405,
    got: { allow: "POST" },
  })),
  ...["POST", "PUT", "PATCH", "DELETE", "OPTIONS"].flatMap((method) =>
    ["/health", "/ready"].map((path) => ({
      what: `${method} ${path}`,
      method,
      path,
      status: 405,
      got: { allow: "GET, HEAD" },
    }))
  ),
  {
    what: "GET /health",
    path: "/health",
    token: false,
    status: 200,
    says: /^\{"status":"ok","server":"postern","version":"\d+\.\d+\.\d+"\}$/,
  },
  { what: "GET /ready", path: "/ready", token: false, status: 200, says: readyUnnamed },
  {
    what: "GET /ready with a token",
    path: "/ready",
    status: 200,
    says: /^\{"status":"ready","databases":\[\{"name":"main","reachable":true\}\],"providers":\[\]\}$/,
  },
  ...["/nope", "/mcp", "/mcp/v1/", "/mcp/v2", "/health/", "/v1/live"].map((path) => ({
    what: `the unknown path ${path}`,
    path,
    status: 404,
    says: /^\{"error":"Not Found"\}$/,
  })),

  {
    what: "no token",
    ...post,
    token: false,
    status: 401,
    got: { "www-authenticate": "Bearer" },
    says: unauthorized,
  },
  {
    what: "no token, and 4 MiB",
    ...post,
    token: false,
    body: padded(ping, 4 * mebibyte),
    status: 401,
    says: unauthorized,
  },
  {
    what: "a login of 64 KiB",
    ...post,
    token: false,
    body: padded(login, 64 * kibibyte),
    status: 200,
    says: code(-32001),
  },
  {
    what: "a longer login",
    ...post,
    token: false,
    body: padded(login, 64 * kibibyte + 1),
    status: 401,
    says: unauthorized,
  },
  {
    what: "a longer login that does not say how long",
    ...post,
    token: false,
    body: padded(login, 64 * kibibyte + 1),
    chunked: true,
    status: 401,
    says: unauthorized,
  },
  {
    what: "a deep login",
    ...post,
    token: false,
    body: "[".repeat(60 * kibibyte),
    status: 401,
    says: unauthorized,
  },

  { what: "4 MiB", ...post, body: padded(ping, 4 * mebibyte), status: 200 },
  { what: "4 MiB in chunks", ...post, body: padded(ping, 4 * mebibyte), chunked: true, status: 200 },
  {
    what: "more than 4 MiB",
    ...post,
    body: padded(ping, 4 * mebibyte + 1),
    status: 413,
    says: code(-32600, "4 MiB"),
  },
  {
    what: "more than 4 MiB in chunks",
    ...post,
    body: padded(ping, 4 * mebibyte + 1),
    chunked: true,
    status: 413,
    says: code(-32600, "4 MiB"),
  },
  { what: "no body", ...post, body: "", status: 400, says: code(-32700) },
  { what: "no JSON", ...post, body: "{", status: 400, says: code(-32700) },
  { what: "JSON that is no request", ...post, body: '"hello"', status: 400, says: code(-32600) },
  {
    what: "another protocol",
    ...post,
    body: '{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}',
    status: 400,
    says: code(-32600),
  },
  {
    what: "4 MiB of brackets",
    ...post,
    body: "[".repeat(4 * mebibyte),
    status: 400,
    says: code(-32700, "100 levels"),
  },
  {
    what: "a deep argument",
    ...post,
    body: ping.replace("}", `,"params":{"deep":${"[".repeat(99)}${"]".repeat(99)}}}`),
    status: 400,
    says: code(-32700, "100 levels"),
  },
  {
    what: "a million items",
    ...post,
    body: batch(Array(1_000_000).fill("1").join()),
    status: 400,
    says: code(-32700, "300000 items"),
  },
  {
    what: "11,000 keys",
    ...post,
    body: `{${Array(11_000).fill('"a":1').join()}}`,
    status: 400,
    says: code(-32700, "10000 keys"),
  },
  { what: "a batch", ...post, body: batch(ping, ping), status: 200, says: /^\[\{.*\}\]$/ },
  { what: "a batch of 50", ...post, body: batch(...Array(50).fill(ping)), status: 200 },
  {
    what: "a batch of 51",
    ...post,
    body: batch(...Array(51).fill(ping)),
    status: 400,
    says: code(-32600, "1 to 50 requests"),
  },
  { what: "an empty batch", ...post, body: "[]", status: 400, says: code(-32600, "1 to 50 requests") },
  {
    what: "a batch of 500,000 characters",
    ...post,
    body: padded(batch(ping), 500_000),
    status: 200,
  },
  {
    what: "a longer batch",
    ...post,
    body: padded(batch(ping), 500_001),
    status: 400,
    says: code(-32600, "500000 characters"),
  },
  {
    what: "a batch of 51, by Streamable HTTP",
    ...from({ accept: "application/json, text/event-stream" }),
    body: batch(...Array(51).fill(ping)),
    status: 400,
    says: code(-32600, "1 to 50 requests"),
  },

  ...["text/plain", "application/x-www-form-urlencoded", "application/json-patch+json", ""].map((type) => ({
    what: `Content-Type: ${type}`,
    ...from({ "content-type": type }),
    status: 415,
    says: code(-32600, "Content-Type"),
  })),
  {
    what: "Content-Type in any case, with parameters",
    ...from({ "content-type": "Application/JSON; charset=utf-8" }),
    status: 200,
  },
];

testWithPostgres("the tool server's listener", async (t) => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder(
    `databases: [${databaseEntry("main", database.name)}]\n` +
      `http: { allowed_origins: ["${page}"], allowed_hosts: [tools.example] }\n`,
  );
  const { token } = await folder.addToken();
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  for (const { what, status, got = {}, says, token: known = true, path = "/", headers, ...request } of rows) {
    await t.step(`${what}: ${status}`, async () => {
      const reply = await rawExchange(server.url, {
        path,
        ...request,
        headers: { ...(known ? { authorization: `Bearer ${token}` } : {}), ...headers },
      });
      assert.equal(reply.status, status, reply.text.slice(0, 500));
      for (const [name, value] of Object.entries(got)) {
        const given = reply.headers.get(name);
        if (value instanceof RegExp) assert.match(given ?? "", value, name);
        else assert.equal(given, value, name);
      }
      if (says !== undefined) assert.match(reply.text, says);
    });
  }
  assert.doesNotMatch(server.stderr(), /ERROR/);
});

Deno.test("a request that says in two ways where it ends is the last one on its connection", async () => {
  await using folder = await createConfigFolder("databases: []\n");
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const chunks = "5\r\nhello\r\n0\r\n\r\n";
  for (
    const coding of ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"]
  ) {
    const length = `Content-Length: ${chunks.length}`;
    for (const headers of [[length, coding], [coding, length], [coding, "Content-Length: 4"]]) {
      using connection = await openRawConnection(server.url);
      await connection.send(
        `POST /mcp/v1 HTTP/1.1\r\nHost: localhost\r\n${headers.join("\r\n")}\r\n\r\n${chunks}`,
      );
      await connection.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
      const replies = await connection.readToEnd();
      assert.match(replies, /^HTTP\/1.1 40[01] /);
      assert.match(replies, /connection: close/i);
      assert.doesNotMatch(replies, /"status"/, headers.join());
    }
  }
});

Deno.test("without authentication Host is checked on every address, and probes need none", async () => {
  await using folder = await createConfigFolder("databases: []\n");
  const flags = ["-http", "-addr", "0.0.0.0:0", "-no-auth", "-allow-insecure", "-config", folder.configFile];
  await using server = await startServer(flags);
  const ask = (request: RawRequest) => rawExchange(server.url, request);
  const refused = await ask({ ...post, headers: { ...json, host: "tools.example" } });
  assert.equal(refused.status, 403);
  assert.match(refused.text, notHost);
  assert.equal((await ask({ path: "/health", headers: { host: "tools.example" } })).status, 200);
});
