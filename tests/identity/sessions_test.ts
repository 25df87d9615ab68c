import assert from "node:assert/strict";
import type { Session } from "../../src/identity/authenticator.ts";
import { presentToken } from "../../src/identity/presented_token.ts";
import { Buffer } from "node:buffer";
import { createSessions } from "../../src/identity/sessions.ts";
import type { UserRecord } from "../../src/identity/users/user_file.ts";
import { AppError } from "../../src/core/app_error.ts";
import { type OpenState, testSharedStates, testStates } from "../support/state.ts";
import { waitUntil } from "../support/wait_until.ts";

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

Deno.test("start() gives 32 random bytes in standard Base64 and a lifetime", async () => {
  const { sessions, clock } = setUp();
  using _ = sessions;
  const made = await Promise.all(Array.from({ length: 200 }, () => sessions.start("alice")));
  for (const { token, expiresAt, username } of made) {
    assert.match(token, /^[A-Za-z0-9+/]{43}=$/);
    assert.equal(Buffer.from(token, "base64").length, 32);
    assert.deepEqual([expiresAt, username], [clock.now + dayMs, "alice"]);
  }
  assert.equal(new Set(made.map(({ token }) => token)).size, 200);
  assert.equal(new Set(made.map(({ id }) => id)).size, 200);
  assert.ok(made.some(({ token }) => token.includes("+")) && made.some(({ token }) => token.includes("/")));
});

Deno.test("find() finds each of a user's sessions by its token and nothing else", async () => {
  const { sessions, clock } = setUp();
  using _ = sessions;
  const [first, second, other] = [
    await sessions.start("alice"),
    await sessions.start("alice"),
    await sessions.start("bob"),
  ];
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

Deno.test("a session ends with its time, from the very millisecond on, and is told of once", async () => {
  const { sessions, clock, ended } = setUp();
  using _ = sessions;
  const { token, id, expiresAt } = await sessions.start("alice");
  assert.equal(sessions.find(presentToken(token), expiresAt - 1)?.id, id);
  assert.equal(sessions.find(presentToken(token), expiresAt), undefined);
  assert.deepEqual(ended, [{ id, username: "alice" }]);
  clock.now = expiresAt;
  sessions.sweep();
  assert.equal(ended.length, 1);
  assert.equal(sessions.find(presentToken(token), 0), undefined);
});

Deno.test("sweep() ends what has expired and nothing else", async () => {
  const { sessions, clock, ended } = setUp();
  using _ = sessions;
  const old = [await sessions.start("alice"), await sessions.start("bob")];
  clock.now += 1000;
  const young = await sessions.start("alice");
  clock.now += dayMs - 1000;
  sessions.sweep();
  assert.deepEqual(ended.map(({ id }) => id), old.map(({ id }) => id));
  assert.equal(sessions.size, 1);
  assert.ok(sessions.find(presentToken(young.token), clock.now));
});

Deno.test("end() ends one session, reconcile() all of a user's", async () => {
  const { sessions, clock, ended } = setUp();
  using _ = sessions;
  const [first, second, third, other] = await Promise.all(
    ["alice", "alice", "alice", "bob"].map((name) => sessions.start(name)),
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

Deno.test("reconcile() ends the sessions of users who are gone or whom an administrator disabled, not of locked ones", async () => {
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
  for (const name of ["gone", ...users.keys(), "gone"]) await sessions.start(name);
  sessions.reconcile({ find: (name) => users.get(name) });
  assert.deepEqual(ended.map(({ username }) => username).toSorted(), [
    "disabled",
    "disabled without a reason",
    "gone",
    "gone",
  ]);
});

Deno.test("reconcile() ends the sessions of an account that was made anew", async () => {
  const { sessions, ended } = setUp();
  using _ = sessions;
  const [before, after, undated] = [
    await sessions.start("alice", 1_000),
    await sessions.start("alice", 2_000),
    await sessions.start("bob"),
  ];
  assert.ok(before && after && undated);
  const createdAt: Readonly<Record<string, number | null>> = { alice: 2_000, bob: null };
  sessions.reconcile({
    find: (name) => ({ ...userOf(name, true, null), createdAt: createdAt[name] ?? null }),
  });
  assert.deepEqual(ended.map(({ id }) => id), [before.id]);
});

Deno.test("a login beyond the bound ends the user's oldest session", async () => {
  const { sessions, clock, ended } = setUp(2);
  using _ = sessions;
  const [first, second, third] = await Promise.all(
    ["alice", "alice", "alice"].map((name) => sessions.start(name)),
  );
  assert.ok(first && second && third);
  await sessions.start("bob");
  assert.deepEqual(ended.map(({ id }) => id), [first.id]);
  assert.ok(
    sessions.find(presentToken(second.token), clock.now) &&
      sessions.find(presentToken(third.token), clock.now),
  );
});

/** The sessions of one more process. */
async function openSessions(open: OpenState, now?: () => number) {
  const state = await open(now && { now });
  const ended: string[] = [];
  const sessions = createSessions({
    lifetimeMs: dayMs,
    now: state.now,
    kept: state.of("session"),
    onEnded: ({ id }) => ended.push(id),
  });
  await state.catchUp();
  const find = (token: string) => sessions.find(presentToken(token), state.now());
  return { sessions, ended, find, learn: state.catchUp, [Symbol.dispose]: sessions.close };
}

testSharedStates("a session that began at another process is found once it is learnt", async (open) => {
  using here = await openSessions(open);
  using there = await openSessions(open);
  const { id, token } = await here.sessions.start("alice", 17);
  assert.deepEqual(here.find(token), { id, username: "alice", accountSince: 17 });
  await there.learn();
  assert.deepEqual(there.find(token), { id, username: "alice", accountSince: 17 });
  assert.equal(there.find(`${token.slice(0, -2)}B=`), undefined);
  // a process that starts later knows it too
  using later = await openSessions(open);
  assert.equal(later.find(token)?.id, id);
});

testSharedStates(
  "a session that is ended at one process ends at the others, and is told of once",
  async (open) => {
    using here = await openSessions(open);
    using there = await openSessions(open);
    const { id, token } = await here.sessions.start("alice");
    const other = await here.sessions.start("alice");
    await there.learn();
    there.sessions.end(id);
    assert.equal(there.find(token), undefined);
    await waitUntil("it has ended there too", () => here.find(token) === undefined);
    await here.learn();
    await there.learn();
    assert.deepEqual([here.ended, there.ended], [[id], [id]]);
    assert.ok(here.find(other.token) && there.find(other.token));
  },
);

testStates("no token stands in the state as it is", async (open) => {
  const state = await open();
  using sessions = createSessions({ lifetimeMs: dayMs, now: state.now, kept: state.of("session") });
  const { token } = await sessions.start("alice");
  const kept: unknown[] = [];
  const later = await open();
  later.of("session").follow((_id, record) => kept.push(record));
  await later.catchUp();
  assert.equal(kept.length, 1);
  assert.ok(!JSON.stringify(kept).includes(token.slice(0, 20)));
});

testSharedStates(
  "sessions that were kept end each with its time, in whatever order they are read",
  async (open) => {
    let time = Date.UTC(2026, 0, 15);
    const now = () => time;
    const order: string[] = [];
    {
      using first = await openSessions(open, now);
      for (let count = 0; count < 20; count++) {
        time += 1_000;
        order.push((await first.sessions.start("alice")).id);
      }
    }
    using second = await openSessions(open, now);
    assert.equal(second.sessions.size, 20);
    time += dayMs - 10_000;
    second.sessions.sweep();
    assert.deepEqual(second.ended.toSorted(), order.slice(0, 10).toSorted());
  },
);

testSharedStates("a login beyond the bound ends the oldest of the sessions that were kept", async (open) => {
  let time = Date.UTC(2026, 0, 15);
  const now = () => time;
  const order: string[] = [];
  {
    using first = await openSessions(open, now);
    for (let count = 0; count < 10; count++) {
      time += 1_000;
      order.push((await first.sessions.start("alice")).id);
    }
  }
  const state = await open({ now });
  const ended: string[] = [];
  using sessions = createSessions({
    lifetimeMs: dayMs,
    now,
    kept: state.of("session"),
    onEnded: ({ id }) => ended.push(id),
    maxPerUser: 10,
  });
  await state.catchUp();
  for (let count = 0; count < 3; count++) await sessions.start("alice");
  assert.deepEqual(ended, order.slice(0, 3));
});

Deno.test("find() refuses a session where what is known of sessions may not be relied on", async () => {
  let isCurrent = true;
  using sessions = createSessions({
    lifetimeMs: dayMs,
    now: () => 0,
    requireCurrent() {
      if (!isCurrent) throw new AppError("unavailable", "away", { data: { retryAfterSeconds: 1 } });
    },
  });
  const { token } = await sessions.start("alice");
  assert.ok(sessions.find(presentToken(token), 0));
  isCurrent = false;
  assert.throws(() => sessions.find(presentToken(token), 0), { code: "unavailable" });
  // nothing is told of what lets nobody in
  assert.equal(sessions.find(presentToken("a".repeat(44)), 0), undefined);
  assert.equal(sessions.find(presentToken(token), dayMs), undefined);
});

Deno.test("a session that could not be kept where others would have to know it does not begin", async () => {
  const away = new AppError("unavailable", "away", { data: { retryAfterSeconds: 1 } });
  using sessions = createSessions({
    lifetimeMs: dayMs,
    now: () => 0,
    kept: { keep: () => Promise.reject(away), forget: () => Promise.resolve(false), follow: () => {} },
  });
  await assert.rejects(sessions.start("alice"), away);
  assert.equal(sessions.size, 0);
});

testSharedStates(
  "a session of whom another server's file has is refused here, and goes on there",
  async (open) => {
    const alice = userOf("alice", true, null);
    const start = async (users: Map<string, UserRecord>) => {
      const state = await open();
      const ended: string[] = [];
      const sessions = createSessions({
        lifetimeMs: dayMs,
        now: state.now,
        kept: state.of("session"),
        accounts: { find: (name) => users.get(name) },
        onEnded: ({ username }) => ended.push(username),
      });
      await state.catchUp();
      return {
        state,
        sessions,
        ended,
        users,
        has: (token: string) => sessions.find(presentToken(token), state.now()),
      };
    };
    const old = await start(new Map([["alice", alice]]));
    const rolled = await start(new Map());
    using _old = old.sessions;
    using _rolled = rolled.sessions;
    const { token } = await old.sessions.start("alice");
    await rolled.state.catchUp();
    assert.equal(rolled.has(token), undefined);
    assert.equal(old.has(token)?.username, "alice");
    rolled.sessions.reconcile({ find: (name) => rolled.users.get(name) });
    assert.deepEqual(rolled.ended, ["alice"]);
    await old.state.catchUp();
    assert.equal(old.has(token)?.username, "alice");
    // a file that has come late lets in too, and one that disables does not
    rolled.users.set("alice", alice);
    assert.equal(rolled.has(token)?.username, "alice");
    rolled.users.set("alice", userOf("alice", false, "administrator"));
    assert.equal(rolled.has(token), undefined);
  },
);
