import assert from "node:assert/strict";
import { newKey } from "../../support/identity_provider.ts";
import { codeOf, dora, type LoginServer, startLoginServer } from "../../support/issuer_login.ts";
import { createOauthClient, type OpenPage, postForm, redirectUri } from "../../support/oauth_server.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";

const callback = "/oauth/login/callback";
const noCallback = (url: string) => new URL(url).pathname !== callback;

/** Begins a login in a browser that stops before it brings the issuer's answer. */
async function stopBefore(server: LoginServer, clientUrl: string) {
  let isStopped = true;
  const browser = server.browser((url) => !isStopped || noCallback(url));
  const { url } = await browser.open(clientUrl);
  assert.equal(new URL(url).pathname, callback, url);
  isStopped = false;
  return { browser, answer: new URL(url) };
}

const changed = (url: URL, changes: Record<string, string | null>): string => {
  const copy = new URL(url);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) copy.searchParams.delete(name);
    else copy.searchParams.set(name, value);
  }
  return copy.href;
};

const isConsent = ({ html }: OpenPage) => html.includes("Allow access?");

Deno.test("whoever comes from the issuer goes nowhere before they agree, and each client is asked about", async () => {
  await using server = await startLoginServer();
  const browser = server.browser();
  for (const name of ["First", "Second"]) {
    const client = await createOauthClient(server.issuer, { client_name: name });
    // the issuer asks nothing: only this page is between a link and a code
    const page = await browser.open(client.authorizeUrl());
    assert.ok(isConsent(page) && page.html.includes(name), page.html);
    // nobody else can agree in their place
    const path = new URL(page.url).pathname;
    const forged = await server.browser().submit({ ...page, url: `${server.issuer}${path}` }, {
      action: "allow",
    });
    assert.equal(forged.status, 400);
    const foreign = await browser.submit(page, { action: "allow" }, { origin: "https://attacker.example" });
    assert.equal(foreign.status, 403);
    if (name === "Second") {
      const { url } = await browser.submit(page, { action: "deny" });
      assert.equal(new URL(url).searchParams.get("error"), "access_denied");
      assert.equal(new URL(url).searchParams.get("code"), null);
    } else codeOf(await browser.submit(page, { action: "allow" }));
  }
});

Deno.test("an answer that is not the issuer's own (mix-up) asks nobody for tokens", async () => {
  await using server = await startLoginServer();
  const client = await createOauthClient(server.issuer);
  for (const iss of ["https://attacker.example", null]) {
    const { browser, answer } = await stopBefore(server, client.authorizeUrl());
    const page = await browser.open(changed(answer, { iss }));
    assert.equal(page.status, 502);
    assert.ok(!isConsent(page));
  }
  assert.equal(server.provider.count("/token"), 0);
});

Deno.test("a login that another browser began (login CSRF) is refused before its code is used", async () => {
  await using server = await startLoginServer();
  const client = await createOauthClient(server.issuer);
  const { answer, browser: attacker } = await stopBefore(server, client.authorizeUrl());
  const victim = await server.browser().open(answer.href);
  assert.deepEqual([victim.status, isConsent(victim)], [400, false]);
  // with an interaction of its own, whose state it is not
  const own = await stopBefore(server, client.authorizeUrl());
  const uid = (url: URL) => url.searchParams.get("state")?.split(".")[0] ?? "";
  const mixed = changed(answer, {
    state: `${uid(own.answer)}.${answer.searchParams.get("state")?.split(".")[1]}`,
  });
  assert.equal((await own.browser.open(mixed)).status, 400);
  // the interaction's cookie alone is not enough
  const cookie = attacker.cookies().filter(({ name }) => !name.startsWith("postern_issuer"))
    .map(({ name, value }) => `${name}=${value}`).join("; ");
  const path = `${server.issuer}/oauth/interaction/${uid(answer)}${answer.search}`;
  const response = await fetch(path, { headers: { cookie }, redirect: "manual" });
  assert.equal(response.status, 400);
  assert.match(await response.text(), /began in another browser/);
  assert.equal(server.provider.count("/token"), 0);
  assert.ok(isConsent(await attacker.open(answer.href)));
});

Deno.test("a session that somebody prepared is nobody's: each login has another", async () => {
  await using server = await startLoginServer();
  const client = await createOauthClient(server.issuer);
  const attacker = server.browser();
  assert.ok(isConsent(await attacker.open(client.authorizeUrl())));
  const cookie = attacker.cookies().map(({ name, value }) => `${name}=${value}`).join("; ");
  const begun = await fetch(client.authorizeUrl(), { headers: { cookie }, redirect: "manual" });
  const next = await fetch(new URL(begun.headers.get("location") ?? "", server.issuer), {
    headers: { cookie: begun.headers.getSetCookie().map((line) => line.split(";")[0]).join("; ") },
    redirect: "manual",
  });
  await Promise.all([begun.body?.cancel(), next.body?.cancel()]);
  assert.ok(next.headers.get("location")?.startsWith(server.provider.issuer), String(next.status));
  const victim = server.browser();
  const { browser, answer } = await stopBefore(server, client.authorizeUrl());
  const logins = () =>
    browser.cookies().filter(({ name }) => name === "postern_login").map(({ value }) => value);
  const before = logins();
  await browser.open(answer.href);
  assert.equal(logins().length, 1);
  assert.ok(!before.includes(logins()[0] ?? ""));
  assert.deepEqual(victim.cookies(), []);
});

Deno.test("the issuer's answer leads to a page of this server, whatever it says", async () => {
  await using server = await startLoginServer();
  for (
    const state of [
      "//attacker.example/x",
      "https://attacker.example",
      "../../x",
      `..%2f${"a".repeat(20)}.${"b".repeat(43)}`,
      "",
    ]
  ) {
    const query = new URLSearchParams({ code: "x", state, redirect_uri: "https://attacker.example" });
    const response = await fetch(`${server.issuer}${callback}?${query}`, { redirect: "manual" });
    assert.deepEqual([response.status, response.headers.get("location")], [400, null], state);
    await response.body?.cancel();
  }
});

Deno.test("a stolen code (injection) is good in no other browser", async () => {
  await using server = await startLoginServer();
  const client = await createOauthClient(server.issuer);
  const victim = await stopBefore(server, client.authorizeUrl());
  const attacker = await stopBefore(server, client.authorizeUrl());
  const code = victim.answer.searchParams.get("code") ?? "";
  const page = await attacker.browser.open(changed(attacker.answer, { code }));
  assert.deepEqual([page.status, isConsent(page)], [403, false]);
  assert.equal(server.provider.count("/token"), 1);
});

Deno.test("an ID token counts that is the issuer's, for this client and this login alone", async (t) => {
  await using server = await startLoginServer();
  const { provider } = server;
  const client = await createOauthClient(server.issuer);
  const other = await newKey("first");
  const now = () => Math.floor(Date.now() / 1_000);
  const cases: readonly (readonly [name: string, claims: Record<string, unknown>, key?: typeof other])[] = [
    ["another login (nonce)", { nonce: "of another login" }],
    ["no login (nonce)", { nonce: undefined }],
    ["another client", { aud: "another" }],
    ["another client (azp)", { azp: "another" }],
    ["another issuer", { iss: "https://attacker.example" }],
    ["past", { exp: now() - 600, iat: now() - 1_200 }],
    ["a key that is not the issuer's", {}, other],
  ];
  for (const [name, claims, key] of cases) {
    await t.step(name, async () => {
      let nonce = "";
      const { browser, answer } = await stopBefore(server, client.authorizeUrl());
      nonce = new URL(provider.asked.at(-1) ?? "", provider.issuer).searchParams.get("nonce") ?? "";
      assert.notEqual(nonce, "");
      const good = {
        iss: provider.issuer,
        aud: "postern",
        sub: dora.sub,
        exp: now() + 60,
        iat: now(),
        nonce,
      };
      const token = await provider.sign({ ...good, ...claims }, {}, key);
      provider.answers.set("/token", (_request, response) => {
        response.writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ access_token: "x", token_type: "bearer", id_token: token }));
      });
      const page = await browser.open(answer.href);
      assert.deepEqual([page.status, isConsent(page)], ["azp" in claims ? 403 : 502, false]);
      provider.answers.clear();
    });
  }
});

Deno.test("a renewed ID token counts that is of the same person, client and login alone", async (t) => {
  await using server = await startLoginServer({ login: "groups_claim: groups, claims_lifetime: 1s" });
  const { provider } = server;
  const statusOf = async (token: string) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const response = await createToolClient({ url: server.issuer, token }).post(body);
    await response.body?.cancel();
    return response.status;
  };
  type Case = readonly [name: string, claims: Record<string, unknown>, status: number];
  const cases: readonly Case[] = [
    ["another login (nonce)", { nonce: "of another login" }, 401],
    ["another person", { sub: "person-2" }, 401],
    ["another client (azp)", { azp: "another" }, 401],
    ["another client", { aud: "another" }, 503],
    ["another issuer", { iss: "https://attacker.example" }, 503],
  ];
  for (const [name, wrong, status] of cases) {
    await t.step(name, async () => {
      const { accessToken } = await server.logIn();
      const nonce = new URL(provider.asked.at(-1) ?? "", provider.issuer).searchParams.get("nonce");
      // without a nonce, with that of the login, and then what is wrong
      const each: readonly Record<string, unknown>[] = [{}, { nonce }, { nonce }, { nonce, ...wrong }];
      let asked = 0;
      provider.answers.set("/token", async (_request, response) => {
        const iat = Math.floor(Date.now() / 1_000);
        const claims = { iss: provider.issuer, aud: "postern", sub: dora.sub, exp: iat + 60, iat };
        const id_token = await provider.sign({ ...claims, ...each[Math.min(asked++, each.length - 1)] });
        response.writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ access_token: "x", token_type: "bearer", id_token }));
      });
      await waitUntil("it is refused", async () => {
        const got = await statusOf(accessToken);
        // 503 while it is renewed
        assert.ok(got !== 401 || asked >= each.length, `after ${asked}`);
        return got === status && asked >= each.length;
      });
      provider.answers.clear();
    });
  }
});

Deno.test("tokens of the issuer are none of this server's", async () => {
  await using server = await startLoginServer();
  await server.logIn();
  const idToken = await server.provider.sign({ iss: server.provider.issuer, aud: "postern", sub: dora.sub });
  for (const token of [...server.provider.given, idToken]) {
    const response = await createToolClient({ url: server.issuer, token }).post("{}");
    assert.equal(response.status, 401);
    await response.body?.cancel();
    const { status } = await postForm(`${server.issuer}/oauth/token`, {
      grant_type: "refresh_token",
      client_id: (await createOauthClient(server.issuer)).clientId,
      refresh_token: token,
    });
    assert.equal(status, 400);
  }
});

Deno.test("a logout at the issuer ends access at once; a token that is not just that does nothing", async (t) => {
  await using server = await startLoginServer();
  const { provider } = server;
  const now = Math.floor(Date.now() / 1_000);
  const event = "http://schemas.openid.net/event/backchannel-logout";
  const good = (jti: string) => ({
    iss: provider.issuer,
    aud: "postern",
    iat: now,
    exp: now + 120,
    jti,
    sub: dora.sub,
    sid: `session of ${dora.sub}`,
    events: { [event]: {} },
  });
  const send = (token: string) => postForm(`${server.issuer}/oauth/login/logout`, { logout_token: token });
  const { accessToken, refreshToken, client } = await server.logIn();
  const status = async (token: string) => {
    const response = await createToolClient({ url: server.issuer, token }).post(
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    );
    await response.body?.cancel();
    return response.status;
  };
  const other = await newKey("first");
  const wrong: readonly (readonly [string, Record<string, unknown>, object?, typeof other?])[] = [
    ["iss", { iss: "https://attacker.example" }],
    ["aud", { aud: "another" }],
    ["no iat", { iat: undefined }],
    ["an old iat", { iat: now - 3_600, exp: undefined }],
    ["exp", { exp: now - 600 }],
    ["no jti", { jti: undefined }],
    ["no exp", { exp: undefined }],
    ["no events", { events: undefined }],
    ["an event that is null", { events: { [event]: null } }],
    ["an event that is a list", { events: { [event]: [] } }],
    ["another event", { events: { "https://example.com/event": {} } }],
    ["an ID token's nonce", { nonce: "x" }],
    ["neither sub nor sid", { sub: undefined, sid: undefined }],
    ["another type", {}, { typ: "at+jwt" }],
    ["another key", {}, {}, other],
  ];
  for (const [at, [name, claims, header, key]] of wrong.entries()) {
    await t.step(name, async () => {
      const answer = await send(await provider.sign({ ...good(`wrong-${at}`), ...claims }, header, key));
      assert.deepEqual([answer.status, answer.body["error"]], [400, "invalid_request"]);
      assert.equal(await status(accessToken), 200);
    });
  }
  for (const [jti, sid] of [["other", "another session"], ["mixed", good("").sid]] as const) {
    const others = await provider.sign({ ...good(jti), sub: "person-2", sid });
    assert.equal((await send(others)).status, 200);
  }
  assert.equal(await status(accessToken), 200);

  const token = await provider.sign(good("once"), { typ: "logout+jwt" });
  const answer = await send(token);
  assert.equal(answer.status, 200);
  // an older runtime is told here, too, that nothing is to be compressed
  assert.match(answer.headers.get("cache-control") ?? "", /^no-store(?:, no-transform)?$/);
  assert.equal(await status(accessToken), 401);
  assert.equal((await client.refresh(refreshToken)).status, 400);

  await t.step("used again", async () => {
    const later = await server.logIn();
    assert.equal((await send(token)).status, 400);
    assert.equal(await status(later.accessToken), 200);
  });
  await t.step("it ends a login that waits for consent, too", async () => {
    const browser = server.browser();
    const page = await browser.open((await createOauthClient(server.issuer)).authorizeUrl());
    assert.equal((await send(await provider.sign({ ...good("waits"), sid: undefined }))).status, 200);
    const { url } = await browser.submit(page, { action: "allow" });
    assert.ok(url.startsWith(redirectUri));
    assert.equal(new URL(url).searchParams.get("error"), "access_denied");
  });
});
