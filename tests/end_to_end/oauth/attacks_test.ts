import assert from "node:assert/strict";
import { password } from "../../support/accounts.ts";
import {
  createFormBrowser,
  createOauthClient,
  post,
  postForm,
  redirectUri,
  startOauthServer,
} from "../../support/oauth_server.ts";

Deno.test("what an attacker sends to the authorization server leads nowhere", async (t) => {
  await using oauth = await startOauthServer();
  const { issuer } = oauth;
  const client = await createOauthClient(issuer);

  await t.step("a registration with an address that is not allowed is refused and named", async () => {
    for (
      const uri of [
        "https://attacker.example/callback",
        "http://127.0.0.1:1/other",
        "http://127.0.0.1.attacker.example/callback",
        "http://user@127.0.0.1/callback",
        "https://claude.ai/api/mcp/auth_callback/",
        "https://claude.ai/api/mcp/auth_callback?x=1",
        "javascript:alert(1)",
      ]
    ) {
      const { status, body } = await post(`${issuer}/oauth/register`, { redirect_uris: [redirectUri, uri] });
      assert.deepEqual([status, body["error"]], [400, "invalid_redirect_uri"], uri);
      assert.ok(String(body["error_description"]).includes(uri));
    }
    const twice = `{"redirect_uris":["https://attacker.example/"],"redirect_uris":["${redirectUri}"]}`;
    const answer = await fetch(`${issuer}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: twice,
    });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /no name twice/);
    for (
      const [wrong, field] of [[{ redirect_uris: "x" }, "redirect_uris"], [
        { grant_types: ["password"] },
        "grant_types",
      ]] as const
    ) {
      const { status, body } = await post(`${issuer}/oauth/register`, wrong);
      assert.equal(status, 400);
      assert.ok(String(body["error_description"]).startsWith(`${field}: `), JSON.stringify(body));
    }
  });

  await t.step(
    "an authorization that is not as registered shows an error, or goes back with one",
    async () => {
      const browser = createFormBrowser(issuer);
      for (
        const changes of [
          { redirect_uri: "https://claude.ai/api/mcp/auth_callback" },
          { redirect_uri: "http://localhost:45678/callback" },
          { client_id: "unknown" },
          { client_id: "https://127.0.0.1/client.json" },
        ]
      ) {
        const page = await browser.open(client.authorizeUrl(changes));
        assert.deepEqual([page.status, page.url.startsWith(issuer)], [400, true], JSON.stringify(changes));
        assert.match(page.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
      }
      for (
        const [changes, error] of [
          [{ code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
          [{ code_challenge_method: "plain" }, "invalid_request"],
          [{ response_type: "token" }, "unsupported_response_type"],
          [{ resource: "https://other.example/mcp" }, "invalid_target"],
          [{ prompt: "none" }, "login_required"],
        ] as const
      ) {
        const { url } = await browser.open(client.authorizeUrl(changes));
        assert.ok(url.startsWith(redirectUri), url);
        // what asks for a token in the fragment is told there (OAuth 2.0 Multiple Response Types, section 5)
        const { searchParams: params } = new URL(url.replace("#", "?"));
        assert.deepEqual([params.get("error"), params.get("iss")], [error, issuer]);
      }
    },
  );

  await t.step(
    "a login of one browser is not another one's, and forms of other pages count for nothing",
    async () => {
      const own = createFormBrowser(issuer);
      const login = await own.open(client.authorizeUrl());
      const fields = { username: "alice", password, action: "login" };
      const other = await createFormBrowser(issuer).submit(login, fields);
      assert.equal(other.status, 400);
      assert.match(other.html, /began in another browser/);
      for (const origin of ["https://attacker.example", "null"]) {
        assert.equal((await own.submit(login, fields, { origin })).status, 403);
      }
      const consent = await own.submit(login, fields);
      assert.match(consent.html, /Allow access\?/);
      const denied = new URL((await own.submit(consent, { action: "deny" })).url).searchParams;
      assert.deepEqual([denied.get("error"), denied.get("iss"), denied.get("code")], [
        "access_denied",
        issuer,
        null,
      ]);
    },
  );

  await t.step("who has logged in once is asked again", async () => {
    const browser = createFormBrowser(issuer);
    const consent = await browser.submit(await browser.open(client.authorizeUrl()), {
      username: "alice",
      password,
      action: "login",
    });
    await browser.submit(consent, { action: "allow" });
    assert.match((await browser.open(client.authorizeUrl())).html, /type="password"/);
  });

  await t.step("a code is of its client, its address and its verifier", async () => {
    const other = await createOauthClient(issuer);
    const codeOf = async () => {
      const browser = createFormBrowser(issuer);
      const login = await browser.open(client.authorizeUrl());
      const consent = await browser.submit(login, { username: "alice", password, action: "login" });
      return new URL((await browser.submit(consent, { action: "allow" })).url).searchParams.get("code") ?? "";
    };
    assert.equal((await other.exchange(await codeOf())).body["error"], "invalid_grant");
    const changed = {
      grant_type: "authorization_code",
      redirect_uri: redirectUri,
      code_verifier: "x".repeat(43),
    };
    assert.equal((await client.token({ ...changed, code: await codeOf() })).body["error"], "invalid_grant");
  });

  await t.step("names of clients are text, never HTML", async () => {
    const named = await createOauthClient(issuer, { client_name: '<img src=x onerror="alert(1)">\u202e' });
    const { html } = await createFormBrowser(issuer).open(named.authorizeUrl());
    assert.match(html, /&lt;img src=x onerror=&quot;alert\(1\)&quot;&gt;”?<\/strong>/);
    assert.doesNotMatch(html, /<img|\u202e/);
  });

  await t.step("no other path and no other method is the provider's", async () => {
    for (
      const path of [
        "/oauth/jwks",
        "/oauth/end_session/confirm",
        "/.well-known/openid-configuration",
        "/oauth",
      ]
    ) {
      const response = await fetch(issuer + path);
      await response.body?.cancel();
      assert.equal(response.status, 404, path);
    }
    const response = await fetch(`${issuer}/oauth/token`);
    await response.body?.cancel();
    assert.deepEqual([response.status, response.headers.get("allow")], [405, "POST"]);
  });

  await t.step("a token for something else is refused before a refresh token is used up", async () => {
    const browser = createFormBrowser(issuer);
    const login = await browser.open(client.authorizeUrl());
    const consent = await browser.submit(login, { username: "alice", password, action: "login" });
    const { url } = await browser.submit(consent, { action: "allow" });
    const tokens = await client.exchange(new URL(url).searchParams.get("code") ?? "");
    const refresh_token = String(tokens.body["refresh_token"]);
    const refresh = (resource: string) =>
      client.token({ grant_type: "refresh_token", refresh_token, resource });
    assert.deepEqual((await refresh("https://other.example/mcp")).body["error"], "invalid_target");
    // clients write the same address with and without a slash at its end
    assert.equal((await refresh(`${issuer}/mcp/v1/`)).status, 200);
  });

  await t.step(
    "a refresh token that was used long ago ends its grant like one that was used just now",
    async () => {
      const browser = createFormBrowser(issuer);
      const login = await browser.open(client.authorizeUrl());
      const consent = await browser.submit(login, { username: "alice", password, action: "login" });
      const { url } = await browser.submit(consent, { action: "allow" });
      const { body } = await client.exchange(new URL(url).searchParams.get("code") ?? "");
      const used = [String(body["refresh_token"])];
      for (let count = 0; count < 10; count++) {
        const next = await client.refresh(used.at(-1) ?? "");
        assert.equal(next.status, 200, JSON.stringify(next.body));
        used.push(String(next.body["refresh_token"]));
      }
      const [first = "", good = ""] = [used[0], used.at(-1)];
      // with another's signature nobody is logged out
      const forged = first.replace(/[^.]*$/, good.replace(/.*\./, ""));
      assert.equal((await client.refresh(forged)).body["error"], "invalid_grant");
      const still = await client.refresh(good);
      assert.equal(still.status, 200);
      assert.equal((await client.refresh(first)).body["error"], "invalid_grant");
      assert.equal(
        (await client.refresh(String(still.body["refresh_token"]))).body["error"],
        "invalid_grant",
      );
      assert.match(oauth.server().stderr(), /A code or refresh token was used twice: its grant has ended/);
    },
  );

  await t.step("the end of a device's login without its beginning is a page like any other", async () => {
    for (const cookie of ["", "postern_login=made-up", "postern_resume=made-up-resume"]) {
      const response = await fetch(`${issuer}/oauth/device/verify/made-up-resume`, { headers: { cookie } });
      assert.match(await response.text(), /began in another browser/);
      assert.equal(response.status, 400);
      assert.match(response.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
    }
    assert.doesNotMatch(oauth.server().stderr(), /TypeError|node_modules|oidc-provider/);
  });

  await t.step(
    "a page that is asked for without what led to it is a page with an error like any other",
    async () => {
      const form = "application/x-www-form-urlencoded";
      const { clientId } = await createOauthClient(issuer, {
        redirect_uris: [],
        grant_types: ["urn:ietf:params:oauth:grant-type:device_code"],
      });
      const { body: device } = await postForm(`${issuer}/oauth/device`, { client_id: clientId });
      assert.match(String(device["user_code"]), /^\w{4}-\w{4}$/);
      const fields = [
        "",
        "xsrf=x&user_code=BCDF-GHJK&confirm=yes",
        `user_code=${device["user_code"]}`,
        `user_code=${device["user_code"]}&user_code=x`,
        "xsrf=x&abort=yes",
        "action=allow",
      ];
      const asked = [
        ["GET", "/oauth/authorize/made-up-resume"],
        ["GET", "/oauth/device/verify/made-up-resume"],
        ["GET", "/oauth/device/verify?user_code=a&user_code=b&xsrf=c"],
        ["GET", "/oauth/interaction/made-up-interaction"],
        ...fields.flatMap((body) => [
          ["POST", "/oauth/device/verify", body],
          ["POST", "/oauth/interaction/made-up-interaction", body],
        ]),
      ];
      for (const [method = "", path = "", body] of asked) {
        for (
          const cookie of [
            "",
            "postern_login=made-up",
            "postern_login=made-up; postern_login.sig=x; postern_interaction=made-up; postern_resume=made-up-resume",
          ]
        ) {
          const response = await fetch(issuer + path, {
            method,
            headers: { cookie, origin: issuer, accept: "text/html", "content-type": form },
            ...(body === undefined ? {} : { body }),
          });
          const text = await response.text();
          const isForm = method === "GET" && path.includes("?");
          assert.deepEqual([response.status, path, body], [isForm ? 200 : 400, path, body], text);
          assert.match(response.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
        }
      }
      assert.doesNotMatch(oauth.server().stderr(), /The authorization server failed|TypeError/);
    },
  );

  await t.step("failed logins are counted with those of authenticate_user", async () => {
    const browser = createFormBrowser(issuer);
    let page = await browser.open(client.authorizeUrl());
    for (let attempt = 0; attempt < 10; attempt++) {
      page = await browser.submit(page, { username: "nobody", password: "wrong", action: "login" });
    }
    const refused = await browser.submit(page, { username: "alice", password, action: "login" });
    assert.equal(refused.status, 429);
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
  });

  await t.step("an address begins 600 logins an hour, and no more", async () => {
    let last: Response | undefined;
    for (let attempt = 0; attempt < 600 && last?.status !== 429; attempt++) {
      last = await fetch(attempt % 2 === 0 ? client.authorizeUrl() : `${issuer}/oauth/device/verify`, {
        redirect: "manual",
      });
      await last.body?.cancel();
    }
    assert.equal(last?.status, 429);
    assert.match(last?.headers.get("retry-after") ?? "", /^\d+$/);
    assert.match(last?.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
  });

  await t.step("an address asks for 6,000 tokens an hour, and no more", async () => {
    let status = 400;
    for (let left = 6_000; left > 0 && status !== 429; left -= 20) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => client.refresh("unknown")));
      status = answers.at(-1)?.status ?? 0;
    }
    assert.equal(status, 429);
  });

  await t.step("an address registers 60 times an hour, and no more", async () => {
    let status = 201;
    for (let attempt = 0; attempt < 60 && status !== 429; attempt++) {
      ({ status } = await post(`${issuer}/oauth/register`, { redirect_uris: [redirectUri] }));
    }
    assert.equal(status, 429);
  });
});
