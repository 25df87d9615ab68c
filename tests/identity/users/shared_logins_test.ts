import assert from "node:assert/strict";
import { join } from "node:path";
import { silentLogger } from "../../../src/core/logger.ts";
import { afterLogins, failedLogin } from "../../../src/identity/users/lockout.ts";
import { createSharedLogins, forgetFailedLogins } from "../../../src/identity/users/shared_logins.ts";
import { openUserDirectory } from "../../../src/identity/users/user_directory.ts";
import type { UserRecord } from "../../../src/identity/users/user_file.ts";
import { sql } from "../../../src/state/engine.ts";
import type { State } from "../../../src/state/state.ts";
import { type OpenState, testSharedStates } from "../../support/state.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { waitUntil } from "../../support/wait_until.ts";

const alice: UserRecord = {
  username: "alice",
  passwordHash: "",
  annotation: null,
  createdAt: 1_000,
  lastLogin: null,
  enabled: true,
  failedAttempts: 0,
  disabledReason: null,
};
const most = 3;

async function start(state: State, accounts = "http") {
  const logins = createSharedLogins(state, accounts);
  await state.catchUp();
  return {
    ...logins,
    state,
    fails: (user = alice) => logins.record(user, failedLogin),
    succeeds: (at: number, user = alice) => logins.record(user, { succeededAt: at, failed: 0 }),
    isLocked: (user = alice) => !afterLogins(user, logins.of(user), most).enabled,
  };
}

const two = async (open: OpenState) => [await start(await open()), await start(await open())] as const;
type Process = Awaited<ReturnType<typeof start>>;

/** Until a process knows so many failed logins. */
async function untilFailed({ state, of }: Process, failed: number, user = alice): Promise<void> {
  await waitUntil(`${failed} failed`, async () => {
    await state.catchUp();
    return of(user).failed === failed;
  });
}

testSharedStates("failed logins at two processes lock an account together", async (open) => {
  const [here, there] = await two(open);
  here.fails();
  there.fails();
  for (const each of [here, there]) await untilFailed(each, 2);
  assert.deepEqual([here.isLocked(), there.isLocked()], [false, false]);
  there.fails();
  assert.ok(there.isLocked());
  await untilFailed(here, 3);
  assert.ok(here.isLocked());
  // one that comes later knows of it
  const late = await start(await open());
  assert.ok(late.isLocked());
  assert.equal(late.of({ ...alice, username: "bob" }).failed, 0);
});

testSharedStates("a login that succeeds clears those that failed, at every process", async (open) => {
  const [here, there] = await two(open);
  here.fails();
  here.fails();
  await untilFailed(there, 2);
  there.succeeds(5_000);
  assert.deepEqual(there.of(alice), { succeededAt: 5_000, failed: 0 });
  await untilFailed(here, 0);
  await waitUntil("the login is known", async () => {
    await here.state.catchUp();
    return here.of(alice).succeededAt === 5_000;
  });
  here.fails();
  await untilFailed(there, 1);
  assert.ok(!there.isLocked());
  const late = await start(await open());
  assert.deepEqual(late.of(alice), { succeededAt: 5_000, failed: 1 });
});

testSharedStates("an account that is made anew has nothing of the one before", async (open) => {
  const [here, there] = await two(open);
  const anew = { ...alice, createdAt: 2_000 };
  for (const _ of [1, 2, 3]) here.fails();
  here.succeeds(5_000, { ...alice, createdAt: 500 });
  await untilFailed(there, 3);
  for (const each of [here, there, await start(await open())]) {
    assert.deepEqual(each.of(anew), { succeededAt: null, failed: 0 });
    assert.ok(each.isLocked());
    assert.ok(!each.isLocked(anew));
  }
  // nor does what the new one does change the old one
  there.fails(anew);
  await untilFailed(here, 1, anew);
  assert.equal(here.of(alice).failed, 3);
});

testSharedStates("accounts of one name in other user files are others", async (open) => {
  const here = await start(await open(), "http");
  const there = await start(await open(), "server");
  here.fails();
  const late = await start(await open(), "http");
  await untilFailed(late, 1);
  await there.state.catchUp();
  assert.equal(there.of(alice).failed, 0);
  await forgetFailedLogins(there.state, "server", alice);
  await late.state.catchUp();
  assert.equal(late.of(alice).failed, 1);
});

testSharedStates("forgetFailedLogins() has every process take the account as enabled", async (open) => {
  const [here, there] = await two(open);
  const bob = { ...alice, username: "bob" };
  for (const user of [alice, bob]) for (const _ of [1, 2, 3]) here.fails(user);
  for (const user of [alice, bob]) await untilFailed(there, 3, user);
  await forgetFailedLogins(await open(), "http", alice);
  for (const each of [here, there]) {
    await untilFailed(each, 0);
    assert.ok(!each.isLocked());
    assert.ok(each.isLocked(bob));
  }
});

testSharedStates(
  "user directories that share logins lock together, and leave their files alone",
  async (open) => {
    await using folder = await temporaryFolder();
    const text = `users:
  alice:
    username: alice
    password_hash: $2b$04$abcdefghijklmnopqrstuuO3yVw7yYdQAGZ4rH5gR2H3hV0RkQvRa
    created_at: 2026-01-01T00:00:00Z
    enabled: true
    failed_attempts: 0
`;
    const lockouts: string[] = [];
    const opened = async (name: string) => {
      const state = await open();
      const path = join(folder.path, name);
      await Deno.writeTextFile(path, text, { mode: 0o600 });
      const users = await openUserDirectory({
        path,
        maxFailedAttempts: most,
        now: state.now,
        logger: silentLogger,
        logins: createSharedLogins(state, "http"),
        onLockout: (username) => lockouts.push(username),
      });
      await state.catchUp();
      return { state, users, path };
    };
    const [here, there] = [await opened("one"), await opened("other")];
    await using _here = here.users;
    await using _there = there.users;
    for (const { users } of [here, here, there]) users.recordFailedLogin("alice");
    await waitUntil("both have locked it", async () => {
      for (const { state } of [here, there]) await state.catchUp();
      return [here, there].every(({ users }) => users.find("alice")?.enabled === false);
    });
    assert.equal(here.users.find("alice")?.disabledReason, "lockout");
    // a locked account is counted no further
    here.users.recordFailedLogin("alice");
    assert.equal(here.users.find("alice")?.failedAttempts, 3);
    for (const { path } of [here, there]) assert.equal(await Deno.readTextFile(path), text);
  },
);

testSharedStates(
  "where nothing locks an account its failed logins are kept nowhere, else no more than lock it",
  async (open) => {
    const state = await open();
    const count = async () =>
      Number(
        (await state.read([sql`SELECT count(*) AS n FROM records WHERE kind LIKE 'failed password %'`]))[0]
          ?.[0]?.["n"],
      );
    const unlocked = createSharedLogins(state, "http", { maxFailedAttempts: 0 });
    for (let each = 0; each < 5; each++) unlocked.record(alice, failedLogin);
    const locked = createSharedLogins(state, "server", { maxFailedAttempts: most });
    for (let each = 0; each < 5; each++) locked.record(alice, failedLogin);
    await waitUntil("the last is kept", async () => await count() === most);
    assert.deepEqual([unlocked.of(alice).failed, locked.of(alice).failed], [0, most]);
  },
);
