import assert from "node:assert/strict";
import { administer, logIn, password } from "../../support/accounts.ts";
import {
  createFormBrowser,
  createOauthClient,
  type OauthServer,
  redirectUri,
  startOauthServer,
} from "../../support/oauth_server.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";

type OauthClient = Awaited<ReturnType<typeof createOauthClient>>;

async function pingStatus({ issuer }: OauthServer, token: unknown): Promise<number> {
  const client = createToolClient({ url: issuer, token: String(token) });
  const response = await client.post('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  await response.body?.cancel();
  return response.status;
}

/** Logs in, allows, and returns what the client gets at its address. */
async function authorize(
  { issuer }: OauthServer,
  client: OauthClient,
  username = "alice",
): Promise<URLSearchParams> {
  const browser = createFormBrowser(issuer);
  const login = await browser.open(client.authorizeUrl());
  const consent = await browser.submit(login, { username, password, action: "login" });
  const end = await browser.submit(consent, { action: "allow" });
  assert.ok(end.url.startsWith(`${redirectUri}?`), end.url + end.html);
  return new URL(end.url).searchParams;
}

async function tokensOf(oauth: OauthServer, client: OauthClient, username?: string) {
  const { status, body } = await client.exchange(
    (await authorize(oauth, client, username)).get("code") ?? "",
  );
  assert.equal(status, 200, JSON.stringify(body));
  return { accessToken: String(body["access_token"]), refreshToken: String(body["refresh_token"]), body };
}

async function auditOf({ folder }: OauthServer): Promise<string> {
  return await Deno.readTextFile(`${folder.path}/audit.log`);
}

Deno.test("a user logs in by forms, a client calls, refreshes and is revoked", async (t) => {
  await using oauth = await startOauthServer();
  const { issuer } = oauth;

  await t.step("the metadata says what there is", async () => {
    const response = await fetch(`${issuer}/.well-known/oauth-authorization-server`);
    const { scopes_supported: scopes, ...metadata } = await response.json();
    assert.deepEqual(scopes.slice(0, 4), ["mcp", "db:read", "docs:ask", "tool:query_database"]);
    assert.deepEqual(metadata, {
      issuer,
      authorization_endpoint: `${issuer}/oauth/authorize`,
      token_endpoint: `${issuer}/oauth/token`,
      registration_endpoint: `${issuer}/oauth/register`,
      device_authorization_endpoint: `${issuer}/oauth/device`,
      revocation_endpoint: `${issuer}/oauth/revoke`,
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: [
        "authorization_code",
        "refresh_token",
        "urn:ietf:params:oauth:grant-type:device_code",
      ],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
      revocation_endpoint_auth_methods_supported: ["none"],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    });
  });

  const client = await createOauthClient(issuer);

  await t.step("the pages name client, redirect and account, and let nothing else in", async () => {
    const browser = createFormBrowser(issuer);
    const login = await browser.open(client.authorizeUrl());
    assert.equal(login.status, 200, login.html);
    assert.match(login.html, /A client that calls itself “<strong>Test<\/strong>” asks to be let in/);
    const policy = login.headers.get("content-security-policy") ?? "";
    assert.match(policy, /^default-src 'none'; img-src 'self'; style-src 'sha256-/);
    assert.match(
      policy,
      /form-action 'self' http:\/\/127\.0\.0\.1:45678; frame-ancestors 'none'; base-uri 'none'$/,
    );
    assert.equal(login.headers.get("x-frame-options"), "DENY");
    assert.match(login.headers.get("cache-control") ?? "", /^no-store\b/);
    const wrong = await browser.submit(login, { username: "alice", password: "wrong", action: "login" });
    assert.match(wrong.html, /User name or password is wrong/);
    const consent = await browser.submit(wrong, { username: "alice", password, action: "login" });
    assert.match(consent.html, /account <strong>alice<\/strong>/);
    assert.match(consent.html, /<code>mcp<\/code>/);
    assert.match(consent.html, /a program on this machine \(127\.0\.0\.1\)/);
    assert.match(consent.html, /Nobody has checked its name/);
    const end = await browser.submit(consent, { action: "allow" });
    const params = new URL(end.url).searchParams;
    assert.equal(params.get("state"), "a state");
    assert.equal(params.get("iss"), issuer);
    assert.match(params.get("code") ?? "", /^pst_[\w-]{43}$/);
  });

  await t.step("the token is good for calls, and the refresh token for one refresh", async () => {
    const { accessToken, refreshToken, body } = await tokensOf(oauth, client);
    assert.equal(body["token_type"], "Bearer");
    assert.equal(body["expires_in"], 3600);
    assert.equal(body["scope"], "mcp");
    assert.equal(await pingStatus(oauth, accessToken), 200);
    const next = await client.refresh(refreshToken);
    assert.equal(next.status, 200, JSON.stringify(next.body));
    assert.notEqual(next.body["refresh_token"], refreshToken);
    assert.equal(await pingStatus(oauth, next.body["access_token"]), 200);
    const reused = await client.refresh(refreshToken);
    assert.deepEqual([reused.status, reused.body["error"]], [400, "invalid_grant"]);
    for (const token of [accessToken, next.body["access_token"]]) {
      assert.equal(await pingStatus(oauth, token), 401);
    }
    assert.equal((await client.refresh(String(next.body["refresh_token"]))).body["error"], "invalid_grant");
    await waitUntil(
      "the reuse is in the audit trail, with the account",
      async () => /"user":"alice",[^\n]*"operation":"reuse"/.test(await auditOf(oauth)),
    );
  });

  await t.step(
    "of two refreshes at once one is refused, and the grant ends, which is told once",
    async () => {
      const reused = async () => (await auditOf(oauth)).match(/"operation":"reuse"/g)?.length ?? 0;
      const before = await reused();
      const { refreshToken } = await tokensOf(oauth, client);
      const answers = await Promise.all([client.refresh(refreshToken), client.refresh(refreshToken)]);
      // the grant may end before the one that came first has its answer
      assert.ok(answers.some(({ status }) => status === 400));
      for (const { status, body } of answers) {
        if (status === 400) assert.equal(body["error"], "invalid_grant");
        else {await waitUntil(
            "the token is refused",
            async () => await pingStatus(oauth, body["access_token"]) === 401,
          );}
      }
      await waitUntil("the audit trail has it", async () => await reused() > before);
      assert.equal(await reused(), before + 1);
    },
  );

  await t.step("a code is good once; a second use ends what came of the first", async () => {
    const reused = async () => (await auditOf(oauth)).match(/.*"operation":"reuse".*/g) ?? [];
    const before = (await reused()).length;
    const code = (await authorize(oauth, client)).get("code") ?? "";
    const first = await client.exchange(code);
    assert.equal(first.status, 200);
    assert.equal((await client.exchange(code)).body["error"], "invalid_grant");
    assert.equal(await pingStatus(oauth, first.body["access_token"]), 401);
    await waitUntil("the audit trail has it", async () => (await reused()).length > before);
    for (const line of await reused()) assert.match(line, /"principal":"session:[^\n]*"user":"alice"/);
    const told = /was used twice.* client=(\S+) user=alice grant=\S+ address=127\.0\.0\.1\n/g;
    assert.equal([...oauth.server().stderr().matchAll(told)].length, (await reused()).length);
  });

  await t.step("revocation by the client ends the grant", async () => {
    const { accessToken, refreshToken } = await tokensOf(oauth, client);
    assert.equal((await client.revoke(refreshToken)).status, 200);
    assert.equal(await pingStatus(oauth, accessToken), 401);
  });

  await t.step("logout ends the grant of the token that calls it", async () => {
    const { accessToken, refreshToken } = await tokensOf(oauth, client);
    const { call } = createToolClient({ url: issuer, token: accessToken });
    assert.equal((await call("logout", {})).isError, false);
    assert.equal(await pingStatus(oauth, accessToken), 401);
    assert.equal((await client.refresh(refreshToken)).body["error"], "invalid_grant");
  });

  await t.step("a restart keeps clients, grants and tokens", async () => {
    const { accessToken, refreshToken } = await tokensOf(oauth, client);
    await oauth.restart();
    assert.equal(await pingStatus(oauth, accessToken), 200);
    assert.equal((await client.refresh(refreshToken)).status, 200);
  });

  await t.step("another password, and an account that is disabled, end grants", async () => {
    const alice = await tokensOf(oauth, client);
    const bob = await tokensOf(oauth, client, "bob");
    const browser = createFormBrowser(issuer);
    const consent = await browser.submit(await browser.open(client.authorizeUrl()), {
      username: "alice",
      password,
      action: "login",
    });
    await administer(
      oauth.folder,
      "-update-user",
      "-username",
      "alice",
      "-password",
      "another password of hers",
    );
    await administer(oauth.folder, "-disable-user", "-username", "bob");
    await waitUntil("the token is refused", async () => await pingStatus(oauth, alice.accessToken) === 401);
    await waitUntil("the token is refused", async () => await pingStatus(oauth, bob.accessToken) === 401);
    assert.equal((await client.refresh(alice.refreshToken)).body["error"], "invalid_grant");
    const { url } = await browser.submit(consent, { action: "allow" });
    assert.equal(new URL(url).searchParams.get("error"), "access_denied");
  });

  await t.step("an administrator lists clients, and revokes one while the server runs", async () => {
    const { accessToken } = await tokensOf(oauth, client, "carol");
    const [listed] = JSON.parse(await administer(oauth.folder, "-list-clients", "-json"));
    assert.equal(listed.client_id, client.clientId);
    assert.equal(listed.client_name, "Test");
    assert.equal(listed.grants.at(-1).username, "carol");
    await administer(oauth.folder, "-revoke-client", client.clientId);
    assert.equal(await pingStatus(oauth, accessToken), 401);
    assert.equal(await administer(oauth.folder, "-list-clients"), "no clients\n");
    const gone = await createFormBrowser(issuer).open(client.authorizeUrl());
    assert.equal(gone.status, 400);
    assert.match(gone.html, /does not know the application/);
  });

  await t.step("nothing that lets somebody in is in a file, the log or the audit trail", async () => {
    const other = await createOauthClient(issuer);
    const { accessToken, refreshToken } = await tokensOf(oauth, other, "carol");
    await oauth.restart();
    const files = [await auditOf(oauth), oauth.server().stderr()];
    for await (const { name } of Deno.readDir(`${oauth.folder.path}/data`)) {
      files.push(new TextDecoder("latin1").decode(await Deno.readFile(`${oauth.folder.path}/data/${name}`)));
      const { mode } = await Deno.stat(`${oauth.folder.path}/data/${name}`);
      assert.equal((mode ?? 0) & 0o077, 0, name);
    }
    for (const text of files) {
      for (const secret of [accessToken, refreshToken]) assert.ok(!text.includes(secret));
    }
  });
});

Deno.test("with log.format: json every line of standard error is JSON through a login", async () => {
  await using oauth = await startOauthServer({
    config: "databases: []\nlog: { format: json, level: debug, access: true }",
  });
  await tokensOf(oauth, await createOauthClient(oauth.issuer));
  assert.equal(await oauth.server().stop(), 0);
  // the executable alone has the runtime's warnings of deprecations: it has no packages, whose own are left out
  const lines = oauth.server().stderr().trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.ok(lines.some(({ route }) => route === "/oauth/token"));
});

Deno.test("failures on the login page and of authenticate_user count together, and lock the account for both", async () => {
  await using oauth = await startOauthServer({
    auth: { max_failed_attempts_before_lockout: 3, rate_limit_max_attempts: 6 },
  });
  const server = { ...oauth.server(), url: oauth.issuer };
  const client = await createOauthClient(oauth.issuer);
  const browser = createFormBrowser(oauth.issuer);
  const page = await browser.open(client.authorizeUrl());
  const submit = (username: string, given: string) =>
    browser.submit(page, { username, password: given, action: "login" });
  await submit("alice", "wrong password");
  await logIn(server, "alice", "wrong password");
  await submit("alice", "wrong password");
  assert.match(
    (await submit("alice", password)).html,
    /User name or password is wrong, or the account is locked/,
  );
  assert.equal((await logIn(server, "alice", password)).session, undefined);
  const users = JSON.parse(await administer(oauth.folder, "-list-users", "-json"));
  const alice = users.find(({ username }: { username: string }) => username === "alice");
  assert.equal(alice.disabled_reason, "lockout");
  await submit("bob", "wrong password");
  const limited = await submit("carol", password);
  assert.deepEqual([limited.status, Number(limited.headers.get("retry-after")) > 0], [429, true]);
  assert.equal((await logIn(server, "carol", password)).status, 429);
});
