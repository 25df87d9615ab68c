import assert from "node:assert/strict";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { password } from "../../support/accounts.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { createFormBrowser, createOauthClient, startOauthServer } from "../../support/oauth_server.ts";
import { createRagClient } from "../../support/rag_client.ts";
import { handbookPipeline, keyFile, vendorKey } from "../../support/rag_server.ts";
import { freePort } from "../../support/token_issuer.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";

const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
const question = { query: "How many days of annual leave are there?" };

/** Both servers in one process, with one pipeline for alice alone. */
async function startBoth(pipelines: readonly unknown[], server: Record<string, unknown> = {}) {
  const port = freePort();
  const auth = { enabled: true };
  const config = { server: { listen_address: "127.0.0.1", port, auth, ...server }, pipelines };
  const oauth = await startOauthServer({
    config: Object.entries({ ...config, api_keys: { openai: keyFile, anthropic: keyFile } })
      .map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join("\n"),
    flags: ["-rag"],
    files: { [keyFile]: vendorKey },
  });
  const url = `http://127.0.0.1:${port}`;
  await waitUntil("both listen", () => oauth.server().stderr().match(/listening on/g)?.length === 2);
  return {
    oauth,
    url,
    resource: `${url}/v1`,
    asks: (path: string, token?: string) =>
      fetch(url + path, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    statusOfTools: async (token: string) => {
      const response = await createToolClient({ url: oauth.issuer, token }).post(list);
      await response.body?.cancel();
      return response.status;
    },
    [Symbol.asyncDispose]: () => oauth[Symbol.asyncDispose](),
  };
}

type Both = Awaited<ReturnType<typeof startBoth>>;

/** Logs a user in for what the authorization request asks for, and exchanges the code. */
async function logIn(
  { oauth: { issuer } }: Both,
  resource: string | readonly string[] = [],
  username = "alice",
) {
  const client = await createOauthClient(issuer);
  const browser = createFormBrowser(issuer);
  const login = await browser.open(
    [client.authorizeUrl(), ...[resource].flat().map((each) => `resource=${encodeURIComponent(each)}`)].join(
      "&",
    ),
  );
  const consent = await browser.submit(login, { username, password, action: "login" });
  const { url } = await browser.submit(consent, { action: "allow" });
  const { body, status } = await client.exchange(new URL(url).searchParams.get("code") ?? "");
  assert.equal(status, 200, JSON.stringify(body));
  return {
    client,
    consent: consent.html,
    token: String(body["access_token"]),
    refreshToken: String(body["refresh_token"]),
  };
}

testWithPgvectorServer("a token for the RAG server asks its pipelines, and nothing else", async (t) => {
  await using database = await createHandbookDatabase();
  await using openai = createVendor("openai", { embed: topicVector });
  await using anthropic = createVendor("anthropic", { answer: () => ["25 days."] });
  const parts = { database, openai, anthropic };
  await using both = await startBoth([
    handbookPipeline("handbook", parts, { available_to_users: ["alice"] }),
    handbookPipeline("others", parts, { available_to_users: ["bob"] }),
  ]);
  const ask = async (token: string, pipeline = "handbook") =>
    (await createRagClient({ url: both.url, token }).post(pipeline, question)).status;

  await t.step("a 401 leads to the issuer", async () => {
    const refused = await both.asks("/v1/pipelines");
    await refused.body?.cancel();
    const metadataUrl = `${both.url}/.well-known/oauth-protected-resource/v1`;
    assert.deepEqual([refused.status, refused.headers.get("www-authenticate")], [
      401,
      `Bearer resource_metadata="${metadataUrl}", scope="docs:ask"`,
    ]);
    assert.deepEqual(await (await fetch(metadataUrl)).json(), {
      resource: both.resource,
      authorization_servers: [both.oauth.issuer],
      scopes_supported: ["docs:ask"],
      bearer_methods_supported: ["header"],
      resource_name: "Postern",
    });
    const { components } = await (await both.asks("/v1/openapi.json")).json();
    const { authorizationUrl, tokenUrl } =
      components.securitySchemes.authorizationServer.flows.authorizationCode;
    const metadata = await fetch(`${both.oauth.issuer}/.well-known/oauth-authorization-server`);
    const { authorization_endpoint, token_endpoint } = await metadata.json();
    assert.deepEqual([authorizationUrl, tokenUrl], [authorization_endpoint, token_endpoint]);
  });

  // a client may write the address with a slash at its end
  const forRag = await logIn(both, `${both.resource}/`);
  const forTools = await logIn(both);

  await t.step("each server takes its own tokens alone", async () => {
    assert.match(forRag.consent, /answers from the documents/);
    assert.doesNotMatch(forRag.consent, /read the databases/);
    assert.match(forTools.consent, /read the databases/);
    assert.deepEqual([await ask(forRag.token), await both.statusOfTools(forRag.token)], [200, 401]);
    assert.deepEqual([await ask(forTools.token), await both.statusOfTools(forTools.token)], [401, 200]);
    assert.equal(await ask(forRag.token, "others"), 404);
  });

  await t.step("a grant for one server gives no token for the other", async () => {
    const refused = await forTools.client.token({
      grant_type: "refresh_token",
      refresh_token: forTools.refreshToken,
      resource: both.resource,
    });
    assert.deepEqual([refused.status, refused.body["error"]], [400, "invalid_target"]);
    // nor does that use anything up
    assert.equal((await forTools.client.refresh(forTools.refreshToken)).status, 200);
  });

  await t.step("of a grant for both, each token is for the one that is asked for", async () => {
    const tools = `${both.oauth.issuer}/mcp/v1`;
    const { client, token, refreshToken, consent } = await logIn(both, [tools, both.resource]);
    assert.match(consent, /read the databases[^]*answers from the documents/);
    assert.deepEqual([await ask(token), await both.statusOfTools(token)], [401, 200]);
    const { body } = await client.token({
      grant_type: "refresh_token",
      refresh_token: refreshToken,
      resource: `${both.resource}/`,
    });
    const other = String(body["access_token"]);
    assert.deepEqual([await ask(other), await both.statusOfTools(other)], [200, 401]);
  });

  await t.step("a refreshed token is for the same server; a revoked one is good for nothing", async () => {
    const { body } = await forRag.client.refresh(forRag.refreshToken);
    const token = String(body["access_token"]);
    assert.deepEqual([await ask(token), await both.statusOfTools(token)], [200, 401]);
    assert.equal((await forRag.client.revoke(token)).status, 200);
    assert.deepEqual([await ask(token), await ask(forRag.token)], [401, 401]);
    assert.equal(await both.statusOfTools(forTools.token), 200);
  });

  await t.step("the audit trail names the user of a question, and of a login", async () => {
    assert.equal(await both.oauth.server().stop(), 0);
    const trail = await Deno.readTextFile(`${both.oauth.folder.path}/audit.log`);
    const lines = trail.trim().split("\n").map((line) => JSON.parse(line));
    for (const event of ["login", "oauth", "query"]) {
      assert.ok(lines.some((line) => line.event === event && line.user === "alice"), `${event}\n${trail}`);
    }
  });
});

for (
  const [why, server] of [
    ["it does not take them", { auth: { enabled: true, methods: { oauth: false } } }],
    ["its users are others", { auth: { enabled: true, user_file: "others.yaml" } }],
  ] as const
) {
  Deno.test(`there are no tokens for the RAG server where ${why}`, async () => {
    await using both = await startBoth([], server);
    const refused = await both.asks("/v1/pipelines");
    await refused.body?.cancel();
    assert.deepEqual([refused.status, refused.headers.get("www-authenticate")], [401, "Bearer"]);
    assert.equal((await fetch(`${both.url}/.well-known/oauth-protected-resource`)).status, 401);
    const client = await createOauthClient(both.oauth.issuer);
    const { url } = await createFormBrowser(both.oauth.issuer).open(
      client.authorizeUrl({ resource: both.resource }),
    );
    assert.equal(new URL(url).searchParams.get("error"), "invalid_target");
    const { token } = await logIn(both);
    assert.equal((await both.asks("/v1/pipelines", token)).status, 401);
  });
}

testWithPgvectorServer("a stream ends soon after its grant, also where the token files differ", async () => {
  await using database = await createHandbookDatabase();
  await using openai = createVendor("openai", { embed: topicVector });
  const held = Promise.withResolvers<void>();
  await using anthropic = createVendor("anthropic", {
    answer: () => ["One, ", "two."],
    // the pieces before the fourth are no text; the fifth is the second text
    beforePiece: (index) => index === 4 ? held.promise : Promise.resolve(),
  });
  await using both = await startBoth(
    [handbookPipeline("handbook", { database, openai, anthropic })],
    { auth: { enabled: true, token_file: "others.yaml" } },
  );
  const { token, client } = await logIn(both, both.resource);
  const events = await createRagClient({ url: both.url, token }).open("handbook", question);
  assert.equal((await events.next()).value?.content, "One, ");
  assert.equal((await client.revoke(token)).status, 200);
  assert.deepEqual((await events.next()).value, { type: "error", error: "the token or session has ended" });
  held.resolve();
});
