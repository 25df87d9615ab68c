import assert from "node:assert/strict";
import { presentToken } from "../../src/identity/presented_token.ts";
import { createLogin, type LoginReport, type LoginResult } from "../../src/identity/login.ts";
import {
  type Comparison,
  createPasswordHasher,
  hashPassword,
  type PasswordHasher,
  type PasswordHasherOptions,
} from "../../src/identity/users/password_hashing.ts";
import { createRateLimiter } from "../../src/identity/rate_limiter.ts";
import { createSessions } from "../../src/identity/sessions.ts";
import { openUserDirectory } from "../../src/identity/users/user_directory.ts";
import { deleteUser, disableUser, updateUser } from "../../src/identity/users/user_file.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { pgedgePassword, pgedgeUserFile } from "./pgedge_user_file.ts";
import { AppError } from "../../src/core/app_error.ts";
import type { State } from "../../src/state/state.ts";
import { testWithPostgres } from "../support/database.ts";
import { createStateDatabase, memoryState } from "../support/state.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";

const start = Date.UTC(2026, 0, 15, 8, 30);
const never = new AbortController().signal;

async function setUp(
  options:
    & { maxFailedAttempts?: number; maxAttempts?: number; cost?: number; text?: string; state?: State }
    & PasswordHasherOptions = {},
) {
  const folder = await temporaryFolder();
  const path = `${folder.path}/users.yaml`;
  await Deno.writeTextFile(path, options.text ?? pgedgeUserFile);
  const clock = { now: start };
  const now = () => clock.now;
  const directory = await openUserDirectory({
    path,
    maxFailedAttempts: options.maxFailedAttempts ?? 0,
    now,
    logger: silentLogger,
  });
  // the cost of real passwords would make these tests take minutes
  const users = { ...directory, highestCost: options.cost ?? 4 };
  const passwords = createPasswordHasher({ workers: 1, ...options });
  const comparisons: Comparison[] = [];
  // what comparisons wait for before their outcome is told
  const held = { until: Promise.resolve() };
  const counted: PasswordHasher = {
    ...passwords,
    compare: async (request) => {
      const comparison = await passwords.compare(request);
      await held.until;
      comparisons.push(comparison);
      return comparison;
    },
  };
  const { state } = options;
  const sessions = createSessions({ lifetimeMs: 86_400_000, now, kept: state?.of("session") });
  const limiter = createRateLimiter({
    windowMs: 900_000,
    maxAttempts: options.maxAttempts ?? 1_000,
    now,
    kept: state?.of("failed login"),
    wallNow: now,
  });
  await state?.catchUp();
  const reports: LoginReport[] = [];
  const login = createLogin({
    users,
    passwords: counted,
    sessions,
    limiter,
    learn: state?.catchUp,
    onLogin: (report) => void reports.push(report),
  });
  return {
    path,
    clock,
    users,
    sessions,
    comparisons,
    held,
    reports,
    verify: (username: string, password: string, address = "192.0.2.1") =>
      login.verify({ username, password, address, signal: never }),
    try: (username: string, password: string, address = "192.0.2.1", signal: AbortSignal = never) =>
      login.authenticate({ username, password, address, signal }),
    async [Symbol.asyncDispose]() {
      passwords.close();
      sessions.close();
      await directory.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const kinds = (results: readonly LoginResult[]) => results.map(({ kind }) => kind);

Deno.test("a login with the right password opens a session", async () => {
  await using test = await setUp();
  const result = await test.try("alice", pgedgePassword);
  assert.ok(result.kind === "success");
  assert.match(result.sessionToken, /^[A-Za-z0-9+/]{43}=$/);
  assert.equal(result.expiresAt, start + 86_400_000);
  const session = test.sessions.find(presentToken(result.sessionToken), start);
  assert.equal(session?.username, "alice");
  assert.deepEqual(test.reports, [
    { username: "alice", address: "192.0.2.1", result: "success", sessionId: session?.id ?? "" },
  ]);
  assert.deepEqual([test.users.find("alice")?.failedAttempts, test.users.find("alice")?.lastLogin], [
    0,
    start,
  ]);
});

const failed: [title: string, username: string, password: string, reason: LoginReport["reason"]][] = [
  ["a wrong password", "alice", "wrong", "wrong_password"],
  ["an empty password", "alice", "", "wrong_password"],
  [
    "a password that bcrypt would cut to the right one",
    "alice",
    pgedgePassword.padEnd(80, "x"),
    "wrong_password",
  ],
  ["a password with NUL behind the right one", "alice", `${pgedgePassword}\0x`, "wrong_password"],
  ["a password that is not well-formed", "alice", "\ud800", "wrong_password"],
  ["a password of a million characters", "alice", "x".repeat(1_000_000), "wrong_password"],
  ["a disabled account and its right password", "charlie", pgedgePassword, "disabled"],
  ["a disabled account and a wrong password", "charlie", "wrong", "disabled"],
  ["a name in other letters", "Alice", pgedgePassword, "unknown_user"],
  ["an empty name", "", "", "unknown_user"],
  ["__proto__", "__proto__", pgedgePassword, "unknown_user"],
  ["a name of 10,000 characters", "x".repeat(10_000), pgedgePassword, "unknown_user"],
  [
    "a name with control characters and marks of direction",
    "al\u0000\u202eice",
    pgedgePassword,
    "unknown_user",
  ],
];
for (const [title, username, password, reason] of failed) {
  Deno.test(`a login with ${title} fails like every other`, async () => {
    await using test = await setUp();
    assert.deepEqual(await test.try(username, password), { kind: "failed" });
    assert.deepEqual(test.reports, [{ username, address: "192.0.2.1", result: "failed", reason }]);
    assert.equal(test.sessions.size, 0);
  });
}

Deno.test("a hash of 72 bytes and more of the password does not let in one of the same 72 bytes", async () => {
  const password = "x".repeat(72);
  await using test = await setUp({
    text: `users:\n  alice:\n    password_hash: ${hashPassword(password)}\n`,
    cost: 12,
  });
  assert.equal((await test.try("alice", password)).kind, "success");
  assert.equal((await test.try("alice", `${password}y`)).kind, "failed");
});

Deno.test("failures in a row lock the account for the right password too; another's and an open session go on", async () => {
  await using test = await setUp({ maxFailedAttempts: 3 });
  const open = await test.try("bob", pgedgePassword);
  assert.ok(open.kind === "success");
  assert.deepEqual(kinds([await test.try("bob", "a"), await test.try("bob", "b")]), ["failed", "failed"]);
  assert.equal(test.users.find("bob")?.enabled, true);
  assert.equal((await test.try("bob", "c")).kind, "failed");
  assert.deepEqual(await test.try("bob", pgedgePassword), { kind: "failed" });
  assert.equal(test.reports.at(-1)?.reason, "locked");
  test.sessions.reconcile(test.users);
  assert.equal(test.sessions.find(presentToken(open.sessionToken), start)?.username, "bob");
  assert.equal((await test.try("alice", pgedgePassword)).kind, "success");
});

Deno.test("a success begins the count anew", async () => {
  await using test = await setUp({ maxFailedAttempts: 3 });
  for (const password of ["a", "b", pgedgePassword, "c", "d", pgedgePassword]) {
    await test.try("bob", password);
  }
  assert.equal(test.users.find("bob")?.enabled, true);
});

Deno.test("guesses made at once are no more than the threshold, and the right one after them fails", async () => {
  await using test = await setUp({ maxFailedAttempts: 3, workers: 3 });
  const passwords = [...Array.from({ length: 6 }, (_, i) => `wrong ${i}`), pgedgePassword];
  const results = await Promise.all(
    passwords.map((password, i) => test.try("bob", password, `192.0.2.${i}`)),
  );
  assert.deepEqual(new Set(kinds(results)), new Set(["failed"]));
  assert.equal(test.users.find("bob")?.failedAttempts, 3);
});

Deno.test("over the limit of an address the password is not looked at, and other addresses log in", async () => {
  await using test = await setUp({ maxAttempts: 3 });
  for (const name of ["alice", "nobody", "nobody"]) {
    assert.equal((await test.try(name, "wrong")).kind, "failed");
  }
  assert.deepEqual(await test.try("alice", pgedgePassword), { kind: "rate_limited", retryAfterSeconds: 900 });
  assert.equal(test.users.find("alice")?.failedAttempts, 3);
  // nor does it wait behind those that are looked at
  assert.equal(test.comparisons.length, 3);
  assert.equal((await test.try("alice", pgedgePassword, "192.0.2.2")).kind, "success");
  test.clock.now += 900_000;
  assert.equal((await test.try("alice", pgedgePassword)).kind, "success");
});

Deno.test("logins that succeed do not count, nor clear what failed", async () => {
  await using test = await setUp({ maxAttempts: 2 });
  for (let i = 0; i < 5; i++) assert.equal((await test.try("alice", pgedgePassword)).kind, "success");
  const results = [];
  for (const password of ["wrong", pgedgePassword, "wrong", pgedgePassword]) {
    results.push(await test.try("bob", password));
  }
  assert.deepEqual(kinds(results), ["failed", "success", "failed", "rate_limited"]);
});

Deno.test("of logins made at once from one address only as many fail as the limit allows", async () => {
  for (const workers of [1, 3]) {
    await using test = await setUp({ maxAttempts: 5, workers });
    const results = await Promise.all(Array.from({ length: 30 }, (_, i) => test.try(`user${i}`, "wrong")));
    const count = (kind: string) => kinds(results).filter((each) => each === kind).length;
    assert.deepEqual([count("failed"), count("rate_limited")], [5, 25]);
    // the threads may have begun as many more before the fifth was told
    const compared = test.comparisons.filter((comparison) => comparison !== "not_admitted").length;
    assert.ok(compared < 5 + workers, `${compared} passwords were compared`);
  }
});

Deno.test("logins beyond those that may wait are told when to come back", async () => {
  await using test = await setUp({ maxWaiting: 3, cost: 8 });
  const results = await Promise.all(Array.from({ length: 10 }, (_, i) => test.try(`user${i}`, "wrong")));
  assert.deepEqual(kinds(results), [...Array(4).fill("failed"), ...Array(6).fill("busy")]);
  const busy = results.at(-1);
  assert.ok(busy?.kind === "busy" && Number.isInteger(busy.retryAfterSeconds) && busy.retryAfterSeconds >= 1);
  assert.equal(test.reports.filter(({ result }) => result === "busy").length, 6);
});

Deno.test("a login whose client has gone is given up, and counts as nothing", async () => {
  await using test = await setUp({ cost: 8 });
  const controller = new AbortController();
  const first = test.try("alice", pgedgePassword);
  const second = test.try("alice", "wrong", "192.0.2.1", controller.signal);
  controller.abort(new Error("gone"));
  await assert.rejects(second, /^Error: gone$/);
  assert.equal((await first).kind, "success");
  assert.equal(test.users.find("alice")?.failedAttempts, 0);
});

const meanwhile: [what: string, change: (options: { path: string; username: string }) => Promise<unknown>][] =
  [
    ["an account that is disabled", disableUser],
    ["an account that is deleted", deleteUser],
    ["a password that is replaced", (options) => updateUser({ ...options, password: "correct horse 2" })],
  ];
for (const [what, change] of meanwhile) {
  Deno.test(`${what} while the password is compared lets nobody in`, async () => {
    await using test = await setUp();
    const { promise, resolve } = Promise.withResolvers<void>();
    test.held.until = promise;
    const login = test.try("alice", pgedgePassword);
    await change({ path: test.path, username: "alice" });
    await test.users.reload();
    resolve();
    assert.deepEqual(await login, { kind: "failed" });
    assert.deepEqual(test.comparisons, ["match"]);
  });
}

/** Two processes with one database for the state, where the first learns late what the second does. */
async function setUpTwo(options: Parameters<typeof setUp>[0]) {
  await using opened = new AsyncDisposableStack();
  const database = opened.use(await createStateDatabase());
  const now = () => start;
  const open = async (isTold: boolean) => {
    const state = opened.use(await database.open({ now, isTold }));
    return opened.use(await setUp({ ...options, state }));
  };
  const [here, there] = [await open(false), await open(true)];
  const stack = opened.move();
  return { database, here, there, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

testWithPostgres(
  "of logins made at once at two processes only as many fail as the limit allows",
  async () => {
    await using two = await setUpTwo({ maxAttempts: 5, workers: 2 });
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? two.here : two.there).try(`user${i}`, "wrong")),
    );
    const count = (kind: string) => kinds(results).filter((each) => each === kind).length;
    assert.ok(count("failed") <= 5, `${count("failed")} were told`);
    assert.equal(count("failed") + count("rate_limited") + count("busy"), 20);
    assert.deepEqual(kinds([await two.here.try("alice", pgedgePassword)]), ["rate_limited"]);
  },
);

testWithPostgres(
  "of logins at two processes, one after the other, as many fail as the limit allows",
  async () => {
    await using two = await setUpTwo({ maxAttempts: 3 });
    const results = [];
    for (let i = 0; i < 6; i++) results.push(await (i % 2 === 0 ? two.here : two.there).try("bob", "wrong"));
    assert.deepEqual(kinds(results), [...Array(3).fill("failed"), ...Array(3).fill("rate_limited")]);
  },
);

for (const how of ["try", "verify"] as const) {
  testWithPostgres(
    `the right password tells nothing once another process has told of all attempts: ${how}`,
    async () => {
      await using two = await setUpTwo({ maxAttempts: 3 });
      const { promise, resolve } = Promise.withResolvers<void>();
      two.here.held.until = promise;
      const login = two.here[how]("alice", pgedgePassword);
      for (let i = 0; i < 3; i++) assert.equal((await two.there.try("bob", `wrong ${i}`)).kind, "failed");
      resolve();
      assert.deepEqual(await login, { kind: "rate_limited", retryAfterSeconds: 900 });
      assert.deepEqual(two.here.comparisons, ["match"]);
      assert.equal(two.here.sessions.size, 0);
      assert.equal(two.here.reports.at(-1)?.sessionId, undefined);
      assert.notEqual(two.here.users.find("alice")?.lastLogin, start);
    },
  );
  testWithPostgres(
    `a login where the state does not answer tells nothing, right or wrong: ${how}`,
    async () => {
      await using two = await setUpTwo({ maxAttempts: 3 });
      await two.database.database.query("DROP TABLE postern_state.clock");
      for (const password of [pgedgePassword, "wrong"]) {
        assert.deepEqual(await two.here[how]("alice", password), {
          kind: "unavailable",
          retryAfterSeconds: 1,
        });
      }
      assert.equal(two.here.sessions.size, 0);
    },
  );
}

for (const [what, change] of meanwhile) {
  Deno.test(`${what} while its session is being kept gets no session`, async () => {
    const { promise: keeping, resolve: begin } = Promise.withResolvers<void>();
    const { promise: kept, resolve: end } = Promise.withResolvers<void>();
    const forgotten: string[] = [];
    await using state = stateWhere(async () => {
      begin();
      await kept;
    }, (id) => forgotten.push(id));
    await using test = await setUp({ state });
    const login = test.try("alice", pgedgePassword);
    await keeping;
    await change({ path: test.path, username: "alice" });
    await test.users.reload();
    test.sessions.reconcile(test.users);
    end();
    assert.deepEqual(await login, { kind: "failed" });
    assert.equal(test.sessions.size, 0);
    assert.equal(forgotten.length, 1);
    assert.equal(test.reports.at(-1)?.sessionId, undefined);
  });
}

Deno.test("a login whose session cannot be kept where others would have to know it is told so", async () => {
  const away = new AppError("unavailable", "away", { data: { retryAfterSeconds: 1 } });
  await using state = stateWhere(() => Promise.reject(away), () => {});
  await using test = await setUp({ state });
  assert.deepEqual(await test.try("alice", pgedgePassword), { kind: "unavailable", retryAfterSeconds: 1 });
  assert.deepEqual(test.reports.map(({ result }) => result), ["unavailable"]);
  assert.equal(test.sessions.size, 0);
  assert.notEqual(test.users.find("alice")?.lastLogin, start);
});

/** A state that keeps and forgets sessions as a test has it. */
function stateWhere(keep: () => Promise<void>, forget: (id: string) => void): State {
  const state = memoryState();
  return {
    ...state,
    of: (kind) =>
      kind === "session"
        ? { keep, forget: (id) => Promise.resolve(forget(id)).then(() => true), follow: () => {} }
        : state.of(kind),
  };
}

const cost = 8;
// costs 4, 8 and, of the others, none at all
const usersOfSeveralCosts = `${pgedgeUserFile.replace("\n# a last word\n", "")}
    dear:
        password_hash: $2b$08$${"a".repeat(53)}
    locked:
        password_hash: $2b$08$${"a".repeat(53)}
        enabled: false
        disabled_reason: lockout
`;
const failingKinds: [title: string, username: string, password: string][] = [
  ["an unknown user", "nobody", "wrong"],
  ["a wrong password and a cheap hash", "alice", "wrong"],
  ["a wrong password and a dear hash", "dear", "wrong"],
  ["a disabled account and its right password", "charlie", pgedgePassword],
  ["a locked account", "locked", "wrong"],
  ["a password that could not have been set", "alice", "x".repeat(100)],
];

/** The largest of the kinds' medians over the smallest. */
async function spreadOfTimes(
  login: (username: string, password: string) => Promise<LoginResult>,
): Promise<number> {
  const times = failingKinds.map((): number[] => []);
  for (let round = 0; round < 36; round++) {
    for (let place = 0; place < failingKinds.length; place++) {
      // the kinds take turns in every order, so that what else the machine does falls on all of them alike
      const index = (place * (round % 2 === 0 ? 1 : 5) + round) % failingKinds.length;
      const [, username = "", password = ""] = failingKinds[index] ?? [];
      const begin = performance.now();
      assert.deepEqual(await login(username, password), { kind: "failed" });
      times[index]?.push(performance.now() - begin);
    }
  }
  const medians = times.map((each) => each.toSorted((a, b) => a - b)[18] ?? NaN);
  return Math.max(...medians) / Math.min(...medians);
}

Deno.test("the time of a failed login does not tell what failed", async () => {
  await using test = await setUp({ cost, text: usersOfSeveralCosts });
  const spreads: number[] = [];
  // a busy machine may spoil a measurement, but a difference that is there shows in each: without the padding it is two
  while (spreads.length < 4 && (spreads.at(-1) ?? Infinity) > 1.4) {
    spreads.push(await spreadOfTimes(test.try));
  }
  assert.ok(
    (spreads.at(-1) ?? Infinity) <= 1.4,
    `the slowest kind took ${spreads} times as long as the fastest`,
  );
});
