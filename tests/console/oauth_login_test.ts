import assert from "node:assert/strict";
import { createConsoleOauth } from "../../src/console/console_oauth.ts";
import { password, serve, writeUsers } from "../support/accounts.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import {
  createFormBrowser,
  createOauthClient,
  oauthClientOf,
  redirectUri,
  startOauthServer,
} from "../support/oauth_server.ts";
import { rawExchange } from "../support/network/raw_exchange.ts";
import { type ConsoleClient, createConsoleClient, fromPage } from "./console_client.ts";

/** Goes from an authorization's address to the one that its user is sent back to. */
async function approve(issuer: string, address: string, action: "allow" | "deny" = "allow"): Promise<string> {
  const { origin, pathname, search } = new URL(address);
  // what leads back is not followed: the console's own client opens it
  const browser = createFormBrowser(origin, (url) => !new URL(url).pathname.endsWith("/console/callback"));
  const login = await browser.open(origin + pathname + search);
  assert.equal(login.status, 200, login.html);
  const consent = await browser.submit(login, { username: "alice", password, action: "login" });
  assert.match(consent.html, /Postern&#39;s console/);
  assert.equal(origin, issuer);
  return (await browser.submit(consent, { action })).url;
}

async function begin({ send }: ConsoleClient, from = "/ask"): Promise<string> {
  const { status, headers } = await send(`login?${new URLSearchParams({ from })}`);
  assert.equal(status, 302);
  return headers.get("location") ?? "";
}

const pathOf = (url: string) => url.slice(url.indexOf("/console/") + "/console/".length);

/** Where the console leads whoever it does not log in. */
async function leadsTo({ send }: ConsoleClient, url: string): Promise<string> {
  const { status, headers } = await send(pathOf(url));
  assert.equal(status, 302, url);
  return headers.get("location") ?? "";
}

async function logIn(issuer: string, client: ConsoleClient): Promise<void> {
  const { status } = await client.send(pathOf(await approve(issuer, await begin(client))));
  assert.equal(status, 302);
}

Deno.test("the console logs in at the server's own authorization server", async (t) => {
  await using oauth = await startOauthServer({
    config: "databases: []\nconsole: { administrators: [alice] }",
  });
  const { issuer } = oauth;

  await t.step("with a code and PKCE, back to the route that asked", async () => {
    const client = createConsoleClient(issuer);
    assert.equal((await client.send("session")).json().login.oauth, true);
    assert.deepEqual((await client.send("session")).json().addresses, { mcp: `${issuer}/mcp/v1` });
    const begun = await client.send("login?from=%2Fuse%2Fmain:query");
    const [line = ""] = begun.headers.getSetCookie();
    assert.match(line, /^postern_console_login=[^;]+; Max-Age=600; Path=\/console; HttpOnly; SameSite=Lax$/);
    const asked = new URL(begun.headers.get("location") ?? "");
    assert.deepEqual([asked.origin + asked.pathname, asked.searchParams.get("code_challenge_method")], [
      `${issuer}/oauth/authorize`,
      "S256",
    ]);
    const back = await approve(issuer, asked.href);
    assert.ok(back.startsWith(`${issuer}/console/callback?`), back);
    const ended = await client.send(pathOf(back));
    assert.deepEqual([ended.status, ended.headers.get("location")], [302, "./#/use/main:query"]);
    const lines = ended.headers.getSetCookie();
    assert.equal(lines.length, 3);
    for (const each of lines.slice(0, 2)) assert.match(each, /; Path=\/console; HttpOnly; SameSite=Strict$/);
    assert.deepEqual([...client.cookies.keys()].toSorted(), ["postern_console", "postern_console_refresh"]);
    assert.deepEqual((await client.send("session")).json().caller, {
      kind: "session",
      name: "alice",
      isAdministrator: true,
      hasSession: true,
    });
    // the same code does not do twice, nor without its login
    assert.equal(await leadsTo(client, back), "./?login=expired");
  });

  await t.step("renewed, two tabs at once get the same; logged out, the grant ends", async () => {
    const client = createConsoleClient(issuer);
    await logIn(issuer, client);
    const before = new Map(client.cookies);
    const cookie = [...before].map(([name, value]) => `${name}=${value}`).join("; ");
    const renewed = await Promise.all(
      [1, 2].map(() => client.send("session/refresh", { method: "POST", headers: { cookie } })),
    );
    assert.deepEqual(renewed.map(({ status }) => status), [204, 204]);
    const [one, other] = renewed.map(({ headers }) => headers.getSetCookie());
    assert.deepEqual(one, other);
    assert.equal(one?.length, 2);
    for (const line of one ?? []) assert.match(line, /; Path=\/console; HttpOnly; SameSite=Strict$/);
    assert.notEqual(client.cookies.get("postern_console"), before.get("postern_console"));
    assert.equal((await client.send("session")).json().caller.name, "alice");

    const after = [...client.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    assert.equal((await client.send("session", { method: "DELETE" })).status, 204);
    assert.equal((await client.send("session", { headers: { cookie: after } })).json().caller, undefined);
    const late = await client.send("session/refresh", { method: "POST", headers: { cookie: after } });
    assert.equal(late.status, 401);
  });

  await t.step("logged out with an access token that has ended, the refresh token ends too", async () => {
    const client = createConsoleClient(issuer);
    await logIn(issuer, client);
    const cookie = `postern_console_refresh=${client.cookies.get("postern_console_refresh")}`;
    assert.equal((await client.send("session", { method: "DELETE", headers: { cookie } })).status, 204);
    const late = await client.send("session/refresh", { method: "POST", headers: { cookie } });
    assert.equal(late.status, 401);
  });

  await t.step("a login that another browser began, or nobody, is none (login CSRF)", async () => {
    const own = createConsoleClient(issuer);
    const back = await approve(issuer, await begin(own));
    const other = createConsoleClient(issuer);
    for (const _ of [0, 1]) {
      const { status, headers } = await other.send(pathOf(back));
      assert.deepEqual([status, headers.get("location")], [302, "./?login=expired"]);
      assert.deepEqual(headers.getSetCookie(), []);
      // with a login of its own, whose state is another one
      await begin(other);
    }
    const state = new URL(back).searchParams.get("state") ?? "";
    for (const wrong of [back.replace(state, ""), back.replace(/&?state=[^&]*/, "")]) {
      assert.equal(await leadsTo(own, wrong), "./?login=expired", wrong);
    }
    assert.equal(own.cookies.has("postern_console"), false);
  });

  await t.step("a code for another client, or of no login, gets no tokens", async () => {
    const attacker = await createOauthClient(issuer);
    const browser = createFormBrowser(issuer);
    const login = await browser.open(attacker.authorizeUrl());
    const consent = await browser.submit(login, { username: "bob", password, action: "login" });
    const code = new URL((await browser.submit(consent, { action: "allow" })).url).searchParams.get("code");
    const client = createConsoleClient(issuer);
    for (const wrong of [code ?? "", "pst_none"]) {
      const state = new URL(await begin(client)).searchParams.get("state");
      const query = new URLSearchParams({ code: wrong, state: state ?? "" });
      assert.equal(await leadsTo(client, `/console/callback?${query}`), "./?login=failed#/ask");
    }
    assert.equal(client.cookies.has("postern_console"), false);
  });

  await t.step("nobody else may be called back as the console, nor the console elsewhere", async () => {
    for (
      const changes of [{}, { redirect_uri: `${issuer}/console/callback/` }, { redirect_uri: redirectUri }]
    ) {
      const page = await createFormBrowser(issuer).open(
        oauthClientOf(issuer, "postern-console").authorizeUrl(changes),
      );
      assert.equal(page.status, 400, JSON.stringify(changes));
    }
  });

  const routeIn = ({ cookies }: ConsoleClient) => cookies.get("postern_console_login")?.split(".").at(-1);
  await t.step("it leads back to no other address (open redirect)", async () => {
    const client = createConsoleClient(issuer);
    for (
      const from of [
        "https://attacker.example/",
        "//attacker.example?",
        "/a b",
        "/\\attacker",
        "ask",
        "/x#y",
        "/;",
      ]
    ) {
      const { status } = await client.send(`login?${new URLSearchParams({ from })}`);
      assert.deepEqual([status, routeIn(client)], [302, "/"], from);
    }
    // a statement in a route of the page's own
    const statement = `/ask/data/main/${encodeURIComponent("SELECT count(*)::text || '~!' FROM a")}`;
    await begin(client, statement);
    assert.equal(routeIn(client), statement);
    await begin(client, `/ask/data/main/${"a".repeat(4_000)}`);
    assert.equal(routeIn(client), "/");
    // nor where a cookie says so
    const back = await approve(issuer, await begin(client));
    const value = client.cookies.get("postern_console_login") ?? "";
    client.cookies.set("postern_console_login", value.replace("/ask", "/ask https://attacker.example/"));
    assert.equal(await leadsTo(client, back), "./?login=expired");
  });

  await t.step("who does not allow it is led back without a session, and so is an error", async () => {
    const client = createConsoleClient(issuer);
    const back = await approve(issuer, await begin(client), "deny");
    for (
      const [url, location] of [
        [back, "./?login=denied#/ask"],
        [back.replace("access_denied", "server_error"), "./?login=failed#/ask"],
      ] as const
    ) {
      const again = createConsoleClient(issuer);
      for (const [name, value] of client.cookies) again.cookies.set(name, value);
      assert.equal(await leadsTo(again, url), location);
      assert.equal(again.cookies.size, 0);
    }
  });

  await t.step("by another name of the host, the login begins where it leads back to", async () => {
    const host = `localhost:${new URL(issuer).port}`;
    const there = `${issuer}/console/login?from=%2Fask&moved=`;
    const moved = await rawExchange(issuer, { path: "/console/login?from=/ask", headers: { host } });
    assert.deepEqual([moved.status, moved.headers.get("location")?.trim()], [302, there]);
    assert.equal(moved.headers.has("set-cookie"), false);
    // a proxy that always names another host must not lead in a circle
    const { pathname, search } = new URL(there);
    const arrived = await rawExchange(issuer, { path: pathname + search, headers: { host } });
    assert.match(arrived.headers.get("location") ?? "", /\/oauth\/authorize\?/);
  });
});

/** The console's logins at an authorization server whose token endpoint answers so. */
function oauthWith(reply: () => Response) {
  const issuer = "https://mcp.example.com";
  return createConsoleOauth({
    issuer,
    authorizationUrl: issuer,
    tokenUrl: issuer,
    revocationUrl: issuer,
    refreshLifetimeMs: 1_000,
    scopes: [],
    routeOf: () => undefined,
    [Symbol.dispose]: () => {},
    handle: () => Promise.resolve(reply()),
  });
}

const from = { address: "127.0.0.1", requestId: "1" };

Deno.test("a refresh token that is good for nothing is not kept", async () => {
  let asked = 0;
  const { refresh } = oauthWith(() => {
    asked++;
    return Response.json({ error: "invalid_grant" }, { status: 400 });
  });
  const headers = { cookie: "postern_console_refresh=pst_none" };
  const request = new Request("https://mcp.example.com", { headers });
  for (const count of [1, 2]) {
    assert.equal(await refresh({ ...from, request }), undefined);
    assert.equal(asked, count);
  }
});

Deno.test("a login that comes back while nobody can log in leads to the console too", async () => {
  const busy = () =>
    Response.json({ error: "temporarily_unavailable" }, { status: 503, headers: { "retry-after": "5" } });
  const [state, verifier] = ["s".repeat(43), "v".repeat(43)];
  const headers = { cookie: `postern_console_login=${state}.${verifier}./ask` };
  const request = new Request(`https://mcp.example.com/console/callback?code=c&state=${state}`, { headers });
  const { status, headers: told } = await oauthWith(busy).finish({ ...from, request });
  assert.deepEqual([status, told.get("location")], [302, "./?login=failed#/ask"]);
});

Deno.test("without the console its client is unknown", async () => {
  await using oauth = await startOauthServer({ config: "databases: []\nconsole: { enabled: false }" });
  const page = await createFormBrowser(oauth.issuer).open(
    oauthClientOf(oauth.issuer, "postern-console").authorizeUrl({
      redirect_uri: `${oauth.issuer}/console/callback`,
    }),
  );
  assert.equal(page.status, 400);
  assert.match(page.html, /does not know the application/);
});

Deno.test("behind a proxy that takes a prefix off, cookies and addresses are the prefix's", async () => {
  const issuer = "https://mcp.example.com/postern";
  await using folder = await createConfigFolder(
    `{ data_dir: data, http: { auth: { oauth: { issuer: "${issuer}" } } } }`,
  );
  await writeUsers(folder, ["alice"]);
  await using server = await serve(folder);
  const { url } = server;
  const headers = { host: "mcp.example.com" };
  const begun = await rawExchange(url, { path: "/console/login?from=/ask", headers });
  const asked = new URL(begun.headers.get("location")?.trim() ?? "");
  assert.equal(asked.origin + asked.pathname, `${issuer}/oauth/authorize`);
  assert.equal(asked.searchParams.get("redirect_uri"), `${issuer}/console/callback`);
  assert.match(
    begun.headers.get("set-cookie") ?? "",
    /; Path=\/postern\/console; HttpOnly; SameSite=Lax; Secure/,
  );
  // a proxy that names this machine as the host
  const unnamed = await rawExchange(url, { path: "/console/login?from=/ask&moved=" });
  assert.match(unnamed.headers.get("set-cookie") ?? "", /; SameSite=Lax; Secure/);
  const loggedIn = await rawExchange(url, {
    method: "POST",
    path: "/console/session",
    headers: { ...fromPage, origin: "https://mcp.example.com" },
    body: JSON.stringify({ username: "alice", password }),
  });
  assert.match(loggedIn.headers.get("set-cookie") ?? "", /^ ?postern_console=[^;]+;[^,]*; Secure,/);
});
