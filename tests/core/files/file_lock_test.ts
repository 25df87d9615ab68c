import assert from "node:assert/strict";
import { lockWithin, withFileLock } from "../../../src/core/files/file_lock.ts";
import { addToken, readTokenFile } from "../../../src/identity/tokens/token_file.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

const now = Date.UTC(2026, 0, 15);
const source = (name: string) => JSON.stringify(new URL(`../../../src/${name}`, import.meta.url).href);

/** Starts a process of its own that runs a script with `path` in scope; it says "ready" once the script does. */
async function spawnScript(folder: string, path: string, script: string): Promise<Deno.ChildProcess> {
  const file = await Deno.makeTempFile({ dir: folder, suffix: ".ts" });
  await Deno.writeTextFile(file, `const path = ${JSON.stringify(path)};\n${script}`);
  const config = new URL("../../../deno.json", import.meta.url).pathname;
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", "--config", config, file],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}

async function firstLine(child: Deno.ChildProcess): Promise<string> {
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return new TextDecoder().decode(value).trim();
}

const addInLoop = (note: string, count: number) => `
  import { addToken } from ${source("identity/tokens/token_file.ts")};
  console.log("ready");
  for (let i = 0; i < ${count}; i++) {
    await addToken({ path, note: ${JSON.stringify(note)} + i, expiry: "never", now: ${now} });
  }
`;

Deno.test("several processes and callers that add tokens at once lose none, and keep the comments", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await Deno.writeTextFile(path, "# tokens of staging\ntokens: {} # none yet\n");
  const children = await Promise.all(
    ["a", "b"].map((note) => spawnScript(folder.path, path, addInLoop(note, 40))),
  );
  const own = Array.from({ length: 40 }, (_, i) => addToken({ path, note: `c${i}`, expiry: "never", now }));
  for (const child of children) assert.ok((await child.output()).success);
  await Promise.all(own);
  const { records, faults } = await readTokenFile(path);
  assert.deepEqual(faults, []);
  const expected = ["a", "b", "c"].flatMap((note) => Array.from({ length: 40 }, (_, i) => `${note}${i}`));
  assert.deepEqual(records.map((record) => record.annotation ?? "").toSorted(), expected.toSorted());
  assert.equal(new Set(records.map((record) => record.id)).size, 120);
  const text = await Deno.readTextFile(path);
  assert.match(text, /^# tokens of staging\n/);
  assert.match(text, /# none yet/);
  await assert.rejects(Deno.stat(`${path}.lock`), Deno.errors.NotFound);
  await assert.rejects(Deno.stat(`${path}.tmp`), Deno.errors.NotFound);
});

Deno.test("a writer killed at any moment leaves a whole file, and the next writer goes on at once", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  let known = 0;
  for (let round = 0; round < 5; round++) {
    const child = await spawnScript(folder.path, path, addInLoop(`round ${round} `, 10_000));
    assert.equal(await firstLine(child), "ready");
    // while it writes, a reader sees nothing but whole files
    for (let read = 0; read < 30 + 7 * round; read++) {
      const { records, faults } = await readTokenFile(path);
      assert.deepEqual(faults, []);
      assert.ok(records.length >= known, "a token that was there has gone");
      known = records.length;
    }
    child.kill("SIGKILL");
    await child.status;
    await addToken({ path, note: "after the crash", expiry: "never", now });
    assert.equal((await readTokenFile(path)).faults.length, 0);
  }
});

const hold = `
  import { withFileLock } from ${source("core/files/file_lock.ts")};
  await withFileLock(path, () => {
    console.log("ready");
    return new Promise((resolve) => setTimeout(resolve, 60_000));
  });
`;

Deno.test("a lock whose holder is killed is free, though its file is still there", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  const child = await spawnScript(folder.path, path, hold);
  assert.equal(await firstLine(child), "ready");
  child.kill("SIGKILL");
  await child.status;
  assert.ok((await Deno.stat(`${path}.lock`)).isFile);
  await addToken({ path, expiry: "never", now });
  assert.equal((await readTokenFile(path)).records.length, 1);
});

Deno.test({
  name: "a lock that another process keeps is waited for, but not for ever",
  // what waits in the operating system ends with the holder, after the test has looked
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using folder = await temporaryFolder();
    const path = `${folder.path}/tokens.yaml`;
    const child = await spawnScript(folder.path, path, hold);
    assert.equal(await firstLine(child), "ready");
    let ran = false;
    const attempt = withFileLock(path, () => Promise.resolve(ran = true), { longestWaitMs: 50 });
    await assert.rejects(attempt, {
      code: "unavailable",
      message: `Cannot write ${path}: another process holds ${path}.lock`,
    });
    const patient = addToken({ path, expiry: "never", now });
    child.kill("SIGKILL");
    await child.status;
    await patient;
    assert.equal(ran, false);
  },
});

Deno.test("withFileLock() runs one at a time, goes on after a failure, and hands the result on", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  const steps: string[] = [];
  const run = (name: string) =>
    withFileLock(path, async () => {
      steps.push(`${name} in`);
      await new Promise((resolve) => setTimeout(resolve, 1));
      steps.push(`${name} out`);
      if (name === "b") throw new Error("b failed");
      return name;
    });
  const results = await Promise.allSettled([run("a"), run("b"), run("c")]);
  assert.deepEqual(results.map((result) => result.status), ["fulfilled", "rejected", "fulfilled"]);
  assert.deepEqual(steps, ["a in", "a out", "b in", "b out", "c in", "c out"]);
  assert.equal(await run("d"), "d");
});

Deno.test("withFileLock() keeps those of one path apart, and no others", async () => {
  await using folder = await temporaryFolder();
  const [one, other] = [`${folder.path}/one`, `${folder.path}/other`];
  const done: string[] = [];
  const held = Promise.withResolvers<void>();
  const first = withFileLock(one, () => held.promise.then(() => void done.push("one, first")));
  const later = withFileLock(one, () => Promise.resolve(void done.push("one, later")));
  await withFileLock(other, () => Promise.resolve(void done.push("other")));
  held.resolve();
  await Promise.all([first, later]);
  assert.deepEqual(done, ["other", "one, first", "one, later"]);
});

Deno.test({
  name: "lockWithin() lets readers in together, and gives back what it gets too late",
  // the wait that was given up ends in the operating system, perhaps after the test
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using folder = await temporaryFolder();
    const open = () => Deno.open(`${folder.path}/head`, { create: true, read: true, write: true });
    const [first, second, late] = await Promise.all([open(), open(), open()]);
    assert.equal(await lockWithin(first, "shared", 1_000), true);
    assert.equal(await lockWithin(second, "shared", 1_000), true);
    assert.equal(await lockWithin(late, "exclusive", 50), false);
    first.close();
    second.close();
    // what came too late stands first in the queue, and must not keep the lock
    using next = await open();
    assert.equal(await lockWithin(next, "exclusive", 5_000), true);
  },
});

Deno.test("lockWithin() waits for a file once at a time in the operating system, however often it is given up", async () => {
  await using folder = await temporaryFolder();
  const open = () => Deno.open(`${folder.path}/head`, { create: true, read: true, write: true });
  const holder = await open();
  assert.equal(await lockWithin(holder, "exclusive", 1_000), true);
  const { lock } = Deno.FsFile.prototype;
  let waits = 0;
  Deno.FsFile.prototype.lock = function (exclusive) {
    waits++;
    return lock.call(this, exclusive).finally(() => waits--);
  };
  try {
    for (let n = 0; n < 5; n++) assert.equal(await lockWithin(await open(), "exclusive", 20), false);
    assert.equal(waits, 1);
    holder.close();
    using next = await open();
    assert.equal(await lockWithin(next, "exclusive", 5_000), true);
    assert.equal(waits, 0);
  } finally {
    Deno.FsFile.prototype.lock = lock;
  }
});
