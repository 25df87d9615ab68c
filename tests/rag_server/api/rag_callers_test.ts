import assert from "node:assert/strict";
import { type Principal, principalKey } from "../../../src/core/principal.ts";
import { createQuotas } from "../../../src/core/quotas/quotas.ts";
import type { Login, LoginRequest, LoginResult } from "../../../src/identity/login.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { createForwardedIdentity } from "../../../src/rag_server/api/forwarded_identity.ts";
import { createRagFixture, type RagReply } from "./rag_fixture.ts";
import { chunk, done, stream } from "./rag_handbook.ts";
import { hanging, script, scriptedPipeline, scriptedPipelines } from "./scripted_pipelines.ts";
import { UntoldCallerError } from "../../../src/postgres/read/caller_settings.ts";

const issuer = { kind: "issuer", issuer: "https://idp.example.com", subject: "7", groups: [] } as const;

/** By the tokens that stand for them. */
const principals: Readonly<Record<string, Principal>> = {
  free: { kind: "token", id: "free" },
  bound: { kind: "token", id: "bound", database: "open" },
  alice: { kind: "session", id: "s1", username: "alice" },
  narrow: { kind: "issuer", issuer: "https://idp.example.com", subject: "a", groups: [], scopes: ["other"] },
  reader: { kind: "session", id: "s2", username: "alice", scopes: ["db:read"] },
  stranger: issuer,
  operator: { ...issuer, groups: ["ops"] },
};

const pipeline = (name: string, availableToUsers: readonly string[] = []) =>
  scriptedPipeline({ name, availableToUsers, script: script(chunk("a"), done) });

/** Routes that know the principals, and what was reported of requests. */
function setUp({ login, requiredScopes }: { login?: Partial<Login>; requiredScopes?: string[] } = {}) {
  const refusedAddresses: string[] = [];
  const endedSessions: string[] = [];
  const fixture = createRagFixture({
    pipelines: scriptedPipelines([
      pipeline("open"),
      pipeline("team", ["alice"]),
      pipeline("ops", ["group:ops"]),
    ]),
    authentication: {
      server: "rag_server",
      authenticator: {
        authenticate: (header) => Promise.resolve(principals[/^Bearer (\w+)$/.exec(header ?? "")?.[1] ?? ""]),
      },
      ...(requiredScopes === undefined ? {} : { requiredScopes }),
      ...(login === undefined
        ? {}
        : { login: login as Login, endSession: (id) => Promise.resolve(void endedSessions.push(id)) }),
      onRefusal: (address) => refusedAddresses.push(address),
    },
  });
  const as = (token: string) => (method: string, path: string, body?: BodyInit) =>
    fixture.send(method, path, {
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body }),
    });
  return { ...fixture, as, refusedAddresses, endedSessions };
}

const names = ({ text }: RagReply) => JSON.parse(text).pipelines.map(({ name }: { name: string }) => name);

/** What each kind of caller may see and ask. */
const visible: readonly [token: string, names: string[]][] = [
  ["free", ["open"]],
  ["bound", []],
  ["alice", ["open", "team"]],
  ["stranger", ["open"]],
  ["operator", ["open", "ops"]],
];
for (const [token, expected] of visible) {
  Deno.test(`${token} sees and asks ${expected.join(", ") || "no pipeline"}`, async () => {
    const { as, lines } = setUp();
    const send = as(token);
    for (const path of ["/v1/pipelines", "/v1/stats", "/v1/health"]) {
      assert.deepEqual(names(await send("GET", path)), expected, path);
    }
    for (const name of ["open", "team", "ops", "none"]) {
      const { status, text } = await send("POST", `/v1/pipelines/${name}`, '{"query":"q"}');
      assert.equal(status, expected.includes(name) ? 200 : 404, name);
      if (status === 200) continue;
      const message = `there is no pipeline \\"${name}\\"`;
      assert.equal(text, `{"error":{"code":"PIPELINE_NOT_FOUND","message":"${message}"}}`);
    }
    assert.deepEqual(
      lines.map((line) => [line.pipeline, line.outcome, line.principal]),
      ["open", "team", "ops", "none"].map((
        name,
      ) => [
        name,
        expected.includes(name) ? "ok" : "pipeline_not_found",
        principalKey(principals[token] ?? { kind: "local" }),
      ]),
    );
  });
}

const routes: readonly [method: string, path: string, withoutToken: number, withToken: number][] = [
  ["GET", "/v1/live", 200, 200],
  ["HEAD", "/v1/live", 200, 200],
  ["POST", "/v1/live", 405, 405],
  ["GET", "/v1/openapi.json", 200, 200],
  ["GET", "/v1/ready", 200, 200],
  ["GET", "/v1/health", 200, 200],
  ["GET", "/v1/pipelines", 401, 200],
  ["HEAD", "/v1/pipelines", 401, 200],
  ["POST", "/v1/pipelines", 401, 405],
  ["OPTIONS", "/v1/pipelines", 401, 405],
  ["GET", "/v1/stats", 401, 200],
  ["POST", "/v1/pipelines/open", 401, 400],
  ["GET", "/v1/pipelines/open", 401, 405],
  ["POST", "/v1/pipelines/none", 401, 404],
  ["POST", "/v1/login", 401, 404],
  ["GET", "/", 401, 404],
  ["GET", "/v1/live/", 401, 404],
  ["GET", "/v1/LIVE", 401, 404],
  ["GET", "/v1/health/../pipelines", 401, 200],
  ["GET", "/v1//live", 401, 404],
];
for (const [method, path, withoutToken, withToken] of routes) {
  Deno.test(`${method} ${path} answers ${withoutToken} without a token, ${withToken} with one`, async () => {
    const { send, as, refusedAddresses } = setUp();
    const refused = [
      await send(method, path),
      await as("wrong")(method, path),
      await send(method, path, { headers: { authorization: "Basic YTpi" } }),
    ];
    const [first] = refused;
    for (const reply of refused) {
      assert.equal(reply.status, withoutToken);
      assert.equal(reply.text, first?.text);
      assert.deepEqual([...reply.headers], [...first?.headers ?? []]);
      assert.equal(reply.headers.get("www-authenticate"), withoutToken === 401 ? "Bearer" : null);
      if (withoutToken !== 401 || method === "HEAD") continue;
      assert.equal(
        reply.text,
        '{"error":{"code":"UNAUTHORIZED","message":"a valid token is needed in the header Authorization: Bearer TOKEN"}}',
      );
    }
    assert.deepEqual(refusedAddresses, withoutToken === 401 ? Array(3).fill("127.0.0.1") : []);
    const { status } = await as("free")(method, path);
    assert.equal(status, withToken);
  });
}

Deno.test("without a token the health is its status alone", async () => {
  const { send, as } = setUp();
  assert.equal((await send("GET", "/v1/health")).text, '{"status":"healthy"}');
  assert.equal((await as("wrong")("GET", "/v1/health")).text, '{"status":"healthy"}');
});

Deno.test("a token of Postern's own needs the scope for documents", async () => {
  const { as } = setUp();
  const { status, headers } = await as("reader")("GET", "/v1/pipelines");
  const challenge = 'Bearer error="insufficient_scope", scope="db:read docs:ask"';
  assert.deepEqual([status, headers.get("www-authenticate")], [403, challenge]);
});

Deno.test("a token without a scope that the server needs gets 403", async () => {
  const { as, send, refusedAddresses } = setUp({ requiredScopes: ["ask", "read"] });
  const { status, text, headers } = await as("narrow")("GET", "/v1/pipelines");
  assert.equal(status, 403);
  assert.equal(headers.get("www-authenticate"), 'Bearer error="insufficient_scope", scope="ask read"');
  assert.equal(
    text,
    '{"error":{"code":"FORBIDDEN","message":"the access token does not have the scopes ask read"}}',
  );
  assert.equal((await as("narrow")("GET", "/v1/health")).text, '{"status":"healthy"}');
  assert.equal((await as("alice")("GET", "/v1/pipelines")).status, 200);
  assert.equal((await send("GET", "/v1/pipelines")).status, 401);
  assert.equal(refusedAddresses.length, 1);
});

Deno.test("a query ends when its caller's token or session does, and no other", async () => {
  for (const body of [{ query: "q" }, stream]) {
    const { script, aborted } = hanging(chunk("a"));
    const waiting = scriptedPipeline({ name: "handbook", script });
    const fixture = createRagFixture({
      pipelines: scriptedPipelines([waiting]),
      authentication: { authenticator: { authenticate: () => principals["alice"] } },
    });
    const asked = fixture.ask(body);
    await waitUntil("the query arrives", () => waiting.asked.length === 1);
    fixture.calls.underWay.endPrincipal({ kind: "session", id: "s2", username: "alice" });
    fixture.calls.underWay.endPrincipal({ kind: "token", id: "s1" });
    fixture.calls.underWay.endPrincipal({ kind: "session", id: "s1", username: "alice" });
    const { status, text } = await asked;
    assert.equal(String(await aborted), "AbortError: its token or session has ended");
    if (body === stream) {
      assert.equal(status, 200);
      assert.equal(
        text,
        'data: {"type":"chunk","content":"a"}\n\ndata: {"type":"error","error":"the token or session has ended"}\n\n',
      );
    } else {
      assert.equal(status, 401);
      assert.equal(text, '{"error":{"code":"UNAUTHORIZED","message":"the token or session has ended"}}');
    }
  }
});

Deno.test("a query ends when its caller's token does by itself", async () => {
  for (const requestTimeoutMs of [0, 60_000]) {
    const { script, aborted } = hanging(chunk("a"));
    const waiting = scriptedPipeline({ name: "handbook", script });
    const principal: Principal = {
      kind: "issuer",
      issuer: "https://login.example",
      subject: "ann",
      groups: [],
      endsAt: Date.now() + 5,
    };
    const fixture = createRagFixture({
      pipelines: scriptedPipelines([waiting]),
      authentication: { authenticator: { authenticate: () => principal } },
      requestTimeoutMs,
    });
    const { text } = await fixture.ask(stream);
    assert.equal(String(await aborted), "AbortError: its token or session has ended");
    assert.ok(text.endsWith('data: {"type":"error","error":"the token or session has ended"}\n\n'), text);
  }
});

Deno.test("a session ends itself, and no other token does", async () => {
  const { as, send, endedSessions } = setUp({ login: { hasAccounts: true } });
  const { status, text, headers } = await as("alice")("POST", "/v1/logout");
  assert.deepEqual([status, text, headers.get("content-type")], [204, "", null]);
  assert.deepEqual(endedSessions, ["s1"]);
  for (const token of ["free", "stranger"]) {
    const reply = await as(token)("POST", "/v1/logout");
    assert.equal(reply.status, 400);
    assert.match(reply.text, /"the token: expected that of a user's session;/);
  }
  assert.equal((await send("POST", "/v1/logout")).status, 401);
  const get = await as("alice")("GET", "/v1/logout");
  assert.deepEqual([get.status, get.headers.get("allow")], [405, "POST"]);
  assert.deepEqual(endedSessions, ["s1"]);
});

Deno.test("where nobody can log in, nobody can log out", async () => {
  for (const login of [undefined, { hasAccounts: false }]) {
    const { fetch, endedSessions } = setUp(login && { login });
    const request = new Request("http://localhost/v1/logout", {
      method: "POST",
      headers: { authorization: "Bearer alice" },
    });
    assert.equal((await fetch(request)).status, 404);
    assert.deepEqual(endedSessions, []);
  }
});

const day = Date.UTC(2026, 0, 15);

/** A login that answers so, and what it was asked. */
function loginOf(result: LoginResult | Error) {
  const asked: LoginRequest[] = [];
  return {
    asked,
    hasAccounts: true,
    authenticate(request: LoginRequest) {
      asked.push(request);
      return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
    },
  };
}

const logins: readonly [LoginResult, status: number, text: string, retryAfter: string | null][] = [
  [
    { kind: "success", sessionToken: "dG9rZW4=", expiresAt: day },
    200,
    '{"session_token":"dG9rZW4=","expires_at":"2026-01-15T00:00:00Z"}',
    null,
  ],
  [{ kind: "failed" }, 401, '{"error":{"code":"UNAUTHORIZED","message":"authentication failed"}}', null],
  [
    { kind: "rate_limited", retryAfterSeconds: 90 },
    429,
    '{"error":{"code":"RATE_LIMITED","message":"too many failed logins; try again later"}}',
    "90",
  ],
  [
    { kind: "busy", retryAfterSeconds: 1 },
    503,
    '{"error":{"code":"OVERLOADED","message":"too many logins are waiting; try again later"}}',
    "1",
  ],
];
for (const [result, status, text, retryAfter] of logins) {
  Deno.test(`POST /v1/login answers ${status} where the login is ${result.kind}`, async () => {
    const login = loginOf(result);
    const body = JSON.stringify({ username: "alice", password: "pass word", more: 1 });
    const reply = await setUp({ login }).send("POST", "/v1/login", { body });
    assert.deepEqual([reply.status, reply.text, reply.headers.get("retry-after")], [
      status,
      text,
      retryAfter,
    ]);
    assert.equal(reply.headers.get("cache-control"), "no-store");
    const [asked] = login.asked;
    assert.deepEqual(
      [asked?.username, asked?.password, asked?.address, asked?.requestId],
      ["alice", "pass word", "127.0.0.1", "1"],
    );
  });
}

const badBodies: readonly [body: string, status: number, message: string][] = [
  ["", 400, "the body: expected JSON that has no name twice"],
  [
    '{"username":"bob","username":"alice","password":"secret"}',
    400,
    "the body: expected JSON that has no name twice",
  ],
  ["[]", 400, "the body: expected a JSON object"],
  ["{}", 400, "username: expected a text; password: expected a text"],
  ['{"username":"alice","password":7}', 400, "password: expected a text"],
  [`{"username":"${"x".repeat(70_000)}","password":""}`, 413, "the body: expected at most 64 KiB"],
  [`{"username":"a","password":"a","x":${"[".repeat(200)}${"]".repeat(200)}}`, 400, "the body: "],
];
for (const [body, status, message] of badBodies) {
  Deno.test(`POST /v1/login refuses a body of ${body.length} characters: ${message}`, async () => {
    const login = loginOf({ kind: "failed" });
    const reply = await setUp({ login }).send("POST", "/v1/login", { body });
    assert.equal(reply.status, status);
    assert.ok(JSON.parse(reply.text).error.message.startsWith(message), reply.text);
    assert.deepEqual(login.asked, []);
  });
}

Deno.test("POST /v1/login is there as long as somebody has an account", async () => {
  const login = { ...loginOf({ kind: "failed" }), hasAccounts: false };
  const { send, as } = setUp({ login });
  const body = '{"username":"alice","password":"x"}';
  assert.match((await send("POST", "/v1/login", { body })).text, /a valid token is needed/);
  login.hasAccounts = true;
  assert.match((await send("POST", "/v1/login", { body })).text, /authentication failed/);
  assert.equal((await as("free")("POST", "/v1/login", body)).status, 401);
  const { status, headers } = await send("GET", "/v1/login");
  assert.deepEqual([status, headers.get("allow")], [405, "POST"]);
});

Deno.test("a client that leaves during its login is no error", async () => {
  const { fetch, log } = setUp({ login: loginOf(new Error("gone")) });
  const client = new AbortController();
  client.abort();
  const request = new Request("http://localhost/v1/login", {
    method: "POST",
    body: '{"username":"a","password":"b"}',
    signal: client.signal,
  });
  const { status } = await fetch(request);
  assert.ok([400, 499].includes(status), String(status));
  assert.deepEqual(log, []);
});

/** Routes that take a caller's claims from these proxies; every caller may ask three questions a minute. */
function takeClaims(trustedProxies: readonly string[] = ["127.0.0.1"]) {
  const fixture = createRagFixture({
    pipelines: scriptedPipelines([pipeline("open"), pipeline("team", ["alice"])]),
    forwardedIdentity: createForwardedIdentity({
      claimsHeader: "x-claims",
      subjectClaim: "sub",
      roleClaim: "role",
      allowedRoles: [],
      trustedProxies,
    }),
    quotas: createQuotas({ rules: { default: { calls_per_minute: 3 } }, now: () => 0 }),
  });
  const headersOf = (claims?: string) => claims === undefined ? {} : { "x-claims": claims };
  return {
    ...fixture,
    ask: (name: string, claims?: string) =>
      fixture.send("POST", `/v1/pipelines/${name}`, { headers: headersOf(claims), body: '{"query":"q"}' }),
    usage: (claims?: string) => fixture.send("GET", "/v1/usage", { headers: headersOf(claims) }),
  };
}

Deno.test("what is the same for everyone asks no proxy who calls, and shows what its callers may ask", async () => {
  const { send, ask, lines } = takeClaims();
  for (const path of ["/v1/live", "/v1/openapi.json"]) assert.equal((await send("GET", path)).status, 200);
  for (const path of ["/v1/pipelines", "/v1/stats", "/v1/health"]) {
    for (const headers of [{}, { "x-claims": '{"sub":"alice"}' }]) {
      assert.deepEqual(names(await send("GET", path, { headers })), ["open"], path);
    }
  }
  assert.equal((await ask("open", '{"sub":"alice"}')).status, 200);
  // a name that a proxy gives is no account's
  assert.equal((await ask("team", '{"sub":"alice"}')).status, 404);
  assert.deepEqual(
    lines.map((line) => [line.outcome, line.principal]),
    [
      ["ok", "issuer:proxy:x-claims#alice"],
      ["pipeline_not_found", "issuer:proxy:x-claims#alice"],
    ],
  );
});

Deno.test("a question and a caller's own usage are refused alike where no proxy says who asks", async () => {
  const refused: readonly [claims: string | undefined, status: number, code: string][] = [
    [undefined, 401, "IDENTITY_REQUIRED"],
    ["", 401, "IDENTITY_REQUIRED"],
    ["[]", 400, "IDENTITY_MALFORMED"],
    [`{"sub":"${"a".repeat(8_192)}"}`, 400, "IDENTITY_MALFORMED"],
    ['{"sub":"alice","role":"postgres"}', 403, "IDENTITY_ROLE_NOT_ALLOWED"],
  ];
  const { ask, usage, lines, send } = takeClaims();
  for (const [claims, status, code] of refused) {
    for (const reply of [await ask("open", claims), await usage(claims)]) {
      assert.deepEqual([reply.status, JSON.parse(reply.text).error.code], [status, code]);
    }
  }
  assert.equal((await send("HEAD", "/v1/usage")).status, 401);
  const elsewhere = takeClaims(["192.0.2.1"]);
  for (const reply of [await elsewhere.ask("open", "{}"), await elsewhere.usage("{}")]) {
    assert.deepEqual(
      [reply.status, JSON.parse(reply.text).error.code],
      [403, "IDENTITY_UNTRUSTED_PEER"],
    );
  }
  assert.deepEqual(lines, []);
});

for (const what of ["claim", "role"] as const) {
  Deno.test(`a caller whose ${what} does not do is refused before a place is taken, and told why`, async () => {
    const handbook = scriptedPipeline({ name: "handbook", script: script(chunk("a"), done) });
    const refused = new UntoldCallerError("handbook", what, "the caller has none");
    let begun = 0;
    const { ask, log, lines } = createRagFixture({
      pipelines: scriptedPipelines([{
        ...handbook,
        checkCaller: () => {
          throw refused;
        },
      }]),
      quotas: {
        isOn: true,
        usage: () => [],
        shared: () => [],
        begin: () => Promise.resolve((begun++, () => {})),
      },
    });
    const code = what === "claim" ? "IDENTITY_CLAIM_REQUIRED" : "IDENTITY_ROLE_NOT_ALLOWED";
    for (const stream of [false, true]) {
      const { status, text } = await ask({ query: "q", stream });
      assert.deepEqual([status, JSON.parse(text)], [403, {
        error: { code, message: "the caller has none" },
      }]);
    }
    assert.deepEqual([begun, handbook.asked.length], [0, 0]);
    assert.deepEqual(
      lines.map((line) => [line.outcome, line.reason]),
      Array(2).fill([code.toLowerCase(), "the caller has none"]),
    );
    assert.ok(log.every((line) => JSON.parse(line).level === "debug"), log.join("\n"));
  });
}

Deno.test("callers whom a proxy names use up their own limits and see those alone", async () => {
  const { ask, usage } = takeClaims();
  const used = async (claims: string) => JSON.parse((await usage(claims)).text).limits[0].used;
  const [alice, bob, acme, globex] = [
    '{"sub":"alice"}',
    '{"sub":"bob"}',
    '{"tenant":"acme"}',
    '{"tenant":"globex"}',
  ];
  for (const claims of [alice, '{"sub":"alice","iat":1}', alice, acme, acme, acme]) {
    assert.equal((await ask("open", claims)).status, 200);
  }
  assert.equal((await ask("open", alice)).status, 429);
  assert.equal((await ask("open", acme)).status, 429);
  assert.deepEqual(await Promise.all([alice, bob, acme, globex].map(used)), [3, 0, 3, 0]);
  assert.equal((await ask("open", globex)).status, 200);
});
