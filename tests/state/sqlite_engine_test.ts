import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createLogger } from "../../src/core/logger.ts";
import { sql } from "../../src/state/engine.ts";
import { checkStateFile, openSqliteEngine, stateFile } from "../../src/state/sqlite_engine.ts";
import { createHistory, type HistoryEntry } from "../../src/tool_server/questions/history.ts";
import { fileState, skipTime } from "../support/state.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";
import { waitUntil } from "../support/wait_until.ts";

const noon = Date.parse("2026-03-01T12:00:00Z");
const secret = "how many zebras?";
const entry = (question: string, at = noon): HistoryEntry => ({
  database: "shop",
  question,
  reply: { kind: "statement", sql: "SELECT 1" },
  at,
});

async function fixture() {
  const folder = await temporaryFolder();
  const path = stateFile(join(folder.path, "data"));
  const lines: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => lines.push(line) });
  return {
    path,
    lines,
    engine: () => openSqliteEngine(path, () => noon),
    /** The state of one more process, with a history in it. */
    open(now = () => noon) {
      const state = fileState(path, now, logger);
      const history = createHistory(state, logger);
      const add = async (owner: string, ...entries: HistoryEntry[]) => {
        for (const each of entries) {
          await history.add(owner, each, (await history.recent(owner, each.database)).generation);
        }
      };
      const questions = async (owner: string) =>
        (await history.recent(owner, "shop")).entries.map(({ question }) => question);
      return {
        state,
        ...history,
        keep: history.add,
        add,
        questions,
        [Symbol.asyncDispose]: () => state[Symbol.asyncDispose](),
      };
    },
    isOnDisk: (text: string) =>
      [path, `${path}-wal`].some((file) =>
        new TextDecoder("latin1").decode(Deno.readFileSync(file)).includes(text)
      ),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const modes = (path: string) =>
  [path, `${path}-wal`, `${path}-shm`].map((file) => ((Deno.statSync(file).mode ?? 0) & 0o777).toString(8));

Deno.test("the file, its log and its index are their owner's alone, and so is a folder that was made", async () => {
  await using f = await fixture();
  await using history = f.open();
  await history.add("user:alice", entry("a"));
  assert.deepEqual(modes(f.path), ["600", "600", "600"]);
  assert.equal(((Deno.statSync(dirname(f.path)).mode ?? 0) & 0o777).toString(8), "700");
});

Deno.test("a file that others could read no longer is, once it is opened", async () => {
  await using f = await fixture();
  await f.engine()[Symbol.asyncDispose]();
  Deno.chmodSync(f.path, 0o644);
  await using history = f.open();
  await history.add("user:alice", entry("a"));
  assert.deepEqual(modes(f.path), ["600", "600", "600"]);
});

Deno.test("processes that start at once all open a new file and lose nothing", async () => {
  await using f = await fixture();
  const module = (path: string) => JSON.stringify(import.meta.resolve(path));
  const script = `
    import { openSqliteEngine } from ${module("../../src/state/sqlite_engine.ts")};
    import { openState } from ${module("../../src/state/state.ts")};
    import { createHistory } from ${module("../../src/tool_server/questions/history.ts")};
    import { createLogger } from ${module("../../src/core/logger.ts")};
    const [path, owner] = Deno.args;
    const logger = createLogger({ level: "warn", format: "text" });
    await using state = openState({ engine: openSqliteEngine(path, () => ${noon}), graceMs: 0, logger });
    const expiresAt = ${noon} + 60_000;
    for (let i = 0; i < 20; i++) await state.of(owner).keep({ id: String(i), value: i, expiresAt });`;
  const file = `${f.path}.script.ts`;
  Deno.mkdirSync(dirname(f.path));
  Deno.writeTextFileSync(file, script);
  const owners = ["user:a", "user:b", "user:c"];
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const outputs = await Promise.all(
    owners.map((owner) =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", "--config", config, file, f.path, owner],
        stderr: "piped",
      }).output()
    ),
  );
  for (const { code, stderr } of outputs) {
    assert.deepEqual([code, new TextDecoder().decode(stderr)], [0, ""]);
  }
  await using engine = f.engine();
  const [rows = []] = await engine.run([
    sql`SELECT kind, count(*) AS n FROM records GROUP BY kind ORDER BY kind`,
  ]);
  assert.deepEqual(rows.map(({ kind, n }) => [kind, n]), owners.map((owner) => [owner, 20]));
});

Deno.test("a locked file costs the entry, not the question; to forget fails instead", async () => {
  await using f = await fixture();
  await using history = f.open();
  await history.add("user:alice", entry("before"));
  const { generation } = await history.recent("user:alice", "shop");
  const other = new DatabaseSync(f.path);
  other.exec("BEGIN IMMEDIATE");
  await history.keep("user:alice", entry("meanwhile"), generation);
  assert.match(
    f.lines.join(""),
    /WARN\s+Cannot write to the history; the request continues without it.*locked/,
  );
  await assert.rejects(history.forget("user:alice"), {
    name: "AppError",
    code: "unavailable",
    message: "Cannot clear the history: try again later",
  });
  assert.deepEqual(await history.questions("user:alice"), ["before"]);
  other.exec("ROLLBACK");
  other.close();
  await history.add("user:alice", entry("after"));
  assert.deepEqual(await history.questions("user:alice"), ["before", "after"]);
});

Deno.test("what another process writes holds up nobody who reads", async () => {
  await using f = await fixture();
  await using history = f.open();
  await history.add("user:alice", entry("before"));
  using other = new DatabaseSync(f.path);
  other.exec("BEGIN IMMEDIATE");
  const begin = performance.now();
  assert.deepEqual(await history.questions("user:alice"), ["before"]);
  assert.ok(performance.now() - begin < 500);
  other.exec("ROLLBACK");
});

Deno.test("what may be lost does not wait long for another process's lock, and what may not waits", async () => {
  await using f = await fixture();
  await using engine = f.engine();
  using other = new DatabaseSync(f.path);
  other.exec("BEGIN IMMEDIATE");
  const waitedMs = async (mayBeLost: boolean) => {
    const begin = performance.now();
    await assert.rejects(engine.run([sql`UPDATE clock SET version = version`], { mayBeLost }), /locked/);
    return performance.now() - begin;
  };
  assert.ok(await waitedMs(true) < 500);
  assert.ok(await waitedMs(false) > 500);
  assert.ok(await waitedMs(true) < 500);
  other.exec("ROLLBACK");
  await engine.run([sql`UPDATE clock SET version = version`]);
});

Deno.test("a file that breaks while it is open costs the history, not the questions", async () => {
  await using f = await fixture();
  await using history = f.open();
  const { generation } = await history.recent("user:alice", "shop");
  const other = new DatabaseSync(f.path);
  other.exec("DROP TABLE records");
  other.close();
  await history.keep("user:alice", entry("a"), generation);
  assert.deepEqual(await history.questions("user:alice"), []);
  const told = f.lines.filter((line) => line.includes("the history"));
  assert.equal(told.length, 2);
  assert.match(told[1] ?? "", /Cannot read the history; the request continues without it/);
});

Deno.test("what cannot be opened is said with its path", async () => {
  await using f = await fixture();
  const folder = dirname(f.path);
  Deno.mkdirSync(folder);
  const opening = async (prepare: () => void) => {
    Deno.removeSync(folder, { recursive: true });
    Deno.mkdirSync(folder);
    prepare();
    try {
      await f.engine()[Symbol.asyncDispose]();
      return "opened";
    } catch (error) {
      return `${error instanceof Error && "code" in error ? error.code : ""} ${String(error)}`
        .replaceAll(f.path, "PATH");
    }
  };
  const run = (statements: string) => () => {
    const database = new DatabaseSync(f.path);
    database.exec(statements);
    database.close();
  };
  const damaged =
    "invalid AppError: Cannot open PATH: it is damaged or not a state file; remove it to start with an empty state";
  assert.equal(await opening(() => Deno.writeTextFileSync(f.path, "no database".repeat(500))), damaged);
  assert.equal(await opening(run("CREATE TABLE records (a)")), damaged);
  assert.equal(await opening(run("CREATE TABLE other (a); PRAGMA user_version = 1")), damaged);
  const newer =
    "conflict AppError: Cannot open PATH: a newer version of Postern wrote it (layout 2; this version knows " +
    "up to 1); run that version, or set data_dir to another folder";
  assert.equal(await opening(run("PRAGMA user_version = 2")), newer);
  await assert.rejects(checkStateFile(f.path), { code: "conflict" });
  assert.match(await opening(() => Deno.mkdirSync(f.path)), /^unavailable AppError: Cannot open PATH: /);
  assert.equal(await opening(() => {}), "opened");
  await checkStateFile(f.path);
});

Deno.test("what is forgotten or has expired is gone from the disk", async () => {
  await using f = await fixture();
  let time = noon;
  await using history = f.open(() => time);
  await history.add("user:alice", entry(secret));
  assert.ok(f.isOnDisk(secret));
  await history.forget("user:alice");
  assert.ok(!f.isOnDisk(secret));
  await history.add("user:alice", entry(secret));
  assert.ok(f.isOnDisk(secret));
  time += 24 * 3_600_000;
  using _ = skipTime(61_000);
  await waitUntil("it is gone", () => !f.isOnDisk(secret));
});

Deno.test("a record that is forgotten is not left on the disk", async () => {
  await using f = await fixture();
  await using history = f.open();
  const records = history.state.of("session");
  await records.keep({ id: "x", value: secret, expiresAt: noon + 60_000 });
  assert.ok(f.isOnDisk(secret));
  records.forget("x");
  using _ = skipTime(61_000);
  await waitUntil("it is gone", () => !f.isOnDisk(secret));
});

Deno.test("what expired while the program stood still is gone once it starts", async () => {
  await using f = await fixture();
  {
    await using history = f.open();
    await history.add("user:alice", entry(secret));
    await history.add("user:bob", entry("late", noon + 1));
  }
  await using history = f.open(() => noon + 24 * 3_600_000);
  await waitUntil("it is gone", () => !f.isOnDisk(secret));
  assert.deepEqual(await history.questions("user:bob"), ["late"]);
});

Deno.test("a write that fails holds up neither the next one nor another process", async () => {
  await using f = await fixture();
  await using history = f.open();
  const other = new DatabaseSync(f.path);
  other.exec(
    "CREATE TRIGGER full BEFORE INSERT ON records BEGIN SELECT RAISE(FAIL, 'the disk is full'); END",
  );
  await history.add("user:alice", entry("lost"));
  assert.match(f.lines.join(""), /the disk is full/);
  other.exec("DROP TRIGGER full");
  other.close();
  await history.add("user:alice", entry("kept"));
  assert.deepEqual(await history.questions("user:alice"), ["kept"]);
  assert.equal(await history.forget("user:alice"), 1);
  assert.equal(f.lines.length, 1);
});

Deno.test("a state in memory leaves no file, and ends with the process", async () => {
  {
    await using engine = openSqliteEngine(undefined, () => noon);
    await engine.run([sql`UPDATE clock SET version = 7`]);
  }
  await using engine = openSqliteEngine(undefined, () => noon);
  assert.deepEqual((await engine.run([sql`SELECT version FROM clock`]))[0]?.[0]?.["version"], 1);
});
