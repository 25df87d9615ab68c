import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { password } from "../../support/accounts.ts";
import { databaseEntry } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { loginClient, type Person } from "../../support/identity_provider.ts";
import { codeOf, dora, type LoginServer, startLoginServer } from "../../support/issuer_login.ts";
import { createOauthClient } from "../../support/oauth_server.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";

const withClaims = (claims: Person["claims"]): Person => ({ ...dora, claims: { ...dora.claims, ...claims } });

/** The status that a call with a token gets. */
async function statusOf({ issuer }: LoginServer, token: string): Promise<number> {
  const response = await createToolClient({ url: issuer, token }).post(
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  );
  await response.body?.cancel();
  return response.status;
}

async function databasesOf({ issuer }: LoginServer, token: string): Promise<number> {
  const { data } = await createToolClient({ url: issuer, token }).call("list_databases", {});
  return (data["databases"] as unknown[] | undefined)?.length ?? 0;
}

testWithPostgres("whoever logs in at the issuer is known by its claims, in databases too", async () => {
  await using database = await createTestDatabase();
  const settings = `available_to_users: ["group:analysts"], session_settings: ` +
    `{ app.tenant: "{claim:tenant}", app.username: "{username}", app.claims: "{claims}" }`;
  await using server = await startLoginServer({
    config: `databases: [${databaseEntry("main", database.name, settings)}]`,
  });
  const { accessToken } = await server.logIn();
  const client = createToolClient({ url: server.issuer, token: accessToken });
  const ask = (name: string) => client.call("query_database", { query: `SELECT current_setting('${name}')` });
  const subject = `${server.provider.issuer}#${dora.sub}`;
  assert.deepEqual((await ask("app.tenant")).data["rows"], [["north"]]);
  assert.deepEqual((await ask("app.username")).data["rows"], [[subject]]);
  // the issuer's claims, and none of its tokens
  const claims = (await ask("app.claims")).text;
  assert.match(claims, /north/);
  assert.ok(server.provider.given.length > 0);
  for (const token of server.provider.given) assert.ok(!claims.includes(token));
  const audit = await Deno.readTextFile(join(server.oauth.folder.path, "audit.log"));
  assert.match(audit, new RegExp(`"outcome":"ok","user":"${subject}"[^\\n]*"operation":"login"`));
  assert.match(audit, new RegExp(`"principal":"issuer:${subject}"`));
  // the one tool that ends what its token is of
  assert.equal((await client.call("logout", {})).isError, false);
  assert.equal(await statusOf(server, accessToken), 401);
});

Deno.test("scopes bind whoever logs in at the issuer too, also once claims are renewed", async () => {
  await using server = await startLoginServer({ login: "groups_claim: groups, claims_lifetime: 1s" });
  const { accessToken, refreshToken, client } = await server.logIn("tool:list_databases");
  const lists = createToolClient({ url: server.issuer, token: accessToken });
  const query = () =>
    lists.post(JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "query_database", arguments: { query: "SELECT 1" } },
    }));
  const asked = server.provider.given.length;
  for (const step of ["before", "after"]) {
    assert.equal((await lists.call("list_databases", {})).isError, false, step);
    const response = await query();
    assert.equal(response.status, 403, step);
    assert.match(response.headers.get("www-authenticate") ?? "", /scope="tool:list_databases db:read"/);
    await response.body?.cancel();
    if (step === "before") {
      await waitUntil("the claims are renewed", async () => {
        await lists.call("list_databases", {});
        return server.provider.given.length > asked;
      });
    }
  }
  const { body } = await client.refresh(refreshToken);
  assert.equal(body["scope"], "tool:list_databases");
});

testWithPostgres("claims are renewed, and whom the issuer lets in no more loses access", async () => {
  await using database = await createTestDatabase();
  await using server = await startLoginServer({
    login: "groups_claim: groups, claims_lifetime: 1s",
    config: `databases: [${databaseEntry("main", database.name, 'available_to_users: ["group:analysts"]')}]`,
  });
  const { client, accessToken, refreshToken } = await server.logIn();
  assert.equal(await databasesOf(server, accessToken), 1);
  server.provider.meet(withClaims({ groups: [] }));
  await waitUntil("the group has gone", async () => await databasesOf(server, accessToken) === 0);
  server.provider.remove(dora.sub);
  await waitUntil("the person has gone", async () => await statusOf(server, accessToken) === 401);
  const { status, body } = await client.refresh(refreshToken);
  assert.deepEqual([status, body["error"]], [400, "invalid_grant"]);
  const audit = await Deno.readTextFile(join(server.oauth.folder.path, "audit.log"));
  assert.match(
    audit,
    /"reason":"invalid_grant"[^\n]*"operation":"expire"|"operation":"expire"[^\n]*"reason":"invalid_grant"/,
  );
});

testWithPostgres("what an issuer takes away is gone, too, where its refresh has no ID token", async () => {
  await using database = await createTestDatabase();
  await using server = await startLoginServer({
    login: "groups_claim: groups, claims_lifetime: 1s",
    config: `databases: [${databaseEntry("main", database.name, 'available_to_users: ["group:analysts"]')}]`,
  });
  const { accessToken } = await server.logIn();
  server.provider.answers.set("/token", (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ access_token: "x", token_type: "bearer" }));
  });
  const groups = ["analysts"];
  server.provider.answers.set("/me", (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ sub: dora.sub, groups }));
  });
  await waitUntil("it is renewed", async () => {
    assert.equal(await databasesOf(server, accessToken), 1);
    return server.provider.count("/me") > 1;
  });
  groups.pop();
  await waitUntil("the group has gone", async () => await databasesOf(server, accessToken) === 0);
});

Deno.test("a client's refresh asks the issuer too, where the claims are old", async () => {
  await using server = await startLoginServer({ login: "claims_lifetime: 1s" });
  const { client, refreshToken } = await server.logIn();
  server.provider.remove(dora.sub);
  let token = refreshToken;
  await waitUntil("it is refused", async () => {
    const { status, body } = await client.refresh(token);
    token = String(body["refresh_token"]);
    return status === 400;
  });
});

Deno.test("while the issuer is away, old claims are not relied on, and come back with it", async () => {
  await using server = await startLoginServer({ login: "claims_lifetime: 2s" });
  const { client, accessToken, refreshToken } = await server.logIn();
  server.provider.answers.set("/token", (_request, response) => void response.writeHead(500).end());
  await waitUntil("it cannot be told", async () => await statusOf(server, accessToken) === 503);
  // the refresh token is not used up by that
  const refused = await client.refresh(refreshToken);
  assert.deepEqual([refused.status, refused.body["error"]], [503, "temporarily_unavailable"]);
  server.provider.answers.clear();
  await waitUntil("it is told again", async () => await statusOf(server, accessToken) === 200);
  assert.equal((await client.refresh(refreshToken)).status, 200);
});

Deno.test("a login outlives a restart, and nobody finds the issuer's tokens or the secret afterwards", async () => {
  await using server = await startLoginServer({ login: "claims_lifetime: 1s" });
  const { accessToken } = await server.logIn();
  await server.oauth.restart();
  const renewals = server.provider.count("/token");
  await waitUntil("it is renewed", async () => {
    assert.equal(await statusOf(server, accessToken), 200);
    return server.provider.count("/token") > renewals;
  });
  await server.oauth.restart();
  const { path } = server.oauth.folder;
  const files = [join(path, "audit.log"), join(path, "data/state.sqlite")];
  const texts = await Promise.all(
    files.map(async (file) => new TextDecoder("latin1").decode(await Deno.readFile(file))),
  );
  for (const secret of [loginClient.secret, ...server.provider.given]) {
    for (const text of [...texts, server.oauth.server().stderr()]) assert.ok(!text.includes(secret));
  }
  assert.ok(texts[1]?.includes("oauth Login"));
});

Deno.test("accounts and the issuer may both be there: the page says which button is which", async () => {
  await using server = await startLoginServer({ login: "name: Contoso", accounts: ["alice"] });
  const client = await createOauthClient(server.issuer);
  const browser = server.browser();
  const page = await browser.open(client.authorizeUrl());
  assert.match(page.html, />Sign in with Contoso<\/a>/);
  assert.match(page.html, /or with an account of this server/);
  const consent = await browser.submit(page, { username: "alice", password, action: "login" });
  assert.match(consent.html, /your account <strong>alice<\/strong>\. It may/);
  codeOf(await browser.submit(consent, { action: "allow" }));
  const other = server.browser();
  const { html, url } = await other.open(client.authorizeUrl());
  const link = /<a class="button" href="([^"]+)">/.exec(html)?.[1] ?? "";
  const asked = await other.open(new URL(link, url).href);
  assert.match(asked.html, /your account <strong>dora<\/strong> of Contoso/);
  assert.match(asked.html, /Contoso says that you have logged out/);
});

Deno.test("a private key stands in for a secret", async () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = String(privateKey.export({ type: "pkcs8", format: "pem" }));
  const { kty, crv, x, y } = createPrivateKey(pem).export({ format: "jwk" });
  await using server = await startLoginServer({
    secret: false,
    login: "private_key_file: key.pem",
    files: { "key.pem": pem },
    jwks: [{ kty: kty ?? "", crv: crv ?? "", x: x ?? "", y: y ?? "" }],
  });
  assert.equal(await statusOf(server, (await server.logIn()).accessToken), 200);
});

Deno.test("only people of an allowed domain get in, by an address that is verified", async () => {
  await using server = await startLoginServer({ login: "allowed_domains: [example.com]" });
  await server.logIn();
  const client = await createOauthClient(server.issuer);
  const others = [
    { email: "dora@other.example" },
    { email_verified: false },
    { email: ["eve@evil.example", "x@example.com"] },
    { email: "eve@evil.example@example.com" },
    // what Google alone says of its organisations
    { email: "dora@other.example", hd: "example.com" },
  ];
  for (const [at, claims] of others.entries()) {
    server.provider.meet({ ...withClaims(claims), sub: `other-${at}` });
    const page = await server.browser().open(client.authorizeUrl());
    assert.equal(page.status, 403);
    assert.match(page.html, /did not let you in: not of an allowed domain/);
  }
});

Deno.test("claims may be asked for at UserInfo too", async () => {
  await using server = await startLoginServer({ login: "claims_from: userinfo, username_claim: nickname" });
  server.provider.answers.set("/me", (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ sub: dora.sub, nickname: "dodo" }));
  });
  const client = await createOauthClient(server.issuer);
  assert.match((await server.browser().open(client.authorizeUrl())).html, /<strong>dodo<\/strong>/);
});

Deno.test("a user who does not log in at the issuer is sent back to the client", async () => {
  await using server = await startLoginServer();
  server.provider.meet(undefined);
  const client = await createOauthClient(server.issuer);
  const { url } = await server.browser().open(client.authorizeUrl());
  assert.equal(new URL(url).searchParams.get("error"), "access_denied");
});

Deno.test("an issuer that fails is told to its user and in the log, and holds up nobody else", async () => {
  await using server = await startLoginServer({ accounts: ["alice"] });
  const { provider } = server;
  const client = await createOauthClient(server.issuer);
  const logIn = async () => {
    const browser = server.browser();
    const { html, url } = await browser.open(client.authorizeUrl());
    return await browser.open(new URL(/<a class="button" href="([^"]+)">/.exec(html)?.[1] ?? "", url).href);
  };
  const discovery = "/.well-known/openid-configuration";
  const json = (value: unknown) => (_request: unknown, response: { writeHead: typeof Function.prototype }) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
  const faults: [answer: Parameters<typeof provider.answers.set>[1], told: RegExp][] = [
    [(_request, response) => void response.writeHead(503).end(), /unexpected HTTP response status code 503/],
    [(_request, response) => void response.destroy(), /the connection failed/],
    [json({ issuer: "https://another.example" }), /does not match the expected issuer/],
    [
      (_request, response) =>
        void response.writeHead(200, { "content-type": "application/json" }).end("x".repeat(300_000)),
      /longer than 262144 bytes/,
    ],
    [json({ issuer: provider.issuer }), /authorization_endpoint/],
  ];
  // more often than an address may fail to log in
  for (const [answer, told] of [...faults, ...faults, ...faults]) {
    provider.answers.set(discovery, answer);
    const page = await logIn();
    assert.equal(page.status, 502, page.html);
    assert.match(page.html, /cannot be asked, or its answer could not be used/);
    assert.match(page.html, />Try again<\/a>/);
    assert.match(server.oauth.server().stderr(), told);
  }
  const browser = server.browser();
  const form = await browser.open(client.authorizeUrl());
  const consent = await browser.submit(form, { username: "alice", password, action: "login" });
  assert.match(consent.html, /Allow access\?/);
  provider.answers.clear();
  const before = provider.count(discovery);
  assert.match((await logIn()).html, /Allow access\?/);
  // what it said of itself is kept
  assert.match((await logIn()).html, /Allow access\?/);
  assert.equal(provider.count(discovery), before + 1);
});
