import assert from "node:assert/strict";
import { password } from "../../support/accounts.ts";
import {
  createFormBrowser,
  createOauthClient,
  postForm,
  redirectUri,
  startOauthServer,
} from "../../support/oauth_server.ts";
import { clientId, clientSecret, startTokenIssuer, testAudience } from "../../support/token_issuer.ts";
import { createToolClient } from "../../support/tool_client.ts";

const grantType = "urn:ietf:params:oauth:grant-type:device_code";

Deno.test("a device gets a token with a code that its user types in", async (t) => {
  await using oauth = await startOauthServer();
  const { issuer } = oauth;
  const client = await createOauthClient(issuer, {
    redirect_uris: [],
    grant_types: [grantType, "refresh_token"],
    client_name: "Terminal",
  });
  const begin = async () => {
    const { status, body } = await postForm(`${issuer}/oauth/device`, {
      client_id: client.clientId,
      scope: "tool:usage",
    });
    assert.equal(status, 200, JSON.stringify(body));
    return { device: String(body["device_code"]), user: String(body["user_code"]), body };
  };
  const poll = (deviceCode: string) => client.token({ grant_type: grantType, device_code: deviceCode });

  await t.step("allowed", async () => {
    const code = await begin();
    assert.equal(code.body["verification_uri"], `${issuer}/oauth/device/verify`);
    assert.equal((await poll(code.device)).body["error"], "authorization_pending");
    const browser = createFormBrowser(issuer);
    const page = await browser.open(String(code.body["verification_uri_complete"]));
    assert.match(page.html, new RegExp(`value="${code.user}"`));
    const confirm = await browser.submit(page, { user_code: code.user });
    assert.match(confirm.html, /calls itself “<strong>Terminal<\/strong>” asks for access from a device/);
    const login = await browser.submit(confirm, { confirm: "yes" });
    const consent = await browser.submit(login, { username: "alice", password, action: "login" });
    assert.match(consent.html, /the device that showed the code/);
    const end = await browser.submit(consent, { action: "allow" });
    assert.match(end.html, /Access allowed/);
    const tokens = await poll(code.device);
    assert.equal(tokens.status, 200, JSON.stringify(tokens.body));
    assert.equal(tokens.body["scope"], "tool:usage");
    const { post } = createToolClient({ url: issuer, token: String(tokens.body["access_token"]) });
    const ping = await post('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    await ping.body?.cancel();
    assert.equal(ping.status, 200);
    assert.equal((await client.refresh(String(tokens.body["refresh_token"]))).status, 200);
    assert.equal((await poll(code.device)).body["error"], "invalid_grant");
  });

  await t.step("denied, before and after the login", async () => {
    const early = await begin();
    const browser = createFormBrowser(issuer);
    const page = await browser.submit(await browser.open(`${issuer}/oauth/device/verify`), {
      user_code: early.user,
    });
    assert.match((await browser.submit(page, { abort: "yes" })).html, /Access denied/);
    assert.equal((await poll(early.device)).body["error"], "access_denied");

    const late = await begin();
    const again = await browser.submit(await browser.open(`${issuer}/oauth/device/verify`), {
      user_code: late.user,
    });
    const login = await browser.submit(again, { confirm: "yes" });
    const consent = await browser.submit(login, { username: "alice", password, action: "login" });
    assert.match((await browser.submit(consent, { action: "deny" })).html, /Access denied/);
    assert.equal((await poll(late.device)).body["error"], "access_denied");
  });

  await t.step("a code without the page's secret, and guessed codes, lead nowhere", async () => {
    const { user } = await begin();
    const browser = createFormBrowser(issuer);
    const page = await browser.open(`${issuer}/oauth/device/verify`);
    const forged = await browser.submit({
      ...page,
      html: page.html.replace(/name="xsrf" value="[^"]+"/, 'name="xsrf" value="x"'),
    }, {
      user_code: user,
    });
    assert.doesNotMatch(forged.html, /Is this your device/);
    let next = await browser.open(`${issuer}/oauth/device/verify`);
    for (let attempt = 0; attempt < 10; attempt++) {
      next = await browser.submit(next, { user_code: "BBBB-BBBB" });
    }
    assert.match(next.html, /This code is wrong/);
    assert.equal((await browser.submit(next, { user_code: user })).status, 429);
  });
});

Deno.test("an identity provider never hears of what this server gave out, good or ended", async () => {
  await using provider = await startTokenIssuer();
  const asked: string[] = [];
  provider.answers.set("/introspect", async (request) => {
    asked.push(String((await request.formData()).get("token")));
    return Response.json({ active: false });
  });
  await using oauth = await startOauthServer({
    auth: {
      identity_provider: {
        issuer: provider.issuer,
        audience: testAudience,
        introspection: { client_id: clientId, client_secret_file: "secret" },
      },
    },
    files: { secret: clientSecret },
  });
  const { issuer } = oauth;
  const client = await createOauthClient(issuer, {
    grant_types: [grantType, "authorization_code", "refresh_token"],
  });
  const status = async (token: unknown) => {
    const { post } = createToolClient({ url: issuer, token: String(token) });
    const response = await post('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    await response.body?.cancel();
    return response.status;
  };
  const { body: device } = await postForm(`${issuer}/oauth/device`, { client_id: client.clientId });
  const browser = createFormBrowser(issuer);
  const login = await browser.open(client.authorizeUrl());
  const consent = await browser.submit(login, { username: "alice", password, action: "login" });
  const { url } = await browser.submit(consent, { action: "allow" });
  assert.ok(url.startsWith(redirectUri), url);
  const code = new URL(url).searchParams.get("code") ?? "";
  assert.equal(await status(code), 401);
  const { body: first } = await client.exchange(code);
  const { body: second } = await client.refresh(String(first["refresh_token"]));
  const given = [
    device["device_code"],
    code,
    first["refresh_token"],
    first["access_token"],
    second["refresh_token"],
    second["access_token"],
  ];
  assert.deepEqual(await Promise.all(given.map(status)), [401, 401, 401, 200, 401, 200]);
  assert.equal((await client.revoke(String(second["refresh_token"]))).status, 200);
  for (const value of given) assert.equal(await status(value), 401);
  assert.deepEqual(asked, []);
  assert.equal(await status("anothers"), 401);
  assert.deepEqual(asked, ["anothers"]);
});
