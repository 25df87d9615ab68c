import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type AuditEvent, type AuditTrail, createAuditTrail } from "../../src/audit/audit_trail.ts";
import { verifyAudit } from "../../src/audit/verify_audit.ts";
import { createLogger, silentLogger } from "../../src/core/logger.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";
import { waitUntil } from "../support/wait_until.ts";

const now = () => Date.UTC(2026, 0, 15, 8, 30);
const login: AuditEvent = { event: "login", outcome: "ok", user: "alice", address: "192.0.2.1" };

function openTrail(
  file: string,
  options: Partial<Parameters<typeof createAuditTrail>[0]> = {},
): Promise<AuditTrail> {
  return createAuditTrail({ file, now, logger: silentLogger, ...options });
}

/** Opens a trail, records events of these users, and closes it. */
async function recordLogins(file: string, ...users: string[]): Promise<void> {
  await using trail = await openTrail(file);
  for (const user of users) trail.record({ ...login, user });
}

async function linesOf(file: string): Promise<Record<string, unknown>[]> {
  const text = await Deno.readTextFile(file);
  return text.split("\n").slice(0, -1).map((line) => JSON.parse(line));
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

Deno.test("a trail's first lines, to the letter", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  const trail = await openTrail(file);
  trail.record(login);
  trail.record({
    event: "tool_call",
    outcome: "refused",
    principal: "token:token-1768465800",
    address: "2001:db8::1",
    tool: "query_database",
    database: "sales",
    fingerprint: "0f343b0931126a20",
    rows: 0,
    elapsed_ms: 12,
    reason: "not a read",
    request: "r-7",
  });
  await trail.close();
  const first =
    `{"sequence":1,"time":"2026-01-15T08:30:00.000Z","event":"login","outcome":"ok","user":"alice",` +
    `"address":"192.0.2.1","previous":"${"0".repeat(64)}"`;
  const firstLine = `${first},"seal":"${sha256(first)}"}`;
  const second = `{"sequence":2,"time":"2026-01-15T08:30:00.000Z","event":"tool_call","outcome":"refused",` +
    `"principal":"token:token-1768465800","address":"2001:db8::1","tool":"query_database","database":"sales",` +
    `"fingerprint":"0f343b0931126a20","rows":0,"elapsed_ms":12,"reason":"not a read","request":"r-7",` +
    `"previous":"${sha256(firstLine)}"`;
  assert.equal(await Deno.readTextFile(file), `${firstLine}\n${second},"seal":"${sha256(second)}"}\n`);
});

Deno.test("the trail and its head are the owner's alone", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  await recordLogins(file, "alice");
  for (const path of [file, `${file}.head`]) assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
});

Deno.test({
  name: "what root writes first, and first after a rotation, is the folder's owner's (needs root)",
  ignore: Deno.uid() !== 0,
  fn: async () => {
    await using folder = await temporaryFolder();
    await Deno.chown(folder.path, 12345, 23456);
    const file = `${folder.path}/audit.jsonl`;
    for (let round = 0; round < 2; round++) {
      await recordLogins(file, "alice");
      for (const path of [file, `${file}.head`]) {
        const { uid, gid } = await Deno.stat(path);
        assert.deepEqual([uid, gid], [12345, 23456], path);
      }
      await Deno.rename(file, `${file}.1`);
    }
  },
});

Deno.test("an event is taken once its line is in the file, and those that come meanwhile in one write", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  await using trail = await openTrail(file);
  using writes = spyOnFiles("writeSync");
  const taken = Array.from({ length: 200 }, async (_, n) => {
    assert.equal(await trail.record({ ...login, user: `user ${n}` }), true);
    return Deno.readTextFileSync(file).includes(`"user ${n}"`);
  });
  assert.deepEqual(await Promise.all(taken), Array.from({ length: 200 }, () => true));
  // that of the lines and that of the head
  assert.equal(writes.count(), 2);
});

Deno.test("required: a call is answered once the disk has its line, and refused while the file cannot be written", async () => {
  await using folder = await temporaryFolder();
  const [home, away] = [`${folder.path}/home`, `${folder.path}/away`];
  await Deno.mkdir(home);
  const file = `${home}/audit.jsonl`;
  await using trail = await openTrail(file, { required: true, retryMs: 20 });
  {
    using syncs = spyOnFiles("syncData", true);
    let isAnswered = false;
    const answered = trail.recordCall(login).then(() => isAnswered = true);
    await waitUntil("the line is in the file", async () => (await linesOf(file)).length === 1);
    await waitUntil("the disk is asked", () => syncs.count() === 1);
    assert.equal(isAnswered, false);
    syncs.letGo();
    await answered;
  }
  const refusal = {
    code: "overloaded",
    message: "Cannot run the call: the audit trail cannot be written now",
    data: { retryAfterSeconds: 1 },
  };
  trail.admit();
  await Deno.rename(home, away);
  await assert.rejects(trail.recordCall(login), refusal);
  assert.throws(() => trail.admit(), refusal);
  await Deno.rename(away, home);
  await waitUntil("it can be written again", () => trail.counts().waiting === 0);
  trail.admit();
  await trail.recordCall(login);
  assert.equal((await linesOf(file)).length, 3);
});

Deno.test("without required, a call is answered while the file cannot be written, and the disk is waited for by nobody", async () => {
  await using folder = await temporaryFolder();
  const [home, away] = [`${folder.path}/home`, `${folder.path}/away`];
  await Deno.mkdir(home);
  await using trail = await openTrail(`${home}/audit.jsonl`, { retryMs: 20 });
  {
    using syncs = spyOnFiles("syncData", true);
    await trail.recordCall(login);
    assert.equal(syncs.count(), 0);
  }
  await Deno.rename(home, away);
  await trail.recordCall(login);
  trail.admit();
  await Deno.rename(away, home);
  await waitUntil("it can be written again", () => trail.counts().waiting === 0);
  assert.equal((await linesOf(`${home}/audit.jsonl`)).length, 2);
});

/** Counts calls of a method of open files; with `isHeld` they end when they are let go. */
function spyOnFiles(method: "writeSync" | "syncData", isHeld = false) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let count = 0;
  const original = Deno.FsFile.prototype[method];
  const spy = function (this: Deno.FsFile, bytes: Uint8Array) {
    count++;
    const result = Reflect.apply(original, this, [bytes]);
    return isHeld ? promise.then(() => result) : result;
  };
  Object.assign(Deno.FsFile.prototype, { [method]: spy });
  return {
    count: () => count,
    letGo: resolve,
    [Symbol.dispose]: () => void Object.assign(Deno.FsFile.prototype, { [method]: original }),
  };
}

Deno.test("texts cannot forge a line, are cut, and reasons are redacted; what is no member stays out", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  await using trail = await openTrail(file);
  const event = {
    ...login,
    user: 'x"}\n{"sequence":9}',
    tool: "ü".repeat(1000),
    reason: "password=hunter2 failed",
    password: "hunter2",
    sql: "select secret",
  };
  trail.record(event);
  await trail.flush();
  const [line, ...more] = await linesOf(file);
  assert.deepEqual(more, []);
  assert.equal(line?.user, event.user);
  assert.equal(line?.tool, `${"ü".repeat(499)}…`);
  assert.doesNotMatch(await Deno.readTextFile(file), /hunter2|secret/);
  assert.equal((await verifyAudit(file)).ok, true);
});

Deno.test("a restart goes on with the chain", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  for (const user of ["a", "b", "c"]) await recordLogins(file, user);
  const lines = await linesOf(file);
  assert.deepEqual(lines.map(({ sequence, user }) => [sequence, user]), [[1, "a"], [2, "b"], [3, "c"]]);
  const result = await verifyAudit(file);
  assert.deepEqual([result.ok, result.ok && result.lines], [true, 3]);
});

Deno.test("a restart without the head goes on with the chain of the last line", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  await recordLogins(file, "a", "b");
  for (const spoil of [() => Deno.remove(`${file}.head`), () => Deno.writeTextFile(`${file}.head`, "{")]) {
    await spoil();
    await recordLogins(file, "c");
    const result = await verifyAudit(file);
    assert.equal(result.ok, true);
  }
  assert.deepEqual((await linesOf(file)).map(({ sequence }) => sequence), [1, 2, 3, 4]);
});

const rotations: Record<string, (file: string, old: string) => Promise<void>> = {
  "by rename": (file, old) => Deno.rename(file, old),
  async "by rename, with a new file put in its place"(file, old) {
    await Deno.rename(file, old);
    await Deno.writeTextFile(file, "", { mode: 0o640 });
  },
  async "by copy and truncation"(file, old) {
    await Deno.copyFile(file, old);
    await Deno.truncate(file, 0);
  },
};
for (const [title, rotate] of Object.entries(rotations)) {
  Deno.test(`after a rotation ${title} the chain goes on in the new file`, async () => {
    await using folder = await temporaryFolder();
    const file = `${folder.path}/audit.jsonl`;
    await using trail = await openTrail(file);
    for (const round of [1, 2]) {
      trail.record({ ...login, user: `before ${round}` });
      await trail.flush();
      await rotate(file, `${file}.${round}`);
    }
    trail.record({ ...login, user: "after" });
    await trail.flush();

    const [oldLines, newLines] = [await linesOf(`${file}.2`), await linesOf(file)];
    assert.deepEqual(newLines.map(({ sequence, event }) => [sequence, event]), [[4, "rotation"], [
      5,
      "login",
    ]]);
    assert.equal(oldLines[0]?.event, "rotation");

    let end;
    for (const path of [`${file}.1`, `${file}.2`, file]) {
      const result = await verifyAudit(path, end);
      assert.ok(result.ok, path);
      assert.equal(result.endChecked, path === file);
      end = result.end;
    }
    const first = await verifyAudit(`${file}.1`);
    assert.ok(first.ok && first.end !== undefined);
    assert.deepEqual(await verifyAudit(`${file}.2`, { ...first.end, hash: sha256("another trail's") }), {
      ok: false,
      line: 1,
      reason: "it does not continue the previous file",
    });
    const skipped = await verifyAudit(file, first.end);
    assert.deepEqual(skipped, {
      ok: false,
      line: 1,
      reason: "lines before it are missing (2), or it was inserted",
    });
  });
}

Deno.test("a rotated file that is not written yet is whole, and one that was emptied is not", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  await recordLogins(file, "a", "b");
  await Deno.rename(file, `${file}.1`);
  await Deno.writeTextFile(file, "");
  assert.deepEqual(await verifyAudit(file), { ok: true, lines: 0, end: undefined, endChecked: false });
  await Deno.rename(`${file}.1`, file);
  await Deno.truncate(file, 0);
  assert.deepEqual(await verifyAudit(file), {
    ok: false,
    line: 1,
    reason: "lines are missing at the end (2)",
  });
});

Deno.test("what a crash leaves of a line is kept and noted, wherever it was cut", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  await recordLogins(file, "a");
  const [head, before] = [await Deno.readFile(`${file}.head`), await Deno.readFile(file)];
  await recordLogins(file, "b", "c");
  const whole = await Deno.readFile(file);
  const lineEnds = new Set([before.length, whole.indexOf(10, before.length) + 1, whole.length]);
  for (let size = before.length; size <= whole.length; size += size > before.length + 3 ? 37 : 1) {
    await Deno.writeFile(file, whole.subarray(0, size));
    await Deno.writeFile(`${file}.head`, head);
    await recordLogins(file, "d");
    const result = await verifyAudit(file);
    assert.equal(result.ok, true, `cut at ${size}: ${JSON.stringify(result)}`);
    const after = await Deno.readFile(file);
    assert.deepEqual(after.subarray(0, size), whole.subarray(0, size), "what was there is no more");
    const noted = new TextDecoder().decode(after).includes('"event":"recovery"');
    assert.equal(noted, !lineEnds.has(size), `cut at ${size}`);
  }
});

Deno.test("a crash in the first line, one in a recovery, and a block of zeros are noted", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  for (const [left, loginLine] of [['{"sequence":1,"ti', 2], ["\0".repeat(300_000), 2]] as const) {
    await Deno.writeTextFile(file, left);
    await Deno.remove(`${file}.head`).catch(() => {});
    await recordLogins(file, "a");
    assert.equal((await verifyAudit(file)).ok, true);
    const lines = (await Deno.readTextFile(file)).split("\n");
    assert.match(lines[loginLine] ?? "", /^\{"sequence":2,.*"event":"login"/);
  }
  await Deno.writeTextFile(file, "\0".repeat(300_000), { append: true });
  await recordLogins(file, "after a block of zeros");
  assert.equal((await verifyAudit(file)).ok, true);
  await Deno.writeTextFile(file, `torn once\n{"sequence":3,"event":"recov`, { append: true });
  await recordLogins(file, "b");
  await recordLogins(file, "c");
  assert.equal((await verifyAudit(file)).ok, true);
});

Deno.test("lines that a hand removed at the end are noted, and stay found out", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  await recordLogins(file, "a", "b", "c");
  const kept = (await Deno.readTextFile(file)).split("\n").slice(0, 1).join("\n") + "\n";
  await Deno.writeTextFile(file, kept);
  assert.deepEqual(await verifyAudit(file), {
    ok: false,
    line: 2,
    reason: "lines are missing at the end (2)",
  });
  const logged: string[] = [];
  const logger = createLogger({ level: "error", format: "text", write: (line) => void logged.push(line) });
  await using trail = await openTrail(file, { logger });
  trail.record({ ...login, user: "d" });
  await trail.flush();
  assert.match(logged.join(""), /has changed since the server wrote it lines_missing=2/);
  const lines = await linesOf(file);
  assert.deepEqual(lines.map(({ sequence, event }) => [sequence, event]), [[1, "login"], [4, "recovery"], [
    5,
    "login",
  ]]);
  assert.deepEqual(await verifyAudit(file), {
    ok: false,
    line: 2,
    reason: "lines before it are missing (2), or it was inserted",
  });
});

Deno.test("a last line that was changed before more was written stays found out", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  for (const replaceFile of [false, true]) {
    await Deno.remove(file).catch(() => {});
    await Deno.remove(`${file}.head`).catch(() => {});
    await recordLogins(file, "alice", "bob");
    const changed = (await Deno.readTextFile(file)).replace("bob", "eve");
    if (replaceFile) await Deno.remove(file);
    await Deno.writeTextFile(file, changed);
    await recordLogins(file, "carol");
    assert.deepEqual(await verifyAudit(file), { ok: false, line: 2, reason: "it was changed" });
  }
});

Deno.test("several processes and trails that write at once keep one chain and every event", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  const source = (name: string) => JSON.stringify(new URL(`../../src/${name}`, import.meta.url).href);
  const script = (name: string) => `
    import { createAuditTrail } from ${source("audit/audit_trail.ts")};
    import { silentLogger } from ${source("core/logger.ts")};
    const trail = await createAuditTrail({ file: ${
    JSON.stringify(file)
  }, now: Date.now, logger: silentLogger });
    for (let i = 0; i < 150; i++) {
      trail.record({ event: "administrator", outcome: "ok", user: "${name}" + i });
      if (i % 3 === 0) await trail.flush();
    }
    await trail.close();`;
  const spawn = async (name: string) => {
    await Deno.writeTextFile(`${folder.path}/${name}.ts`, script(name));
    const args = ["run", "-A", "--quiet", "--no-check", "--no-config", `${folder.path}/${name}.ts`];
    return await new Deno.Command(Deno.execPath(), { args, stderr: "inherit" }).output();
  };
  const rotate = async (to: string) => {
    try {
      await Deno.rename(file, to);
    } catch (error) {
      // the other one has just done it
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  };
  const own = async (name: string) => {
    await using trail = await openTrail(file);
    for (let i = 0; i < 150; i++) {
      trail.record({ ...login, user: `${name}${i}` });
      await trail.flush();
      if (i % 50 === 0) await rotate(`${file}.${name}.${i}`);
    }
  };
  const results = await Promise.all([spawn("a"), spawn("b"), own("c"), own("d")]);
  for (const result of results) assert.ok(result === undefined || result.success);

  const files = await Array.fromAsync(Deno.readDir(folder.path), ({ name }) => `${folder.path}/${name}`);
  const trails = files.filter((path) => /audit\.jsonl($|\.[cd])/.test(path));
  const all = (await Promise.all(trails.map(async (path) => ({ path, lines: await linesOf(path) }))))
    .toSorted((left, right) => Number(left.lines[0]?.sequence) - Number(right.lines[0]?.sequence));
  let end;
  for (const { path } of all) {
    const result = await verifyAudit(path, end);
    assert.ok(result.ok, JSON.stringify(result));
    end = result.end;
  }
  const users = all.flatMap(({ lines }) => lines).flatMap(({ user }) => user ?? []);
  const expected = ["a", "b", "c", "d"].flatMap((name) =>
    Array.from({ length: 150 }, (_, i) => `${name}${i}`)
  );
  assert.deepEqual(users.toSorted(), expected.toSorted());
  for (const name of ["a", "b", "c", "d"]) {
    const inOrder = users.filter((user) => String(user).startsWith(name));
    assert.deepEqual(inOrder, expected.filter((user) => user.startsWith(name)));
  }
});

Deno.test("a trail is verified while it is written", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  await recordLogins(file, "alice");
  await using trail = await openTrail(file);
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 200; i++) trail.record(login);
    const result = await verifyAudit(file);
    assert.ok(result.ok && result.endChecked, JSON.stringify(result));
  }
});

Deno.test("a file that cannot be written is logged once; events wait, the newest go past the bound, and are noted", async () => {
  await using folder = await temporaryFolder();
  const [home, away] = [`${folder.path}/home`, `${folder.path}/away`];
  await Deno.mkdir(home);
  const file = `${home}/audit.jsonl`;
  const logged: string[] = [];
  const logger = createLogger({
    level: "info",
    format: "text",
    write: (line) => void logged.push(line.slice(25)),
  });
  await using trail = await openTrail(file, { logger, maxWaiting: 5, retryMs: 20 });
  trail.record({ ...login, user: "before" });
  await trail.flush();
  await Deno.rename(home, away);
  for (let i = 0; i < 8; i++) trail.record({ ...login, user: `user ${i}` });
  await waitUntil("several attempts have failed", () => trail.counts().failedWrites > 2);
  const { failedWrites: _, ...counts } = trail.counts();
  assert.deepEqual(counts, { written: 1, waiting: 5, lost: 3 });
  assert.deepEqual(logged, [
    `ERROR Cannot open ${file}.head: its folder does not exist; audit events wait in memory waiting=5\n`,
  ]);
  await Deno.rename(away, home);
  await waitUntil("all that waited is written", () => trail.counts().waiting === 0);
  trail.record({ ...login, user: "after" });
  await trail.flush();
  assert.deepEqual(logged.slice(1), [`INFO  The audit trail ${file} can be written again lost=3\n`]);
  const lines = await linesOf(file);
  assert.deepEqual(lines.map(({ user, event, count }) => user ?? [event, count]), [
    "before",
    ...Array.from({ length: 5 }, (_, i) => `user ${i}`),
    ["lost", 3],
    "after",
  ]);
  assert.equal((await verifyAudit(file)).ok, true);
});

Deno.test("while a file cannot be written, an event waits for the next attempt and makes none of its own", async () => {
  await using folder = await temporaryFolder();
  const [home, away] = [`${folder.path}/home`, `${folder.path}/away`];
  await Deno.mkdir(home);
  await using trail = await openTrail(`${home}/audit.jsonl`, { retryMs: 3_600_000 });
  await Deno.rename(home, away);
  for (let i = 0; i < 3; i++) assert.equal(await trail.record(login), false);
  const { failedWrites, waiting } = trail.counts();
  assert.deepEqual({ failedWrites, waiting }, { failedWrites: 1, waiting: 3 });
});

Deno.test("what cannot be written by the end is said, and close() ends", async () => {
  await using folder = await temporaryFolder();
  await Deno.mkdir(`${folder.path}/home`);
  const file = `${folder.path}/home/audit.jsonl`;
  const logged: string[] = [];
  const logger = createLogger({
    level: "error",
    format: "text",
    write: (line) => void logged.push(line.slice(25)),
  });
  const trail = await openTrail(file, { logger });
  await Deno.remove(`${folder.path}/home`, { recursive: true });
  trail.record(login);
  trail.record(login);
  await trail.close();
  assert.equal(logged.at(-1), `ERROR Audit events are lost: ${file} cannot be written lost=2\n`);
  trail.record(login);
  const { failedWrites: _, ...counts } = trail.counts();
  assert.deepEqual(counts, { written: 0, waiting: 0, lost: 3 });
});

Deno.test({
  name: "a file that may grow no more loses nothing and is not torn",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using folder = await temporaryFolder();
    const file = `${folder.path}/audit.jsonl`;
    const source = (name: string) => JSON.stringify(new URL(`../../src/${name}`, import.meta.url).href);
    await Deno.writeTextFile(
      `${folder.path}/write.ts`,
      `import { createAuditTrail } from ${source("audit/audit_trail.ts")};
      import { silentLogger } from ${source("core/logger.ts")};
      const trail = await createAuditTrail({ file: ${
        JSON.stringify(file)
      }, now: Date.now, logger: silentLogger });
      for (let i = 0; i < 100; i++) {
        trail.record({ event: "login", outcome: "ok", user: "user " + i });
        await trail.flush();
      }
      console.log(JSON.stringify(trail.counts()));
      await trail.close();`,
    );
    // 8 KiB; the runtime itself writes nothing that long
    const command = `trap "" XFSZ; ulimit -f 8; exec "$0" run -A --quiet --no-check --no-config "$1"`;
    const args = ["-c", command, Deno.execPath(), `${folder.path}/write.ts`];
    const { stdout } = await new Deno.Command("bash", { args, stderr: "inherit" }).output();
    const counts = JSON.parse(new TextDecoder().decode(stdout));
    const lines = await linesOf(file);
    assert.equal(lines.length, counts.written);
    assert.ok(counts.failedWrites > 0 && counts.written > 10);
    assert.equal(counts.written + counts.waiting, 100);
    const result = await verifyAudit(file);
    assert.ok(result.ok && result.endChecked);
  },
});

Deno.test("a file of another kind, a folder and a missing folder are refused at the start", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/notes.txt`;
  await Deno.writeTextFile(file, "my notes\nof this year\n");
  await assert.rejects(openTrail(file), {
    code: "invalid",
    message: `Cannot write ${file}: it is not an audit trail`,
  });
  assert.equal(await Deno.readTextFile(file), "my notes\nof this year\n");
  await assert.rejects(openTrail(folder.path), {
    code: "unavailable",
    message: `Cannot write ${folder.path}: the file system refused`,
  });
  await assert.rejects(openTrail(`${folder.path}/none/audit.jsonl`), {
    code: "not_found",
    message: `Cannot open ${folder.path}/none/audit.jsonl.head: its folder does not exist`,
  });
});

for (const texts of [false, true]) {
  Deno.test(`a question has its SHA-256 in the trail, and its words ${texts ? "where" : "only where"} texts say so`, async () => {
    await using folder = await temporaryFolder();
    const file = `${folder.path}/audit.jsonl`;
    await using trail = await createAuditTrail({ file, texts, now: () => 0, logger: silentLogger });
    const event = {
      event: "query",
      outcome: "ok",
      question: "How many days? My password=hunter2",
      sources: ["1", "b".repeat(501)],
      tokens_used: 7,
    } as const;
    trail.record(event);
    await trail.flush();
    const line = JSON.parse(await Deno.readTextFile(file));
    assert.deepEqual([line.question_sha256, line.question, line.sources, line.tokens_used], [
      sha256("How many days? My password=hunter2"),
      texts ? "How many days? My password=[redacted]" : undefined,
      ["1", `${"b".repeat(499)}…`],
      7,
    ]);
  });
}
