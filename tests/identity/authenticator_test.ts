import assert from "node:assert/strict";
import { createAuthenticator, withIssuer } from "../../src/identity/authenticator.ts";
import { presentToken } from "../../src/identity/presented_token.ts";
import { createSessions } from "../../src/identity/sessions.ts";
import { createToken } from "../../src/identity/tokens/token_file.ts";
import { testSharedStates } from "../support/state.ts";
import { AppError } from "../../src/core/app_error.ts";
import { sha256 } from "../../src/core/text/sha256.ts";
import { parseLimits } from "../../src/identity/tokens/limited_tokens.ts";
import { createTokenIndex } from "../../src/identity/tokens/token_directory.ts";

const free = createToken({ id: "token-1", expiry: "never", now: 0 });
const bound = createToken({ id: "token-2", database: "staging", expiry: 60_000, now: 0 });
let time = 1000;
const authenticator = createAuthenticator({
  tokens: createTokenIndex([free.record, bound.record]),
  now: () => time,
});

/** What a token lets in as, which takes no look elsewhere. */
function kindAtOnce(principal: ReturnType<typeof authenticator.authenticate>): string | undefined {
  assert.ok(!(principal instanceof Promise));
  return principal?.kind;
}

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
    assert.equal(kindAtOnce(authenticator.authenticate(`${scheme} ${free.token}`)), "token");
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

Deno.test("authenticate() refuses a token from a network that it is not for, as if it were unknown", () => {
  const texts = { networks: "192.0.2.0/24, 2001:db8::/32", tools: "query_database" };
  const here = createToken({ ...parseLimits(texts), id: "token-3", expiry: "never", now: 0 });
  const refusals: string[][] = [];
  const { authenticate } = createAuthenticator({
    tokens: createTokenIndex([here.record]),
    onOtherNetwork: (...refusal) => refusals.push(refusal),
    now: () => 0,
  });
  const from = (address: string) => authenticate(`Bearer ${here.token}`, () => address);
  const limits = { tools: ["query_database"], networks: ["192.0.2.0/24", "2001:db8::/32"] };
  const principal = { kind: "token", id: "token-3", limits };
  assert.deepEqual(from("192.0.2.200"), principal);
  assert.deepEqual(from("::ffff:192.0.2.1"), principal);
  assert.deepEqual(from("2001:db8:1::1"), principal);
  assert.deepEqual(refusals, []);
  for (const address of ["192.0.3.1", "::1", "no address"]) assert.equal(from(address), undefined);
  assert.deepEqual(refusals, [["token-3", "192.0.3.1"], ["token-3", "::1"], ["token-3", "no address"]]);
});

Deno.test("no issuer is asked about a token from a network that it is not for", () => {
  const ours = createToken({ ...parseLimits({ networks: "192.0.2.1" }), id: "t", expiry: "never", now: 0 });
  const foreign = { ...ours.record, hash: sha256("made-elsewhere") };
  const own = createAuthenticator({ tokens: createTokenIndex([foreign]), now: () => 0 });
  const issuer = { authenticate: () => assert.fail("the issuer was asked") };
  const both = withIssuer(own, issuer, (header) => own.authenticate(header) !== undefined);
  assert.equal(both.authenticate("Bearer made-elsewhere", () => "192.0.2.2"), undefined);
});

Deno.test("authenticate() refuses a token once its time is over", () => {
  time = 60_000;
  assert.equal(authenticator.authenticate(`Bearer ${bound.token}`), undefined);
  assert.equal(kindAtOnce(authenticator.authenticate(`Bearer ${free.token}`)), "token");
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
  assert.equal(kindAtOnce(ask()), "token");
});

Deno.test("authenticate() tells the principal of a session, and of a token beside it", async () => {
  using sessions = createSessions({ lifetimeMs: 1000, now: () => time });
  const both = createAuthenticator({ tokens: createTokenIndex([free.record]), sessions, now: () => time });
  const { id, token, expiresAt } = await sessions.start("alice");
  assert.deepEqual(both.authenticate(`Bearer ${token}`), { kind: "session", id, username: "alice" });
  assert.deepEqual(both.authenticate(`Bearer ${free.token}`), { kind: "token", id: "token-1" });
  assert.equal(both.authenticate(`Bearer ${token.slice(0, -1)}`), undefined);
  time = expiresAt;
  assert.equal(both.authenticate(`Bearer ${token}`), undefined);
});

Deno.test("authenticate() looks in both places whatever the token is, and refuses what is of neither kind alike", () => {
  const asked: string[] = [];
  const names = ["api", "session", "pst_neither", "neither"];
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
  const kinds = names.map((token) => kindAtOnce(places.authenticate(`Bearer ${token}`)));
  assert.deepEqual(kinds, ["token", "session", undefined, undefined]);
  // what is in the state is asked only about what is of neither kind and has the form of an access token
  assert.deepEqual(asked, [
    ...names.slice(0, 3).flatMap((token) => [`tokens ${token}`, `sessions ${token}`]),
    "grants pst_neither",
    "tokens neither",
    "sessions neither",
  ]);
});

Deno.test("an issuer hears of no API token or session, be it another process's", async () => {
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
  const sessions = [await here.start("alice"), await elsewhere.start("alice")];
  const ours = [free.token, unknown, ...sessions.map(({ token }) => token)];
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

testSharedStates("a session that began at another process is found on the first try", async (open) => {
  const [here, there] = [await open(), await open({ isTold: false })];
  const sessionsOf = (state: typeof here) =>
    createSessions({ lifetimeMs: 60_000, now: state.now, kept: state.of("session"), learn: state.catchUp });
  using mine = sessionsOf(here);
  using theirs = sessionsOf(there);
  await there.catchUp();
  const asked: string[] = [];
  const own = createAuthenticator({ sessions: theirs, now: there.now });
  const { authenticate } = withIssuer(own, { authenticate: (token) => void asked.push(token) }, () => false);
  const ask = (token: string) => authenticate(`Bearer ${token}`, () => "192.0.2.1");
  const { id, token } = await mine.start("alice");
  assert.deepEqual(await ask(token), { kind: "session", id, username: "alice" });
  // from then on it is known
  assert.deepEqual(ask(token), { kind: "session", id, username: "alice" });
  assert.equal(await ask(`${"a".repeat(42)}A=`), undefined);
  assert.deepEqual(asked, []);
});

Deno.test("a session that may have begun at another process is refused where nobody can tell", async () => {
  const away = new AppError("unavailable", "away", { data: { retryAfterSeconds: 1 } });
  let isLearnt = 0;
  const { authenticate } = createAuthenticator({
    tokens: createTokenIndex([free.record]),
    sessions: {
      find: () => undefined,
      learn() {
        isLearnt++;
        return Promise.reject(away);
      },
    },
    now: () => time,
  });
  await assert.rejects(async () => await authenticate(`Bearer ${"a".repeat(43)}=`), away);
  assert.equal(isLearnt, 1);
  // what has not the form of a session's token is no session
  assert.equal(kindAtOnce(authenticate(`Bearer ${free.token}`)), "token");
  assert.equal(kindAtOnce(authenticate(`Bearer ${"a".repeat(43)}`)), undefined);
  assert.equal(isLearnt, 1);
});

Deno.test("a session is refused where what is known of sessions may not be relied on, and no API token is", async () => {
  const away = new AppError("unavailable", "away", { data: { retryAfterSeconds: 1 } });
  let isCurrent = true;
  using sessions = createSessions({
    lifetimeMs: 60_000,
    now: () => time,
    requireCurrent() {
      if (!isCurrent) throw away;
    },
  });
  const { token } = await sessions.start("alice");
  const { authenticate } = createAuthenticator({
    tokens: createTokenIndex([free.record]),
    sessions,
    now: () => time,
  });
  assert.equal(kindAtOnce(authenticate(`Bearer ${token}`)), "session");
  isCurrent = false;
  assert.throws(() => authenticate(`Bearer ${token}`), away);
  assert.equal(kindAtOnce(authenticate(`Bearer ${free.token}`)), "token");
  isCurrent = true;
  assert.equal(kindAtOnce(authenticate(`Bearer ${token}`)), "session");
});

Deno.test("an access token that has to be looked up lets in once it was found", async () => {
  const access = `pst_${"x".repeat(43)}`;
  let isGood = true;
  const { authenticate } = createAuthenticator({
    grants: {
      find: (presented) =>
        Promise.resolve(
          isGood && presented?.hash === presentToken(access)?.hash
            ? { id: "g", username: "alice" }
            : undefined,
        ),
    },
    now: () => time,
  });
  const ask = (token: string) => authenticate(`Bearer ${token}`);
  assert.ok(ask(access) instanceof Promise);
  const found = { kind: "session", id: "g", username: "alice" };
  assert.deepEqual([await ask(access), await ask(access)], [found, found]);
  assert.equal(await ask(`${access}y`), undefined);
  isGood = false;
  assert.equal(await ask(access), undefined);
});
