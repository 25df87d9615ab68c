import assert from "node:assert/strict";
import { join } from "node:path";
import {
  auth,
  Client,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { writeUsers } from "../../../support/accounts.ts";
import {
  type ConfigFolder,
  createConfigFolder,
  databaseEntry,
  startConfiguredServer,
} from "../../../support/configured_server.ts";
import { testWithPostgres } from "../../../support/database.ts";
import { scrape } from "../../../support/scrape.ts";
import { type ServerProcess, startServer } from "../../../support/server_process.ts";
import {
  clientId,
  clientSecret,
  createIssuerKey,
  freePort,
  startTokenIssuer,
  testAudience,
  type TokenIssuer,
} from "../../../support/token_issuer.ts";
import { createToolClient } from "../../../support/tool_client.ts";
import { waitUntil } from "../../../support/wait_until.ts";

type Settings = Readonly<Record<string, unknown>>;

// nobody connects: which databases a caller sees says what the caller may do
const database = (name: string, ...available_to_users: string[]) => ({
  name,
  host: "127.0.0.1",
  port: 1,
  available_to_users,
});

interface Running extends AsyncDisposable {
  readonly server: ServerProcess;
  readonly folder: ConfigFolder;
  /** What a request with a token is answered with. */
  post(token: string | undefined, body?: unknown): Promise<Response>;
  databasesOf(token: string): Promise<unknown>;
}

async function start(issuer: string, provider: Settings = {}, http: Settings = {}): Promise<Running> {
  const folder = await createConfigFolder(JSON.stringify({
    http: { auth: { identity_provider: { issuer, audience: testAudience, ...provider } }, ...http },
    databases: [database("open"), database("analysis", "group:analysts"), database("own", "alice")],
    metrics: { address: "127.0.0.1:0" },
    log: { level: "debug" },
  }));
  await Deno.writeTextFile(join(folder.path, "secret"), clientSecret, { mode: 0o600 });
  await writeUsers(folder, ["alice"]);
  const server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const listDatabases = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "list_databases", arguments: {} },
  };
  const post = (token: string | undefined, body: unknown = listDatabases) =>
    createToolClient({ url: server.url, ...(token === undefined ? {} : { token }) }).post(
      JSON.stringify(body),
    );
  return {
    server,
    folder,
    post,
    async databasesOf(token) {
      const reply = await (await post(token)).json();
      return reply.result?.structuredContent.databases.map(({ name }: { name: string }) => name) ?? reply;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function startWith(
  issuer: TokenIssuer,
  provider: Settings = {},
  http: Settings = {},
): Promise<Running> {
  const running = await start(issuer.issuer, provider, http);
  await waitUntil(
    "the keys were read",
    () => running.server.stderr().includes("Read the keys of the issuer"),
  );
  return running;
}

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;

Deno.test("a missing, a wrong, an expired and a foreign token get the same 401, which leads to the metadata", async () => {
  await using issuer = await startTokenIssuer();
  await using running = await startWith(issuer, { required_scopes: ["db:read"] });
  const own = await running.folder.addToken();
  const tokens = [
    undefined,
    "nonsense",
    `${own.token}x`,
    "a.b.c",
    await issuer.token({ claims: { exp: inSeconds(-60) } }),
    await issuer.token({ claims: { aud: "https://other.example" } }),
    await issuer.token({ claims: { nbf: inSeconds(60) } }),
    await issuer.token({ header: { typ: "JWT" } }),
    await issuer.token({ header: { kid: "unknown" } }),
    await issuer.token({ key: await createIssuerKey("first") }),
    "A".repeat(30_000),
  ];
  const replies = [];
  for (const token of tokens) {
    const response = await running.post(token);
    const headers = [...response.headers].filter(([name]) => !["date", "x-request-id"].includes(name));
    replies.push({ status: response.status, headers, body: await response.text() });
  }
  for (const reply of replies) assert.deepEqual(reply, replies[0]);
  assert.equal(replies[0]?.status, 401);
  assert.equal(replies[0]?.body, '{"error": "Unauthorized"}');
  const { url } = running.server;
  const metadataUrl = `${url}/.well-known/oauth-protected-resource/mcp/v1`;
  assert.equal(
    replies[0]?.headers.find(([name]) => name === "www-authenticate")?.[1],
    `Bearer resource_metadata="${metadataUrl}", scope="db:read"`,
  );
  for (const address of [metadataUrl, `${url}/.well-known/oauth-protected-resource`]) {
    const response = await fetch(address);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.deepEqual(await response.json(), {
      resource: `${url}/mcp/v1`,
      authorization_servers: [issuer.issuer],
      scopes_supported: ["db:read"],
      bearer_methods_supported: ["header"],
      resource_name: "Postern",
    });
  }
  const { value } = await scrape(running.server);
  const refused = (reason: string) => value("postern_issuer_token_refusals_total", { reason });
  assert.deepEqual(
    ["expired", "audience", "not_yet_valid", "type", "key", "signature"].map(refused),
    [1, 1, 1, 1, 1, 1],
  );
  assert.equal(value("postern_issuer_requests_total", { what: "keys", outcome: "ok" }), 1);
  for (const token of tokens) {
    for (const part of (token ?? "").split(".").filter((part) => part.length > 20)) {
      assert.ok(!running.server.stderr().includes(part.slice(0, 20)), part);
    }
  }
});

Deno.test("what clients call is told as configured", async () => {
  await using issuer = await startTokenIssuer();
  await using running = await startWith(issuer, {}, { resource_url: "https://tools.example.com/db/mcp/v1" });
  const response = await running.post(undefined);
  await response.body?.cancel();
  assert.equal(
    response.headers.get("www-authenticate"),
    'Bearer resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/db/mcp/v1"',
  );
  for (const path of ["", "/mcp/v1", "/db/mcp/v1"]) {
    const metadata = await fetch(`${running.server.url}/.well-known/oauth-protected-resource${path}`);
    assert.equal((await metadata.json()).resource, "https://tools.example.com/db/mcp/v1");
  }
});

Deno.test("without an issuer there is no metadata, and a 401 leads nowhere", async () => {
  await using folder = await createConfigFolder("{}");
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const response = await createToolClient({ url: server.url }).post("{}");
  assert.equal(response.headers.get("www-authenticate"), "Bearer");
  await response.body?.cancel();
  const metadata = await fetch(`${server.url}/.well-known/oauth-protected-resource`);
  assert.equal(metadata.status, 404);
  await metadata.body?.cancel();
});

Deno.test("an issuer's caller has the rights of its groups, and those of a name only where names are trusted", async () => {
  await using issuer = await startTokenIssuer();
  const claims = { preferred_username: "alice", groups: ["analysts"] };
  const token = await issuer.token({ claims });
  {
    await using running = await startWith(issuer);
    assert.deepEqual(await running.databasesOf(token), ["open"]);
  }
  {
    await using running = await startWith(issuer, { groups_claim: "groups" });
    assert.deepEqual(await running.databasesOf(token), ["open", "analysis"]);
  }
  await using running = await startWith(issuer, { trust_names: true });
  assert.deepEqual(await running.databasesOf(token), ["open", "own"]);
  const users = join(running.folder.path, "users.yaml");
  const text = await Deno.readTextFile(users);
  await Deno.writeTextFile(
    users,
    text.replace("enabled: true", "enabled: false\n    disabled_reason: lockout"),
  );
  await waitUntil("the disabled account keeps its name out", async () => {
    const response = await running.post(token);
    await response.body?.cancel();
    return response.status === 401;
  });
  const nobodys = await issuer.token({ claims: { preferred_username: "bob" } });
  assert.deepEqual(await running.databasesOf(nobodys), ["open"]);
});

testWithPostgres("a call ends with its caller's token", async () => {
  await using issuer = await startTokenIssuer();
  const provider = JSON.stringify({ issuer: issuer.issuer, audience: testAudience });
  await using running = await startConfiguredServer(
    `http: { auth: { identity_provider: ${provider} } }\ndatabases: [${databaseEntry("main", "postgres")}]`,
  );
  const { server: { url, stderr } } = running;
  await waitUntil("the keys were read", () => stderr().includes("Read the keys of the issuer"));
  // the clocks may differ by 30 seconds
  const token = await issuer.token({ claims: { exp: inSeconds(-27) } });
  const client = createToolClient({ url, token });
  const { isError, text } = await client.call("query_database", { query: "SELECT pg_sleep(25)" });
  assert.ok(isError);
  assert.match(text, /its token or session has ended/);
});

Deno.test("a token without a scope that is needed gets 403, with all scopes that the call needs", async () => {
  await using issuer = await startTokenIssuer();
  await using running = await startWith(issuer, {
    required_scopes: ["db:read"],
    scopes_by_tool: { list_databases: ["db:list"] },
  });
  const metadata = `${running.server.url}/.well-known/oauth-protected-resource/mcp/v1`;
  async function challengeOf(scope: string): Promise<[number, string | null]> {
    const response = await running.post(await issuer.token({ claims: { scope } }));
    // without those that the token has
    if (response.status === 403) {
      const lacks = scope === "other" ? "db:read" : "db:list";
      assert.match(await response.text(), new RegExp(`the access token does not have the scope ${lacks}"`));
    } else await response.body?.cancel();
    return [response.status, response.headers.get("www-authenticate")];
  }
  const challenge = (scope: string): [number, string] => [
    403,
    `Bearer error="insufficient_scope", scope="${scope}", resource_metadata="${metadata}"`,
  ];
  assert.deepEqual(await challengeOf("other"), challenge("db:read"));
  assert.deepEqual(await challengeOf("db:read"), challenge("db:read db:list"));
  assert.deepEqual(await challengeOf("db:list db:read"), [200, null]);
  // the same by the tool's other name, by a method, and in what else names databases
  const otherWays = async (scope: string) => {
    const bearer = await issuer.token({ claims: { scope } });
    const params = { name: "list_database_connections", arguments: {} };
    const bodies = [{ method: "tools/call", params }, { method: "pgedge/listDatabases" }];
    const told = await Promise.all(bodies.map(async (body) => {
      const reply = await (await running.post(bearer, { jsonrpc: "2.0", id: 1, ...body })).json();
      return JSON.stringify(reply).includes("open");
    }));
    const headers = { authorization: `Bearer ${bearer}` };
    const ready = await (await fetch(`${running.server.url}/ready`, { headers })).json();
    return [...told, JSON.stringify(ready.databases).includes("open")];
  };
  assert.deepEqual(await otherWays("db:read"), [false, false, false]);
  assert.deepEqual(await otherWays("db:list db:read"), [true, true, true]);
  // an API token has no scopes
  const { token } = await running.folder.addToken();
  await waitUntil("the token counts", async () => (await running.post(token)).status === 200);
});

Deno.test("a server starts without its issuer, says so, and lets callers in once it is there", async () => {
  const port = freePort();
  const key = await createIssuerKey("first");
  await using running = await start(`http://127.0.0.1:${port}`);
  await waitUntil("the error is logged", () => running.server.stderr().includes("Cannot read the keys"));
  const forger = await startTokenIssuer({ port, key });
  const token = await forger.token();
  await forger[Symbol.asyncDispose]();
  const own = await running.folder.addToken();
  await waitUntil("an API token counts all the same", async () => {
    return (await running.post(own.token)).status === 200;
  });
  const refused = await running.post(token);
  assert.equal(refused.status, 503);
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  assert.deepEqual(await refused.json(), {
    error: "Service Unavailable",
    message: "Cannot tell who is calling: the identity provider's keys could not be read yet",
  });
  await using _issuer = await startTokenIssuer({ port, key });
  await waitUntil("the token counts", async () => (await running.post(token)).status === 200);
});

Deno.test("an opaque token lets in whom the issuer says; the issuer never hears of the server's own tokens", async () => {
  await using issuer = await startTokenIssuer();
  const introspection = { client_id: clientId, client_secret_file: "secret" };
  await using running = await startWith(issuer, { introspection, groups_claim: "groups" });
  const asked: string[] = [];
  issuer.opaque.set("opaque", { active: true, sub: "u", aud: testAudience, groups: ["analysts"] });
  const introspect = async (request: Request) => {
    const token = String((await request.formData()).get("token"));
    asked.push(token);
    return Response.json(issuer.opaque.get(token) ?? { active: false });
  };
  issuer.answers.set("/introspect", introspect);
  assert.deepEqual(await running.databasesOf("opaque"), ["open", "analysis"]);
  const { token } = await running.folder.addToken();
  await waitUntil("the token counts", async () => (await running.post(token)).status === 200);
  const wrong = await running.post(`${token}x`);
  await wrong.body?.cancel();
  assert.equal(wrong.status, 401);
  assert.deepEqual(asked, ["opaque"]);
});

Deno.test("beside the built-in authorization server, the metadata names both, and an issuer's token counts", async () => {
  await using issuer = await startTokenIssuer();
  const builtIn = "http://127.0.0.1:9";
  const identity_provider = { issuer: issuer.issuer, audience: testAudience };
  await using folder = await createConfigFolder(JSON.stringify({
    data_dir: "data",
    http: { auth: { oauth: { issuer: builtIn }, identity_provider } },
  }));
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  await waitUntil("the keys were read", () => server.stderr().includes("Read the keys of the issuer"));
  const metadata = await fetch(`${server.url}/.well-known/oauth-protected-resource`);
  const { authorization_servers } = await metadata.json();
  // clients take the first: the company's users find their own login
  assert.deepEqual(authorization_servers, [issuer.issuer, builtIn]);
  const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
  const token = await issuer.token();
  const admitted = await createToolClient({ url: server.url, token }).post(list);
  await admitted.body?.cancel();
  assert.equal(admitted.status, 200);
  // the built-in server's own refusals stay as it words them
  const client = await fetch(`${server.url}/oauth/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa("nobody:wrong")}` },
    body: new URLSearchParams({ grant_type: "authorization_code", code: "x" }),
  });
  await client.body?.cancel();
  assert.ok(!client.headers.get("www-authenticate")?.includes("resource_metadata"));
});

Deno.test("/ready says whether the issuer can be reached, and is 200 without it", async () => {
  const issuer = await startTokenIssuer();
  const ready = async (running: Running, token?: string) => {
    const headers: HeadersInit = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const { identity_provider } = await (await fetch(`${running.server.url}/ready`, { headers })).json();
    return identity_provider;
  };
  {
    await using running = await startWith(issuer);
    assert.deepEqual(await ready(running), { reachable: true });
    const named = { name: issuer.issuer, reachable: true };
    assert.deepEqual(await ready(running, await issuer.token()), named);
  }
  await issuer[Symbol.asyncDispose]();
  await using running = await start(issuer.issuer);
  assert.deepEqual(await ready(running), { reachable: false });
  await using empty = await createConfigFolder(JSON.stringify({
    http: { auth: { identity_provider: { issuer: issuer.issuer, audience: testAudience } } },
  }));
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", empty.configFile]);
  const response = await fetch(`${server.url}/ready`);
  assert.equal(response.status, 200);
  assert.equal((await response.json()).status, "degraded");
});

/** A client that remembers where it would send its user to log in. */
function createProvider(token: () => string | undefined) {
  const seen: { authorization?: URL } = {};
  const provider: OAuthClientProvider = {
    redirectUrl: "http://127.0.0.1:9/callback",
    clientMetadata: { redirect_uris: ["http://127.0.0.1:9/callback"] },
    clientInformation: () => ({ client_id: "app" }),
    tokens: () => {
      const access_token = token();
      return access_token === undefined ? undefined : { access_token, token_type: "Bearer" };
    },
    saveTokens: () => {},
    redirectToAuthorization: (url) => void (seen.authorization = url),
    saveCodeVerifier: () => {},
    codeVerifier: () => "verifier",
  };
  return { provider, seen };
}

Deno.test("the official client finds issuer, resource and scopes by the 401, and is let in with a token", async () => {
  await using issuer = await startTokenIssuer();
  await using running = await startWith(issuer, {
    required_scopes: ["db:read"],
    scopes_by_tool: { get_schema_info: ["db:schema"] },
  });
  const url = new URL(`${running.server.url}/mcp/v1`);

  const response = await running.post(undefined);
  await response.body?.cancel();
  const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(response);
  assert.ok(resourceMetadataUrl !== undefined);
  assert.deepEqual([scope, error], ["db:read", undefined]);
  const metadata = await discoverOAuthProtectedResourceMetadata(url, { resourceMetadataUrl });
  assert.deepEqual(metadata.authorization_servers, [issuer.issuer]);
  // by the well-known place alone, too
  assert.deepEqual(await discoverOAuthProtectedResourceMetadata(url), metadata);

  const granted: { token?: string } = {};
  const { provider, seen } = createProvider(() => granted.token);
  const client = new Client({ name: "test", version: "1" });
  await assert.rejects(
    client.connect(new StreamableHTTPClientTransport(url, { authProvider: provider })),
    UnauthorizedError,
  );
  assert.equal(seen.authorization?.origin, new URL(issuer.issuer).origin);
  const asked = seen.authorization?.searchParams;
  assert.deepEqual([asked?.get("resource"), asked?.get("scope")], [url.href, "db:read"]);

  granted.token = await issuer.token({ claims: { scope: "db:read" } });
  const known = new Client({ name: "test", version: "1" });
  await known.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }));
  const { tools } = await known.listTools();
  assert.ok(tools.some(({ name }) => name === "list_databases"));
  await assert.rejects(known.callTool({ name: "get_schema_info", arguments: {} }));
  // more scopes are asked for at once
  assert.equal(seen.authorization?.searchParams.get("scope"), "db:read db:schema");
  await known.close();
  assert.equal(await auth(provider, { serverUrl: url, scope: "db:read" }), "REDIRECT");
});
