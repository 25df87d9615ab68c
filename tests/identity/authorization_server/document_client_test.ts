import assert from "node:assert/strict";
import { createSharedDeadline } from "../../../src/core/async/deadline.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { createAuthorizationServer } from "../../../src/identity/authorization_server/authorization_server.ts";
import { createClientDocuments } from "../../../src/identity/authorization_server/client_metadata.ts";
import { createGrantStore } from "../../../src/identity/authorization_server/grant_store.ts";
import { createRateLimiter } from "../../../src/identity/rate_limiter.ts";
import type { UserRecord } from "../../../src/identity/users/user_file.ts";
import { createFormBrowser, oauthClientOf, redirectUri } from "../../support/oauth_server.ts";
import { memoryState } from "../../support/state.ts";
import { freePort } from "../../support/token_issuer.ts";

const alice: UserRecord = {
  username: "alice",
  passwordHash: "$2b$12$",
  annotation: null,
  createdAt: null,
  lastLogin: null,
  enabled: true,
  failedAttempts: 0,
  disabledReason: null,
};

Deno.test("a client that a document describes is let in, by a login from the first page to the refresh", async () => {
  const clientId = "https://app.example/client.json";
  const document = { client_id: clientId, client_name: "Described", redirect_uris: [redirectUri] };
  const port = freePort();
  const issuer = `http://127.0.0.1:${port}`;
  await using state = memoryState();
  const store = createGrantStore(state);
  const bodyTimeout = createSharedDeadline(10_000);
  const lifetimeMs = 60_000;
  using server = await createAuthorizationServer({
    issuer,
    resources: [{ address: `${issuer}/mcp/v1`, server: "tool_server" }],
    lifetimesMs: {
      accessToken: lifetimeMs,
      refreshToken: lifetimeMs,
      authorizationCode: lifetimeMs,
      deviceCode: lifetimeMs,
    },
    allowRegistration: false,
    allowDocuments: true,
    allowedRedirectUris: [redirectUri],
    allowedOrigins: [],
    hasConsole: false,
    branding: { title: "Sign in", colour: "#000" },
    refreshLifetimeText: "1 minute",
    cookieKeys: { secrets: ["a secret"] },
    store,
    accounts: { find: (name) => name === "alice" ? alice : undefined },
    login: {
      hasAccounts: true,
      authenticate: () => assert.fail("no session is opened"),
      verify: () => Promise.resolve({ kind: "verified", account: alice }),
    },
    limiter: createRateLimiter({ windowMs: 60_000, maxAttempts: 10, now: () => 0 }),
    bodyTimeout,
    onEvent: () => {},
    logger: silentLogger,
    documents: createClientDocuments({
      isAllowed: (uri) => uri === redirectUri,
      fetch: ({ href }) => {
        assert.equal(href, clientId);
        return Promise.resolve({ text: JSON.stringify(document), maxAgeSeconds: undefined });
      },
    }),
  });
  const listener = Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, async (request) => {
    const call = { request, address: "127.0.0.1", requestId: "r" };
    return await server.handle(call) ?? new Response(null, { status: 404 });
  });
  try {
    const client = oauthClientOf(issuer, clientId);
    const browser = createFormBrowser(issuer);
    const login = await browser.open(client.authorizeUrl());
    assert.match(login.html, /<strong>app\.example<\/strong>, which calls itself “Described”/);
    const consent = await browser.submit(login, { username: "alice", password: "x", action: "login" });
    assert.match(consent.html, /<dt>Client of<\/dt><dd><strong>app\.example<\/strong>/);
    const { url } = await browser.submit(consent, { action: "allow" });
    const code = new URL(url).searchParams.get("code") ?? "";
    const { status, body } = await client.exchange(code);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal((await client.refresh(String(body["refresh_token"]))).status, 200);
    assert.deepEqual((await store.clients()).map(({ id }) => id), [clientId]);
  } finally {
    await listener.shutdown();
    bodyTimeout.close();
  }
});
