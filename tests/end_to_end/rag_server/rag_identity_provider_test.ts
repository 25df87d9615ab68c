import assert from "node:assert/strict";
import { join } from "node:path";
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from "@modelcontextprotocol/client";
import { logIn, writeUsers } from "../../support/accounts.ts";
import { createConfigFolder } from "../../support/configured_server.ts";
import { configText, startRagServer } from "../../support/rag_server.ts";
import { startServer } from "../../support/server_process.ts";
import {
  clientId,
  clientSecret,
  createIssuerKey,
  freePort,
  startTokenIssuer,
  testAudience,
} from "../../support/token_issuer.ts";
import { waitUntil } from "../../support/wait_until.ts";

const serverWith = (identity_provider: object, settings: object = {}) => ({
  server: {
    listen_address: "127.0.0.1",
    port: 0,
    auth: { enabled: true, identity_provider: { audience: testAudience, ...identity_provider } },
    ...settings,
  },
});

const get = (url: string, token?: string) =>
  fetch(`${url}/v1/pipelines`, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });

Deno.test("the RAG server lets in with an issuer's token, and leads who has none to the issuer", async () => {
  await using issuer = await startTokenIssuer();
  const config = serverWith({ issuer: issuer.issuer, required_scopes: ["docs:read"] });
  await using running = await startRagServer(config);
  const { url } = running.process;
  await waitUntil(
    "the keys were read",
    () => running.process.stderr().includes("Read the keys of the issuer"),
  );

  const claims = { scope: "docs:read" };
  const letIn = await get(url, await issuer.token({ claims }));
  assert.deepEqual([letIn.status, await letIn.json()], [200, { pipelines: [] }]);

  const metadataUrl = `${url}/.well-known/oauth-protected-resource/v1`;
  const refusals = [
    undefined,
    "nonsense",
    await issuer.token({ claims: { ...claims, aud: "https://other.example" } }),
    await issuer.token({ claims: { ...claims, exp: 1 } }),
    await issuer.token({ claims, header: { typ: "JWT" } }),
  ];
  const replies = await Promise.all(refusals.map(async (token) => {
    const response = await get(url, token);
    const headers = [...response.headers].filter(([name]) => !["date", "x-request-id"].includes(name));
    return { status: response.status, headers, body: await response.json() };
  }));
  for (const reply of replies) assert.deepEqual(reply, replies[0]);
  assert.deepEqual([replies[0]?.status, replies[0]?.body.error.code], [401, "UNAUTHORIZED"]);
  assert.equal(
    replies[0]?.headers.find(([name]) => name === "www-authenticate")?.[1],
    `Bearer resource_metadata="${metadataUrl}", scope="docs:read"`,
  );

  const forbidden = await get(url, await issuer.token({ claims: { scope: "other" } }));
  assert.deepEqual([forbidden.status, (await forbidden.json()).error.code], [403, "FORBIDDEN"]);
  assert.equal(
    forbidden.headers.get("www-authenticate"),
    `Bearer error="insufficient_scope", scope="docs:read", resource_metadata="${metadataUrl}"`,
  );

  const { security } = await (await fetch(`${url}/v1/openapi.json`)).json();
  assert.deepEqual(security, [{ token: [] }, { identityProvider: ["docs:read"] }]);

  const response = await get(url);
  await response.body?.cancel();
  const { resourceMetadataUrl } = extractWWWAuthenticateParams(response);
  assert.ok(resourceMetadataUrl !== undefined);
  for (const at of [resourceMetadataUrl, new URL(`${url}/.well-known/oauth-protected-resource`)]) {
    assert.deepEqual(await discoverOAuthProtectedResourceMetadata(`${url}/v1`, { resourceMetadataUrl: at }), {
      resource: `${url}/v1`,
      authorization_servers: [issuer.issuer],
      scopes_supported: ["docs:read"],
      bearer_methods_supported: ["header"],
      resource_name: "Postern",
    });
  }
  const wrongMethod = await fetch(metadataUrl, { method: "POST" });
  assert.deepEqual([wrongMethod.status, wrongMethod.headers.get("allow")], [405, "GET, HEAD"]);
  await wrongMethod.body?.cancel();
});

Deno.test("the RAG server tells its own address as configured", async () => {
  await using issuer = await startTokenIssuer();
  const resource_url = "https://rag.example.com/docs/v1";
  await using running = await startRagServer(serverWith({ issuer: issuer.issuer }, { resource_url }));
  const { url } = running.process;
  const response = await get(url);
  await response.body?.cancel();
  assert.equal(
    response.headers.get("www-authenticate"),
    'Bearer resource_metadata="https://rag.example.com/.well-known/oauth-protected-resource/docs/v1"',
  );
  const metadata = await fetch(`${url}/.well-known/oauth-protected-resource/docs/v1`);
  assert.equal((await metadata.json()).resource, resource_url);
});

Deno.test("the RAG server answers 503 to tokens that its issuer would have to tell of, and goes on for others", async () => {
  const port = freePort();
  const key = await createIssuerKey("first");
  const before = await startTokenIssuer({ port, key });
  const token = await before.token();
  await before[Symbol.asyncDispose]();
  await using running = await startRagServer(serverWith({ issuer: before.issuer }));
  const { url } = running.process;
  const refused = await get(url, token);
  assert.deepEqual([refused.status, (await refused.json()).error.code], [503, "UNAVAILABLE"]);
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  const none = await get(url);
  await none.body?.cancel();
  assert.equal(none.status, 401);
  await using _issuer = await startTokenIssuer({ port, key });
  await waitUntil("the token counts", async () => {
    const response = await get(url, token);
    await response.body?.cancel();
    return response.status === 200;
  });
});

Deno.test("an issuer is not asked about a token of the other server in the process", async () => {
  await using issuer = await startTokenIssuer();
  const identity_provider = {
    issuer: issuer.issuer,
    audience: testAudience,
    introspection: { client_id: clientId, client_secret_file: "secret" },
  };
  const auth = { enabled: true, token_file: "other.yaml", user_file: "others.yaml", identity_provider };
  const config = { server: { listen_address: "127.0.0.1", port: 0, auth }, databases: [], pipelines: [] };
  await using folder = await createConfigFolder(configText(config));
  await Deno.writeTextFile(join(folder.path, "secret"), clientSecret, { mode: 0o600 });
  await writeUsers(folder, ["alice"]);
  await using server = await startServer([
    "-http",
    "-rag",
    "-addr",
    "127.0.0.1:0",
    "-config",
    folder.configFile,
  ]);
  const urls = () => [...server.stderr().matchAll(/listening on (\S+)/g)].map(([, url = ""]) => url);
  await waitUntil("both listen", () => urls().length === 2);
  const [rag = "", tools = ""] = urls();
  const { session } = await logIn({ ...server, url: tools }, "alice");
  for (const token of [session.session_token, "nobody's"]) {
    const response = await get(rag, token);
    await response.body?.cancel();
    assert.equal(response.status, 401);
  }
  assert.equal(issuer.count("/introspect"), 1);
});
