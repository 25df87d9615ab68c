import assert from "node:assert/strict";
import { createSharedDeadline } from "../../../src/core/async/deadline.ts";
import { AppError } from "../../../src/core/app_error.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { createAuthorizationServer } from "../../../src/identity/authorization_server/authorization_server.ts";
import { createGrantStore } from "../../../src/identity/authorization_server/grant_store.ts";
import { createRateLimiter } from "../../../src/identity/rate_limiter.ts";
import type { UserRecord } from "../../../src/identity/users/user_file.ts";
import { createFormBrowser, createOauthClient, redirectUri } from "../../support/oauth_server.ts";
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

Deno.test("a state that goes away in the middle of a step gives 503, and the step works again later", async () => {
  const port = freePort();
  const issuer = `http://127.0.0.1:${port}`;
  await using memory = memoryState();
  let isAway = false;
  /** How often it still answers. */
  let answers = Infinity;
  const orAway = <T>(work: () => Promise<T>): Promise<T> =>
    isAway || answers-- <= 0
      ? Promise.reject(new AppError("unavailable", "away", { data: { retryAfterSeconds: 1 } }))
      : work();
  const store = createGrantStore({
    ...memory,
    // the request itself is let in: nobody knew yet
    read: (statements) => orAway(() => memory.read(statements)),
    change: (statements, options) => orAway(() => memory.change(statements, options)),
  });
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
    allowRegistration: true,
    allowDocuments: false,
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
  });
  const listener = Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, async (request) => {
    const call = { request, address: "127.0.0.1", requestId: "r" };
    return await server.handle(call) ?? new Response(null, { status: 404 });
  });
  /** Does a step while the state is away, which must be told so, and again. */
  async function twice<T extends { status: number; headers: Headers }>(step: () => Promise<T>): Promise<T> {
    isAway = true;
    const { status, headers } = await step();
    assert.deepEqual([status, headers.get("retry-after")], [503, "1"]);
    isAway = false;
    return await step();
  }
  try {
    const client = await createOauthClient(issuer);
    const browser = createFormBrowser(issuer);
    const login = await twice(() => browser.open(client.authorizeUrl()));
    const consent = await twice(() =>
      browser.submit(login, { username: "alice", password: "x", action: "login" })
    );
    const { url } = await twice(() => browser.submit(consent, { action: "allow" }));
    const code = new URL(url).searchParams.get("code") ?? "";
    const { status, body } = await twice(() => client.exchange(code));
    assert.equal(status, 200, JSON.stringify(body));
    const refreshed = await twice(() => client.refresh(String(body["refresh_token"])));
    assert.equal(refreshed.status, 200, JSON.stringify(refreshed.body));
    // whenever it goes away in a refresh: what was answered with 503 has used up nothing
    let { body: { refresh_token: token } } = refreshed;
    for (let most = 0, isWhole = false; !isWhole; most++) {
      assert.ok(most < 20);
      answers = most;
      const cut = await client.refresh(String(token));
      isWhole = cut.status === 200;
      answers = Infinity;
      if (!isWhole) assert.equal(cut.status, 503, JSON.stringify(cut.body));
      const again = isWhole ? cut : await client.refresh(String(token));
      assert.equal(again.status, 200, `after ${most} answers: ${JSON.stringify(again.body)}`);
      token = again.body["refresh_token"];
    }
  } finally {
    await listener.shutdown();
    bodyTimeout.close();
  }
});
