import assert from "node:assert/strict";
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { useEverything } from "../../clients/use_everything.ts";
import { administer, password } from "../../support/accounts.ts";
import { testWithChromium } from "../../support/chromium.ts";
import { databaseEntry } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { createFormBrowser, type OauthServer, startOauthServer } from "../../support/oauth_server.ts";
import { waitUntil } from "../../support/wait_until.ts";

const toolArguments = {
  query_database: { query: "SELECT 1" },
  get_schema_info: {},
  count_rows: { table: "pg_class", schema: "pg_catalog" },
  execute_explain: { query: "SELECT 1" },
  list_databases: {},
  select_database: { name: "main" },
  read_resource: { uri: "pg://system_info" },
};

/** Where the official client waits for its code, and the code once it has come. */
function waitForCode() {
  const arrived = Promise.withResolvers<URLSearchParams>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
    const { pathname, searchParams } = new URL(url);
    if (pathname === "/callback") arrived.resolve(searchParams);
    return new Response("<title>Back</title>You can close this page.", {
      headers: { "content-type": "text/html" },
    });
  });
  return {
    redirectUrl: `http://127.0.0.1:${server.addr.port}/callback`,
    arrived: arrived.promise,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** What the official client asks of whoever embeds it: a store, and a browser. */
function createProvider(redirectUrl: string, open: (url: URL) => Promise<void>) {
  const kept: {
    client?: OAuthClientInformationMixed;
    tokens?: OAuthTokens | undefined;
    verifier?: string;
    discovery?: OAuthDiscoveryState;
  } = {};
  const metadata: OAuthClientMetadata = {
    client_name: "Official client",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: metadata,
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization: open,
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier ?? "",
    saveDiscoveryState: (state) => void (kept.discovery = state),
    discoveryState: () => kept.discovery,
  };
  return { provider, kept };
}

/** Discovers, registers, logs in by `open`, calls a tool, refreshes, and is revoked. */
async function drive(oauth: OauthServer, open: (url: URL) => Promise<void>): Promise<void> {
  await using callback = waitForCode();
  const { provider, kept } = createProvider(callback.redirectUrl, open);
  const url = new URL(`${oauth.issuer}/mcp/v1`);
  const connect = async () => {
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }));
    return client;
  };
  const transport = new StreamableHTTPClientTransport(url, { authProvider: provider });
  await assert.rejects(new Client({ name: "test", version: "1" }).connect(transport), /authoriz/i);
  const params = await callback.arrived;
  assert.equal(params.get("iss"), oauth.issuer);
  await transport.finishAuth(params);

  const call = async (client: Client) => {
    const result = await client.callTool({
      name: "query_database",
      arguments: { query: "SELECT 6 * 7 AS answer" },
    });
    assert.deepEqual((result.structuredContent as { rows: unknown }).rows, [[42]]);
  };
  const first = await connect();
  await call(first);
  const used = await useEverything(first, toolArguments);
  assert.deepEqual(used.tools.toSorted(), Object.keys(toolArguments).toSorted());
  assert.ok(used.resources.length > 0 && used.templates.length > 0 && used.prompts.length > 0);
  await first.close();

  // an access token that has expired: the client refreshes by itself
  const before = kept.tokens;
  assert.ok(before?.refresh_token !== undefined);
  kept.tokens = { ...before, access_token: "expired" };
  const second = await connect();
  await call(second);
  assert.notEqual(kept.tokens?.refresh_token, before.refresh_token);
  assert.notEqual(kept.tokens?.access_token, "expired");

  await administer(oauth.folder, "-revoke-client", kept.client?.client_id ?? "");
  // another process has written the file: the server learns of it within a second
  await waitUntil(
    "it is refused",
    () => second.callTool({ name: "list_databases", arguments: {} }).then(() => false, () => true),
  );
  await assert.rejects(second.callTool({ name: "list_databases", arguments: {} }));
  await second.close();
}

testWithPostgres(
  "the official client logs its user in by forms, calls, refreshes and is revoked",
  async () => {
    await using database = await createTestDatabase();
    await using oauth = await startOauthServer({
      config: `databases: [${databaseEntry("main", database.name)}]`,
    });
    const browser = createFormBrowser(oauth.issuer);
    let logins = 0;
    await drive(oauth, async (url) => {
      if (logins++ > 0) return;
      const login = await browser.open(url.href);
      const consent = await browser.submit(login, { username: "alice", password, action: "login" });
      const end = await browser.submit(consent, { action: "allow" });
      await (await fetch(end.url)).body?.cancel();
    });
  },
);

testWithChromium("the official client logs its user in with a browser", async (browser) => {
  await using database = await createTestDatabase();
  await using oauth = await startOauthServer({
    config: `databases: [${databaseEntry("main", database.name)}]`,
  });
  let logins = 0;
  await drive(oauth, async (url) => {
    if (logins++ > 0) return;
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    await page.goto(url.href);
    await page.getByLabel("User name").fill("alice");
    await page.getByLabel("Password").fill("not the password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("User name").fill("alice");
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Allow access?" }).waitFor();
    assert.match(await page.locator("main").innerText(), /Official client/);
    // the page's own style is in force: nothing of it was refused
    const colour = await page.evaluate(
      "getComputedStyle(document.querySelector('button')).backgroundColor",
    );
    assert.equal(colour, "rgb(11, 114, 133)");
    await page.getByRole("button", { name: "Allow" }).click();
    await page.waitForURL(/\/callback\?/);
    assert.deepEqual(complaints.filter((text) => /refused|violates|blocked/i.test(text)), []);
  });
});
