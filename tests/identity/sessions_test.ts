import assert from "node:assert/strict";
import type { Session } from "../../src/identity/authenticator.ts";
import { presentToken } from "../../src/identity/presented_token.ts";
import { Buffer } from "node:buffer";
import { createSessions } from "../../src/identity/sessions.ts";
import type { UserRecord } from "../../src/identity/users/user_file.ts";

const dayMs = 86_400_000;

function userOf(
  username: string,
  enabled: boolean,
  disabledReason: UserRecord["disabledReason"],
): UserRecord {
  return {
    username,
    passwordHash: "",
    annotation: null,
    createdAt: null,
    lastLogin: null,
    enabled,
    failedAttempts: 0,
    disabledReason,
  };
}

function setUp(maxPerUser?: number) {
  const clock = { now: Date.UTC(2026, 0, 15) };
  const ended: Session[] = [];
  const sessions = createSessions({
    lifetimeMs: dayMs,
    now: () => clock.now,
    onEnded: (session) => ended.push(session),
    ...(maxPerUser === undefined ? {} : { maxPerUser }),
  });
  return { clock, ended, sessions };
}

Deno.test("start() gives 32 random bytes in standard Base64 and a lifetime", () => {
  const { sessions, clock } = setUp();
  using _ = sessions;
  const made = Array.from({ length: 200 }, () => sessions.start("alice"));
  for (const { token, expiresAt, username } of made) {
    assert.match(token, /^[A-Za-z0-9+/]{43}=$/);
    assert.equal(Buffer.from(token, "base64").length, 32);
    assert.deepEqual([expiresAt, username], [clock.now + dayMs, "alice"]);
  }
  assert.equal(new Set(made.map(({ token }) => token)).size, 200);
  assert.equal(new Set(made.map(({ id }) => id)).size, 200);
  assert.ok(made.some(({ token }) => token.includes("+")) && made.some(({ token }) => token.includes("/")));
});

Deno.test("find() finds each of a user's sessions by its token and nothing else", () => {
  const { sessions, clock } = setUp();
  using _ = sessions;
  const [first, second, other] = [sessions.start("alice"), sessions.start("alice"), sessions.start("bob")];
  for (const { token, id, username } of [first, second, other]) {
    assert.deepEqual(sessions.find(presentToken(token), clock.now), { id, username });
  }
  for (
    const token of [
      "",
      "=",
      "x",
      first.id,
      `${first.token}=`,
      first.token.slice(0, -1),
      "a".repeat(10_000),
      "\n",
    ]
  ) {
    assert.equal(sessions.find(presentToken(token), clock.now), undefined);
  }
});

Deno.test("a session ends with its time, from the very millisecond on, and is told of once", () => {
  const { sessions, clock, ended } = setUp();
  using _ = sessions;
  const { token, id, expiresAt } = sessions.start("alice");
  assert.equal(sessions.find(presentToken(token), expiresAt - 1)?.id, id);
  assert.equal(sessions.find(presentToken(token), expiresAt), undefined);
  assert.deepEqual(ended, [{ id, username: "alice" }]);
  clock.now = expiresAt;
  sessions.sweep();
  assert.equal(ended.length, 1);
  assert.equal(sessions.find(presentToken(token), 0), undefined);
});

Deno.test("sweep() ends what has expired and nothing else", () => {
  const { sessions, clock, ended } = setUp();
  using _ = sessions;
  const old = [sessions.start("alice"), sessions.start("bob")];
  clock.now += 1000;
  const young = sessions.start("alice");
  clock.now += dayMs - 1000;
  sessions.sweep();
  assert.deepEqual(ended.map(({ id }) => id), old.map(({ id }) => id));
  assert.equal(sessions.size, 1);
  assert.ok(sessions.find(presentToken(young.token), clock.now));
});

Deno.test("end() ends one session, reconcile() all of a user's", () => {
  const { sessions, clock, ended } = setUp();
  using _ = sessions;
  const [first, second, third, other] = ["alice", "alice", "alice", "bob"].map((name) =>
    sessions.start(name)
  );
  assert.ok(first && second && third && other);
  sessions.end(first.id);
  sessions.end(first.id);
  sessions.end("nonsense");
  assert.deepEqual(ended.map(({ id }) => id), [first.id]);
  assert.equal(sessions.find(presentToken(first.token), clock.now), undefined);
  assert.ok(sessions.find(presentToken(second.token), clock.now));
  sessions.reconcile({ find: (name) => name === "alice" ? undefined : userOf(name, true, null) });
  assert.deepEqual(ended.map(({ id }) => id), [first.id, second.id, third.id]);
  assert.ok(sessions.find(presentToken(other.token), clock.now));
});

Deno.test("reconcile() ends the sessions of users who are gone or whom an administrator disabled, not of locked ones", () => {
  const { sessions, ended } = setUp();
  using _ = sessions;
  const users = new Map(
    [
      userOf("fine", true, null),
      userOf("locked", false, "lockout"),
      userOf("disabled", false, "administrator"),
      userOf("disabled without a reason", false, null),
    ].map((record) => [record.username, record]),
  );
  for (const name of ["gone", ...users.keys(), "gone"]) sessions.start(name);
  sessions.reconcile({ find: (name) => users.get(name) });
  assert.deepEqual(ended.map(({ username }) => username).toSorted(), [
    "disabled",
    "disabled without a reason",
    "gone",
    "gone",
  ]);
});

Deno.test("reconcile() ends the sessions of an account that was made anew", () => {
  const { sessions, ended } = setUp();
  using _ = sessions;
  const [before, after, undated] = [
    sessions.start("alice", 1_000),
    sessions.start("alice", 2_000),
    sessions.start("bob"),
  ];
  assert.ok(before && after && undated);
  const createdAt: Readonly<Record<string, number | null>> = { alice: 2_000, bob: null };
  sessions.reconcile({
    find: (name) => ({ ...userOf(name, true, null), createdAt: createdAt[name] ?? null }),
  });
  assert.deepEqual(ended.map(({ id }) => id), [before.id]);
});

Deno.test("a login beyond the bound ends the user's oldest session", () => {
  const { sessions, clock, ended } = setUp(2);
  using _ = sessions;
  const [first, second, third] = ["alice", "alice", "alice"].map((name) => sessions.start(name));
  assert.ok(first && second && third);
  sessions.start("bob");
  assert.deepEqual(ended.map(({ id }) => id), [first.id]);
  assert.ok(
    sessions.find(presentToken(second.token), clock.now) &&
      sessions.find(presentToken(third.token), clock.now),
  );
});
