import assert from "node:assert/strict";
import { readUserFile } from "../../../../src/identity/users/user_file.ts";
import { type ConfigFolder, createConfigFolder } from "../../../support/configured_server.ts";
import { command, runProgram, startServer } from "../../../support/server_process.ts";
import { createToolClient } from "../../../support/tool_client.ts";
import { waitUntil } from "../../../support/wait_until.ts";

/** How long the writers go on at the least; a minute or more shows more. */
const seconds = Number(Deno.env.get("WRITERS_SECONDS") ?? 6);
const kills = Math.max(8, Math.round(seconds));

const threshold = 3;
const accounts = 1000;
const config = `
http:
  auth: { max_failed_attempts_before_lockout: ${threshold}, rate_limit_max_attempts: 10000 }
databases: []
`;

const accountName = (index: number) => `account-${index}`;

/** A user file with a comment at each account that is to be there at the end. */
const userFileText = `# the accounts of staging
users:
  # the one that administrators change
  alice:
    username: alice # as in the directory
    password_hash: $2b$04$${".".repeat(53)}
    annotation: none
    enabled: true
${
  Array.from({ length: accounts }, (_, index) => `
  # number ${index}
  ${accountName(index)}:
    username: ${accountName(index)}
    password_hash: $2b$04$${".".repeat(53)}
    enabled: true # until it is locked
    failed_attempts: 0`).join("\n")
}
`;

async function createFolder(): Promise<ConfigFolder & { userFile: string }> {
  const folder = await createConfigFolder(config);
  const userFile = `${folder.path}/users.yaml`;
  await Deno.writeTextFile(userFile, userFileText, { mode: 0o600 });
  await Deno.writeTextFile(folder.tokenFile, "# tokens of staging\ntokens: {} # none yet\n", { mode: 0o600 });
  return { ...folder, userFile };
}

async function administer(folder: ConfigFolder, ...flags: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(["-config", folder.configFile, ...flags]);
  assert.equal(code, 0, stderr);
  return stdout;
}

const serverFlags = (folder: ConfigFolder) => ["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile];

/** The users of a file that has to be whole, by name. */
async function readWhole(path: string) {
  const { records, faults } = await readUserFile(path);
  assert.deepEqual(faults, []);
  const text = await Deno.readTextFile(path);
  assert.deepEqual(text.match(/#.*/g)?.toSorted(), userFileText.match(/#.*/g)?.toSorted());
  return new Map(records.map((user) => [user.username, user]));
}

function failingLogin(url: string) {
  const { request } = createToolClient({ url });
  return async (username: string) => {
    const reply = await request("tools/call", {
      name: "authenticate_user",
      arguments: { username, password: "a guess" },
    });
    assert.equal(reply.error.message, "Authentication failed");
  };
}

Deno.test("administrators and failing logins that write together lose nothing", async () => {
  await using folder = await createFolder();
  await using server = await startServer(serverFlags(folder));
  const logIn = failingLogin(server.url);
  const started = performance.now();
  // a slow machine goes on until there is something to show
  const goesOn = () => {
    const leastMs = enabled.size > 0 ? seconds * 1000 : 60_000;
    return performance.now() - started < leastMs;
  };
  const errors = new Map<string, number>();
  const locked: string[] = [];
  const users = new Set<string>();
  const tokens = new Set<string>();
  const enabled = new Set<string>();
  let rounds = 0;

  // every other account is left one failure short of the lockout
  const failLogins = async (first: number) => {
    for (let index = first; goesOn(); index += 2) {
      const name = accountName(index);
      const count = index % 4 < 2 ? threshold : threshold - 1;
      for (let n = 0; n < count; n++) await logIn(name);
      errors.set(name, count);
      if (count === threshold) locked.push(name);
    }
  };
  const changeUsers = async () => {
    for (; goesOn(); rounds++) {
      const name = `new-${rounds}`;
      await administer(folder, "-add-user", "-username", name, "-password", "correct horse battery");
      users.add(name);
      await administer(folder, "-update-user", "-username", "alice", "-user-note", `round ${rounds}`);
      if (rounds % 2 === 1) {
        await administer(folder, "-delete-user", "-username", name);
        users.delete(name);
      }
      const back = locked.shift();
      if (back === undefined) continue;
      await waitUntil(
        "the lockout is in the file",
        async () =>
          (await readUserFile(folder.userFile)).records.some((user) =>
            user.username === back && user.disabledReason === "lockout"
          ),
      );
      await administer(folder, "-enable-user", "-username", back);
      enabled.add(back);
    }
  };
  const changeTokens = async () => {
    for (let round = 0; goesOn(); round++) {
      const { id } = JSON.parse(
        await administer(folder, "-add-token", "-json", "-token-note", `round ${round}`),
      );
      tokens.add(id);
      if (round % 2 === 0) continue;
      await administer(folder, "-remove-token", id);
      tokens.delete(id);
    }
  };
  await Promise.all([failLogins(0), failLogins(1), changeUsers(), changeTokens()]);
  assert.equal(await server.stop(), 0);

  const found = await readWhole(folder.userFile);
  assert.equal(found.get("alice")?.annotation, `round ${rounds - 1}`);
  const others = [...found.keys()].filter((name) => name !== "alice" && !name.startsWith("account-"));
  assert.deepEqual(others, [...users]);
  for (let index = 0; index < accounts; index++) {
    const name = accountName(index);
    const count = enabled.has(name) ? 0 : errors.get(name) ?? 0;
    const user = found.get(name);
    assert.deepEqual(
      [name, user?.failedAttempts, user?.enabled, user?.disabledReason],
      [name, count, count < threshold, count < threshold ? null : "lockout"],
    );
  }
  assert.ok(errors.size > 0 && enabled.size > 0, "too few logins to show anything");
  const listed: { id: string }[] = JSON.parse(await administer(folder, "-list-tokens", "-json"));
  assert.deepEqual(listed.map(({ id }) => id), [...tokens]);
  const tokenText = await Deno.readTextFile(folder.tokenFile);
  for (const comment of ["# tokens of staging", "# none yet"]) {
    assert.ok(tokenText.includes(comment), comment);
  }
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

Deno.test("an administrator's command killed at any moment leaves a whole file, and the next goes on", async () => {
  await using folder = await createFolder();
  const flags = ["-config", folder.configFile, "-update-user", "-username", "alice", "-user-note"];
  const started = performance.now();
  await administer(folder, ...flags.slice(2), "round -1");
  let wholeMs = performance.now() - started;
  const ends = { done: 0, killed: 0 };
  for (let round = 0; round < kills; round++) {
    const before = (await readWhole(folder.userFile)).get("alice")?.annotation;
    const child = command([...flags, `round ${round}`], { stdout: "null", stderr: "null" }).spawn();
    // it reads and writes late in its life
    await pause(wholeMs * (0.4 + 0.7 * Math.random()));
    try {
      child.kill("SIGKILL");
    } catch {
      // it was faster
    }
    const { success } = await child.status;
    const after = (await readWhole(folder.userFile)).get("alice")?.annotation ?? "";
    assert.ok(success ? after === `round ${round}` : [before, `round ${round}`].includes(after), after);
    ends[success ? "done" : "killed"]++;
    // a machine that is less busy now is faster
    if (success) wholeMs *= 0.7;
  }
  assert.ok(ends.killed > 0, JSON.stringify(ends));
  await administer(folder, ...flags.slice(2), "the last");
  assert.equal((await readWhole(folder.userFile)).get("alice")?.annotation, "the last");
  await assert.rejects(Deno.stat(`${folder.userFile}.tmp`), Deno.errors.NotFound);
});

Deno.test("a server killed at any moment leaves a whole file, with all that was in it before", async () => {
  await using folder = await createFolder();
  let total = 0;
  let next = 0;
  for (let round = 0; round < Math.ceil(kills / 3); round++) {
    await using server = await startServer(serverFlags(folder));
    const logIn = failingLogin(server.url);
    let ended = false;
    // they go on until their server is gone
    const logins = [0, 1].map(async () => {
      while (!ended) await logIn(accountName(next++ % accounts)).catch(() => {});
    });
    const failedIn = async () => {
      const users = await readWhole(folder.userFile);
      return [...users.values()].reduce((sum, user) => sum + user.failedAttempts, 0);
    };
    await waitUntil("a login is in the file", async () => await failedIn() > total);
    await pause(600 * Math.random());
    const before = await failedIn();
    await server.kill("SIGKILL");
    ended = true;
    await Promise.all(logins);
    total = await failedIn();
    assert.ok(total >= before, "the file has lost what it had");
  }
  await administer(folder, "-enable-user", "-username", accountName(0));
  assert.equal((await readWhole(folder.userFile)).get(accountName(0))?.failedAttempts, 0);
});
