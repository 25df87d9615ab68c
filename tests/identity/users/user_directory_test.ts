import assert from "node:assert/strict";
import { createLogger } from "../../../src/core/logger.ts";
import { openUserDirectory, type UserDirectoryOptions } from "../../../src/identity/users/user_directory.ts";
import {
  addUser,
  deleteUser,
  disableUser,
  enableUser,
  readUserFile,
  updateUser,
} from "../../../src/identity/users/user_file.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { pgedgeUserFile } from "../pgedge_user_file.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

const now = Date.UTC(2026, 0, 15, 8, 30);

async function setUp(text: string | undefined, options: Partial<UserDirectoryOptions> = {}) {
  const folder = await temporaryFolder();
  const path = `${folder.path}/users.yaml`;
  if (text !== undefined) await Deno.writeTextFile(path, text);
  const events: string[] = [];
  const directory = await openUserDirectory({
    path,
    maxFailedAttempts: 3,
    now: () => now,
    logger: createLogger({
      level: "warn",
      format: "text",
      write: (line) => events.push(line.slice(25).trim()),
    }),
    onLockout: (username) => events.push(`locked ${username}`),
    onReloaded: () => events.push("reloaded"),
    ...options,
  });
  const inFile = async (username: string) =>
    (await readUserFile(path)).records.find((user) => user.username === username);
  return {
    path,
    directory,
    events,
    inFile,
    async [Symbol.asyncDispose]() {
      await directory.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

Deno.test("an account that has another caller's name is kept, with a warning", async () => {
  for (
    const [name, isOthers] of [["local", true], ["token-7", true], ["a:b", false], ["C#", false]] as const
  ) {
    await using test = await setUp(
      pgedgeUserFile.replace("    bob:", `    "${name}":`)
        .replace(/username: "?bob"?/, `username: "${name}"`),
    );
    assert.notEqual(test.directory.find(name), undefined);
    const expected = new RegExp(
      `^WARN .*The user "${name}" in .* can be taken for another caller: .*; rename it`,
    );
    assert.equal(test.events.some((line) => expected.test(line)), isOthers, test.events.join("\n"));
  }
});

Deno.test("a failed login is counted at once and in the file, where everything else stays", async () => {
  await using test = await setUp(pgedgeUserFile);
  test.directory.recordFailedLogin("bob");
  assert.equal(test.directory.find("bob")?.failedAttempts, 1);
  await test.directory.close();
  const bob = pgedgeUserFile.indexOf("    bob:");
  assert.equal(
    await Deno.readTextFile(test.path),
    pgedgeUserFile.slice(0, bob) +
      pgedgeUserFile.slice(bob).replace("failed_attempts: 0", "failed_attempts: 1"),
  );
  assert.deepEqual(test.events, []);
});

Deno.test("the failure that reaches the threshold locks the account at once, in the file and over a restart", async () => {
  await using test = await setUp(pgedgeUserFile);
  test.directory.recordFailedLogin("alice");
  const { enabled, disabledReason, failedAttempts } = test.directory.find("alice") ?? {};
  assert.deepEqual([enabled, disabledReason, failedAttempts], [false, "lockout", 3]);
  assert.deepEqual(test.events, ["locked alice"]);
  for (let i = 0; i < 5; i++) test.directory.recordFailedLogin("alice");
  await waitUntil(
    "the lockout is in the file",
    async () => (await test.inFile("alice"))?.disabledReason === "lockout",
  );
  assert.equal((await test.inFile("alice"))?.failedAttempts, 3);
  assert.deepEqual(test.events, ["locked alice"]);
  await using again = await openUserDirectory({
    path: test.path,
    maxFailedAttempts: 0,
    now: () => now,
    logger: createLogger({ level: "error", format: "text", write: () => {} }),
  });
  assert.equal(again.find("alice")?.enabled, false);
});

Deno.test("without a threshold nothing locks, and failures are counted all the same", async () => {
  await using test = await setUp(pgedgeUserFile, { maxFailedAttempts: 0 });
  for (let i = 0; i < 100; i++) test.directory.recordFailedLogin("alice");
  await test.directory.close();
  const alice = await test.inFile("alice");
  assert.deepEqual([alice?.enabled, alice?.failedAttempts], [true, 102]);
});

Deno.test("a login clears the count and sets its time", async () => {
  await using test = await setUp(pgedgeUserFile);
  test.directory.recordLogin("alice");
  assert.equal(test.directory.find("alice")?.failedAttempts, 0);
  test.directory.recordFailedLogin("alice");
  await test.directory.close();
  const alice = await test.inFile("alice");
  assert.deepEqual([alice?.failedAttempts, alice?.lastLogin, alice?.enabled], [1, now, true]);
});

Deno.test("unknown names, those of properties and disabled accounts leave no trace", async () => {
  await using test = await setUp(pgedgeUserFile);
  for (const name of ["", "nobody", "__proto__", "constructor", "charlie"]) {
    test.directory.recordFailedLogin(name);
  }
  await test.directory.close();
  assert.equal(await Deno.readTextFile(test.path), pgedgeUserFile);
  assert.deepEqual(test.events, []);
});

Deno.test("thousands of failures make a few writes", async () => {
  await using test = await setUp(pgedgeUserFile, { maxFailedAttempts: 0 });
  const inodes = new Set<number | null>();
  for (let i = 0; i < 5_000; i++) {
    test.directory.recordFailedLogin("bob");
    if (i % 100 === 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      inodes.add((await Deno.stat(test.path)).ino);
    }
  }
  await test.directory.close();
  assert.equal((await test.inFile("bob"))?.failedAttempts, 5_000);
  assert.ok(inodes.size <= 25, `${inodes.size} writes were seen`);
});

Deno.test("reload() takes in what others changed, and what the server wrote itself is unchanged", async () => {
  await using test = await setUp(pgedgeUserFile);
  assert.equal(await test.directory.reload(), "unchanged");
  test.directory.recordFailedLogin("bob");
  await waitUntil("the failure is in the file", async () => (await test.inFile("bob"))?.failedAttempts === 1);
  assert.equal(await test.directory.reload(), "unchanged");
  assert.deepEqual(test.events, []);
  await disableUser({ path: test.path, username: "bob" });
  assert.equal(test.directory.find("bob")?.enabled, true);
  assert.equal(await test.directory.reload(), "reloaded");
  assert.equal(test.directory.find("bob")?.disabledReason, "administrator");
  assert.deepEqual(test.events, ["reloaded"]);
  assert.equal(await test.directory.reload(), "unchanged");
});

Deno.test("a lockout ends with -enable-user while the server runs", async () => {
  await using test = await setUp(pgedgeUserFile);
  test.directory.recordFailedLogin("alice");
  await waitUntil("the lockout is in the file", async () => (await test.inFile("alice"))?.enabled === false);
  await enableUser({ path: test.path, username: "alice" });
  await test.directory.reload();
  const { enabled, failedAttempts, disabledReason } = test.directory.find("alice") ?? {};
  assert.deepEqual([enabled, failedAttempts, disabledReason], [true, 0, null]);
});

Deno.test("a write that comes upon another's change takes it in and says so", async () => {
  await using test = await setUp(pgedgeUserFile);
  await disableUser({ path: test.path, username: "bob" });
  test.directory.recordFailedLogin("alice");
  await waitUntil("the change is taken in", () => test.events.includes("reloaded"));
  assert.equal(test.directory.find("bob")?.enabled, false);
  assert.equal(await test.directory.reload(), "unchanged");
  const [alice, bob] = [await test.inFile("alice"), await test.inFile("bob")];
  assert.deepEqual([alice?.disabledReason, bob?.disabledReason], ["lockout", "administrator"]);
});

Deno.test("what cannot be read keeps the old accounts, and counts go into the file when it is back", async () => {
  await using test = await setUp(pgedgeUserFile);
  await Deno.writeTextFile(test.path, "users: [\n");
  await assert.rejects(test.directory.reload(), { code: "invalid", message: /line \d/ });
  test.directory.recordFailedLogin("bob");
  await waitUntil("the failed write is logged", () => test.events.length > 0);
  assert.match(test.events[0] ?? "", /^ERROR Cannot record logins in the user file; trying again/);
  assert.equal(await Deno.readTextFile(test.path), "users: [\n");
  await Deno.remove(test.path);
  await assert.rejects(test.directory.reload(), {
    code: "not_found",
    message: `Cannot read ${test.path}: it does not exist`,
  });
  test.directory.recordFailedLogin("bob");
  assert.equal(test.directory.find("bob")?.failedAttempts, 2);
  await Deno.writeTextFile(test.path, pgedgeUserFile);
  await waitUntil(
    "the failures are in the file",
    async () => (await test.inFile("bob"))?.failedAttempts === 2,
  );
  assert.equal(test.events.filter((line) => line.startsWith("ERROR")).length, 1);
});

Deno.test("a directory starts without a file, and without its faulty entries", async () => {
  await using none = await setUp(undefined);
  assert.equal(none.directory.size, 0);
  await addUser({ path: none.path, username: "alice", password: "correct horse", now });
  assert.equal(await none.directory.reload(), "reloaded");
  assert.equal(none.directory.find("alice")?.enabled, true);
  assert.equal(none.directory.highestCost, 12);

  await using faulty = await setUp(
    `users:\n  a:\n    password_hash: x\n  b:\n    password_hash: $2b$14$${"a".repeat(53)}\n`,
  );
  assert.equal(faulty.directory.size, 1);
  assert.equal(faulty.directory.highestCost, 14);
  assert.match(
    faulty.events[0] ?? "",
    /^WARN {2}Cannot load user "a" \(.*, line 3\): password_hash: expected/,
  );
});

Deno.test("administrators and failing logins that write at the same time lose nothing", async () => {
  const source = JSON.stringify(new URL("../../../src/identity/users/user_file.ts", import.meta.url).href);
  await using test = await setUp(pgedgeUserFile, { maxFailedAttempts: 0 });
  const script = `${test.path}.ts`;
  await Deno.writeTextFile(
    script,
    `import { disableUser, enableUser, updateUser } from ${source};
     const path = ${JSON.stringify(test.path)};
     for (let i = 1; i <= 60; i++) {
       await (i % 2 === 0 ? enableUser : disableUser)({ path, username: "charlie" });
       await updateUser({ path, username: "alice", annotation: "round " + i });
     }`,
  );
  const config = new URL("../../../deno.json", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", "--config", config, script],
    stderr: "inherit",
  }).spawn();
  let done = false;
  void child.status.then(() => done = true);
  let failed = 0;
  while (!done) {
    test.directory.recordFailedLogin("bob");
    failed++;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  assert.ok((await child.status).success);
  await test.directory.close();
  const { records, faults } = await readUserFile(test.path);
  assert.deepEqual(faults, []);
  assert.deepEqual(
    records.map((user) => [user.username, user.annotation, user.enabled, user.failedAttempts]),
    [
      ["alice", "round 60", true, 2],
      ["bob", null, true, failed],
      ["charlie", "Former emp", true, 0],
    ],
  );
  const text = await Deno.readTextFile(test.path);
  for (const comment of pgedgeUserFile.match(/#.*/g) ?? []) assert.ok(text.includes(comment), comment);
});

Deno.test("a write is announced with the text before and after, and nothing is where nothing changes", async () => {
  const writes: [string | undefined, string][] = [];
  await using test = await setUp(pgedgeUserFile, {
    beforeWrite: (before, after) => writes.push([before, after]),
  });
  assert.equal(test.directory.text, pgedgeUserFile);
  test.directory.recordFailedLogin("bob");
  await test.directory.close();
  assert.deepEqual(writes, [[pgedgeUserFile, await Deno.readTextFile(test.path)]]);
  assert.equal(test.directory.text, writes[0]?.[1]);
  await deleteUser({ path: test.path, username: "bob" });
  test.directory.recordFailedLogin("bob");
  await test.directory.close();
  assert.equal(writes.length, 1);
});

Deno.test("a user deleted meanwhile is not brought back", async () => {
  await using test = await setUp(pgedgeUserFile);
  await updateUser({ path: test.path, username: "bob", annotation: "x" });
  await deleteUser({ path: test.path, username: "alice" });
  test.directory.recordFailedLogin("alice");
  test.directory.recordFailedLogin("bob");
  await test.directory.close();
  assert.deepEqual(
    (await readUserFile(test.path)).records.map((user) => [user.username, user.failedAttempts]),
    [
      ["bob", 1],
      ["charlie", 0],
    ],
  );
  assert.equal(test.directory.find("alice"), undefined);
});
