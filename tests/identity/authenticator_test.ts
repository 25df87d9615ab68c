import assert from "node:assert/strict";
import { createAuthenticator, withIssuer } from "../../src/identity/authenticator.ts";
import { presentToken } from "../../src/identity/presented_token.ts";
import { createSessions } from "../../src/identity/sessions.ts";
import { createToken } from "../../src/identity/tokens/token_file.ts";
import { createTokenIndex } from "../../src/identity/tokens/token_directory.ts";

const free = createToken({ id: "token-1", expiry: "never", now: 0 });
const bound = createToken({ id: "token-2", database: "staging", expiry: 60_000, now: 0 });
let time = 1000;
const authenticator = createAuthenticator({
  tokens: createTokenIndex([free.record, bound.record]),
  now: () => time,
});

Deno.test("authenticate() tells the principal of a token, with the database that it is bound to", () => {
  assert.deepEqual(authenticator.authenticate(`Bearer ${free.token}`), { kind: "token", id: "token-1" });
  assert.deepEqual(authenticator.authenticate(`Bearer ${bound.token}`), {
    kind: "token",
    id: "token-2",
    database: "staging",
  });
});

for (const scheme of ["bearer", "BEARER", "bEaReR"]) {
  Deno.test(`authenticate() takes the scheme as ${scheme}`, () => {
    assert.equal(authenticator.authenticate(`${scheme} ${free.token}`)?.kind, "token");
  });
}

const refused: [title: string, header: string | null][] = [
  ["no header", null],
  ["an empty header", ""],
  ["the scheme alone", "Bearer"],
  ["the scheme and a space", "Bearer "],
  ["the token alone", free.token],
  ["another scheme", `Basic ${free.token}`],
  ["a longer scheme", `XBearer ${free.token}`],
  ["no space", `Bearer${free.token}`],
  ["two spaces", `Bearer  ${free.token}`],
  ["a tab", `Bearer\t${free.token}`],
  ["a space after", `Bearer ${free.token} `],
  ["a line end after", `Bearer ${free.token}\n`],
  ["a parameter", `Bearer ${free.token}, realm=x`],
  ["two headers in one", `Bearer ${free.token}, Bearer ${free.token}`],
  ["an unknown token", `Bearer ${free.token}x`],
  ["the hash in place of the token", `Bearer ${free.record.hash}`],
  ["padding added", `Bearer ${free.token}=`],
  ["too long a token", `Bearer ${"a".repeat(1_000_000)}`],
];
for (const [title, header] of refused) {
  Deno.test(`authenticate() refuses ${title}`, () => {
    assert.equal(authenticator.authenticate(header), undefined);
  });
}

Deno.test("authenticate() refuses a token once its time is over", () => {
  time = 60_000;
  assert.equal(authenticator.authenticate(`Bearer ${bound.token}`), undefined);
  assert.equal(authenticator.authenticate(`Bearer ${free.token}`)?.kind, "token");
});

Deno.test("authenticate() refuses a token that let a caller in once it is gone, and takes it where it is back", () => {
  let tokens = createTokenIndex([free.record]);
  const changing = createAuthenticator({
    tokens: { find: (presented, nowMs) => tokens.find(presented, nowMs) },
    now: () => time,
  });
  const ask = () => changing.authenticate(`Bearer ${free.token}`);
  assert.deepEqual([ask(), ask()], [{ kind: "token", id: "token-1" }, { kind: "token", id: "token-1" }]);
  tokens = createTokenIndex([{ ...free.record, id: "token-9", database: "staging" }]);
  assert.deepEqual(ask(), { kind: "token", id: "token-9", database: "staging" });
  tokens = createTokenIndex([]);
  assert.deepEqual([ask(), ask()], [undefined, undefined]);
  tokens = createTokenIndex([free.record]);
  assert.equal(ask()?.kind, "token");
});

Deno.test("authenticate() tells the principal of a session, and of a token beside it", () => {
  using sessions = createSessions({ lifetimeMs: 1000, now: () => time });
  const both = createAuthenticator({ tokens: createTokenIndex([free.record]), sessions, now: () => time });
  const { id, token, expiresAt } = sessions.start("alice");
  assert.deepEqual(both.authenticate(`Bearer ${token}`), { kind: "session", id, username: "alice" });
  assert.deepEqual(both.authenticate(`Bearer ${free.token}`), { kind: "token", id: "token-1" });
  assert.equal(both.authenticate(`Bearer ${token.slice(0, -1)}`), undefined);
  time = expiresAt;
  assert.equal(both.authenticate(`Bearer ${token}`), undefined);
});

Deno.test("authenticate() looks in both places whatever the token is, and refuses what is of neither kind alike", () => {
  const asked: string[] = [];
  const names = ["api", "session", "neither"];
  const nameOf = (hash: string | undefined) => names.find((name) => presentToken(name)?.hash === hash);
  const places = createAuthenticator({
    tokens: {
      find: (presented) => {
        const token = nameOf(presented?.hash);
        asked.push(`tokens ${token}`);
        return token === "api" ? free.record : undefined;
      },
    },
    sessions: {
      find: (presented) => {
        const token = nameOf(presented?.hash);
        asked.push(`sessions ${token}`);
        return token === "session" ? { id: "s", username: "alice" } : undefined;
      },
    },
    grants: {
      find: (presented) => {
        asked.push(`grants ${nameOf(presented?.hash)}`);
        return undefined;
      },
    },
    now: () => time,
  });
  const kinds = names.map((token) => places.authenticate(`Bearer ${token}`)?.kind);
  assert.deepEqual(kinds, ["token", "session", undefined]);
  // what is in a file is asked only about what is of neither kind
  assert.deepEqual(asked, [
    ...names.flatMap((token) => [`tokens ${token}`, `sessions ${token}`]),
    "grants neither",
  ]);
});

Deno.test("an issuer hears of no API token or session, be it another process's", () => {
  using here = createSessions({ lifetimeMs: 1000, now: () => time });
  using elsewhere = createSessions({ lifetimeMs: 1000, now: () => time });
  const asked: string[] = [];
  const own = createAuthenticator({
    tokens: createTokenIndex([free.record]),
    sessions: here,
    now: () => time,
  });
  const { authenticate } = withIssuer(own, { authenticate: (token) => void asked.push(token) }, () => false);
  const unknown = createToken({ id: "token-3", expiry: "never", now: 0 }).token;
  const ours = [free.token, unknown, here.start("alice").token, elsewhere.start("alice").token];
  const opaque = ["opaque", "a".repeat(43), "a".repeat(44), `${"a".repeat(42)}_=`];
  for (const token of [...ours, ...opaque, "opaque,x"]) authenticate(`Bearer ${token}`, () => "192.0.2.1");
  assert.deepEqual(asked, opaque);
});

Deno.test("an issuer hears of a JWT whoever may have made it, and of nothing else that may be ours", () => {
  const asked: string[] = [];
  const own = createAuthenticator({ now: () => time });
  const { authenticate } = withIssuer(own, { authenticate: (token) => void asked.push(token) }, () => true);
  const jwt = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJ4In0.AAAA";
  for (const token of ["opaque", jwt]) authenticate(`Bearer ${token}`, () => "192.0.2.1");
  assert.deepEqual(asked, [jwt]);
});

Deno.test("a token of more than 512 characters is not even hashed", () => {
  assert.notEqual(presentToken("a".repeat(512)), undefined);
  assert.equal(presentToken("a".repeat(513)), undefined);
});
