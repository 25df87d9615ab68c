import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createLogger } from "../../../src/core/logger.ts";
import { createSqliteHistory } from "../../../src/tool_server/questions/sqlite_history.ts";
import type { HistoryEntry } from "../../../src/tool_server/questions/history.ts";

const noon = Date.parse("2026-03-01T12:00:00Z");
const secret = "how many zebras?";
const entry = (question: string, at = noon): HistoryEntry => ({
  database: "shop",
  question,
  reply: { kind: "statement", sql: "SELECT 1" },
  at,
});

async function fixture() {
  const folder = await Deno.makeTempDir({ prefix: "postern_test_" });
  const path = join(folder, "data", "turns.sqlite");
  const lines: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => lines.push(line) });
  return {
    path,
    lines,
    open: (now = () => noon) => createSqliteHistory({ path, now, logger }),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

const modes = (path: string) =>
  [path, `${path}-wal`, `${path}-shm`].map((file) => ((Deno.statSync(file).mode ?? 0) & 0o777).toString(8));

Deno.test("history in SQLite outlives the store", async () => {
  await using f = await fixture();
  {
    using history = f.open();
    history.add("user:alice", entry("a"), history.generation("user:alice"));
    history[Symbol.dispose]();
  }
  using history = f.open();
  assert.deepEqual(history.recent("user:alice", "shop"), [entry("a")]);
});

Deno.test("the file, its log and its index are their owner's alone, and so is a folder that was made", async () => {
  await using f = await fixture();
  using history = f.open();
  history.add("user:alice", entry("a"), history.generation("user:alice"));
  assert.deepEqual(modes(f.path), ["600", "600", "600"]);
  assert.equal(((Deno.statSync(dirname(f.path)).mode ?? 0) & 0o777).toString(8), "700");
});

Deno.test("a file that others could read no longer is, once it is opened", async () => {
  await using f = await fixture();
  f.open()[Symbol.dispose]();
  Deno.chmodSync(f.path, 0o644);
  using history = f.open();
  history.add("user:alice", entry("a"), history.generation("user:alice"));
  assert.deepEqual(modes(f.path), ["600", "600", "600"]);
});

Deno.test("two stores on one file see each other's entries", async () => {
  await using f = await fixture();
  using one = f.open();
  using other = f.open();
  one.add("user:alice", entry("a"), one.generation("user:alice"));
  other.add("user:alice", entry("b"), other.generation("user:alice"));
  assert.deepEqual(one.recent("user:alice", "shop").map(({ question }) => question), ["a", "b"]);
  assert.equal(other.forget("user:alice"), 2);
  assert.deepEqual(one.recent("user:alice", "shop"), []);
  assert.deepEqual(f.lines, []);
});

Deno.test("processes that start at once all open a new file and lose no entry", async () => {
  await using f = await fixture();
  const script = `
    import { createSqliteHistory } from ${
    JSON.stringify(import.meta.resolve("../../../src/tool_server/questions/sqlite_history.ts"))
  };
    import { createLogger } from ${JSON.stringify(import.meta.resolve("../../../src/core/logger.ts"))};
    const [path, owner] = Deno.args;
    const logger = createLogger({ level: "warn", format: "text" });
    using history = createSqliteHistory({ path, now: () => ${noon}, logger });
    for (let i = 0; i < 20; i++) {
      history.add(owner, { database: "shop", question: String(i), reply: { kind: "question", text: "?" }, at: ${noon} }, 0);
    }`;
  const file = `${f.path}.script.ts`;
  Deno.mkdirSync(dirname(f.path));
  Deno.writeTextFileSync(file, script);
  const owners = ["user:a", "user:b", "user:c"];
  const config = new URL("../../../deno.json", import.meta.url).pathname;
  const outputs = await Promise.all(
    owners.map((owner) =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", "--config", config, file, f.path, owner],
        stderr: "piped",
      }).output()
    ),
  );
  for (const { code, stderr } of outputs) assert.equal(code, 0, new TextDecoder().decode(stderr));
  using history = f.open();
  assert.deepEqual(owners.map((owner) => history.recent(owner, "shop").length), [20, 20, 20]);
});

Deno.test("a locked file costs the entry, not the question; to forget fails instead", async () => {
  await using f = await fixture();
  using history = f.open();
  history.add("user:alice", entry("before"), history.generation("user:alice"));
  const other = new DatabaseSync(f.path);
  other.exec("BEGIN IMMEDIATE");
  history.add("user:alice", entry("meanwhile"), history.generation("user:alice"));
  assert.match(
    f.lines.join(""),
    /WARN\s+Cannot write the history to .*turns\.sqlite; the request continues without it.*locked/,
  );
  assert.throws(() => history.forget("user:alice"), {
    name: "AppError",
    code: "unavailable",
    message: `Cannot clear the history in ${f.path}: try again later`,
  });
  assert.equal(history.recent("user:alice", "shop").length, 1);
  other.exec("ROLLBACK");
  other.close();
  history.add("user:alice", entry("after"), history.generation("user:alice"));
  assert.deepEqual(history.recent("user:alice", "shop").map(({ question }) => question), ["before", "after"]);
});

Deno.test("a file that breaks while it is open costs the history, not the questions", async () => {
  await using f = await fixture();
  using history = f.open();
  const other = new DatabaseSync(f.path);
  other.exec("DROP TABLE turns");
  other.close();
  history.add("user:alice", entry("a"), history.generation("user:alice"));
  assert.deepEqual(history.recent("user:alice", "shop"), []);
  assert.equal(f.lines.length, 2);
  assert.match(f.lines[1] ?? "", /Cannot read the history in .*turns\.sqlite/);
});

Deno.test("what cannot be opened is said with its path", async () => {
  await using f = await fixture();
  const folder = dirname(f.path);
  Deno.mkdirSync(folder);
  const opening = (prepare: () => void) => {
    Deno.removeSync(folder, { recursive: true });
    Deno.mkdirSync(folder);
    prepare();
    try {
      f.open()[Symbol.dispose]();
      return "opened";
    } catch (error) {
      return `${error instanceof Error && "code" in error ? error.code : ""} ${String(error)}`
        .replaceAll(f.path, "PATH");
    }
  };
  const run = (sql: string) => () => {
    const database = new DatabaseSync(f.path);
    database.exec(sql);
    database.close();
  };
  const damaged =
    "invalid AppError: Cannot open PATH: it is damaged or not a history file; remove it to start with an empty history";
  assert.equal(opening(() => Deno.writeTextFileSync(f.path, "no database".repeat(500))), damaged);
  assert.equal(opening(run("CREATE TABLE turns (a)")), damaged);
  assert.equal(opening(run("CREATE TABLE other (a); PRAGMA user_version = 1")), damaged);
  assert.equal(
    opening(run("PRAGMA user_version = 2")),
    "conflict AppError: Cannot open PATH: a newer version of Postern wrote it (layout 2; this version knows up to 1); " +
      "run that version, or set data_dir to another folder",
  );
  assert.match(opening(() => Deno.mkdirSync(f.path)), /^unavailable AppError: Cannot open PATH: /);
  assert.equal(opening(() => {}), "opened");
});

Deno.test("what is forgotten or has expired is gone from the disk", async () => {
  await using f = await fixture();
  let time = noon;
  using history = f.open(() => time);
  const onDisk = () =>
    [f.path, `${f.path}-wal`].some((file) =>
      new TextDecoder("latin1").decode(Deno.readFileSync(file)).includes(secret)
    );
  history.add("user:alice", entry(secret), history.generation("user:alice"));
  assert.ok(onDisk());
  history.forget("user:alice");
  assert.ok(!onDisk());
  history.add("user:alice", entry(secret), history.generation("user:alice"));
  time += 24 * 3_600_000;
  history.add("user:bob", entry("next", time), history.generation("user:bob"));
  history.forget("user:bob");
  assert.ok(!onDisk());
});

Deno.test("what expired while the program stood still is gone once it starts", async () => {
  await using f = await fixture();
  {
    using history = f.open();
    history.add("user:alice", entry(secret), 0);
    history.add("user:bob", entry("late", noon + 1), 0);
  }
  using history = f.open(() => noon + 24 * 3_600_000);
  const onDisk = new TextDecoder("latin1").decode(Deno.readFileSync(f.path));
  assert.ok(!onDisk.includes(secret));
  assert.deepEqual(history.recent("user:bob", "shop").map(({ question }) => question), ["late"]);
});

Deno.test("what another process forgets while a request is under way is not kept", async () => {
  await using f = await fixture();
  using one = f.open();
  const generation = one.generation("user:alice");
  using other = f.open();
  other.forget("user:alice");
  one.add("user:alice", entry(secret), generation);
  assert.deepEqual(one.recent("user:alice", "shop"), []);
  one.add("user:alice", entry("next"), one.generation("user:alice"));
  assert.equal(other.recent("user:alice", "shop").length, 1);
});

Deno.test("a file from before there were generations takes them in", async () => {
  await using f = await fixture();
  f.open()[Symbol.dispose]();
  const old = new DatabaseSync(f.path);
  old.exec("DROP TABLE forgotten");
  old.close();
  using history = f.open();
  assert.equal(history.forget("user:alice"), 0);
  assert.equal(history.generation("user:alice"), 1);
});

Deno.test("a write that fails holds up neither the next one nor another process", async () => {
  await using f = await fixture();
  using history = f.open();
  const other = new DatabaseSync(f.path);
  other.exec("CREATE TRIGGER full BEFORE INSERT ON turns BEGIN SELECT RAISE(FAIL, 'the disk is full'); END");
  history.add("user:alice", entry("lost"), history.generation("user:alice"));
  assert.match(f.lines.join(""), /the disk is full/);
  other.exec("DROP TRIGGER full");
  other.close();
  history.add("user:alice", entry("kept"), history.generation("user:alice"));
  assert.deepEqual(history.recent("user:alice", "shop").map(({ question }) => question), ["kept"]);
  assert.equal(history.forget("user:alice"), 1);
  assert.equal(f.lines.length, 1);
});
