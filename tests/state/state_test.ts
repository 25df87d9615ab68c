import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError } from "../../src/core/app_error.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { checkStateFile, openState } from "../../src/state/state.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";

async function setUp() {
  const folder = await temporaryFolder();
  const clock = { now: Date.UTC(2026, 0, 15) };
  const path = join(folder.path, "data", "state.sqlite");
  const open = () => openState({ path, now: () => clock.now, logger: silentLogger });
  return { clock, path, open, [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

Deno.test("records outlive the process, by kind and id, until they expire or are forgotten", async () => {
  await using made = await setUp();
  const { clock, open } = made;
  {
    using state = open();
    const records = state.of("a");
    records.keep({ id: "late", value: { n: [1, "ä"] }, expiresAt: clock.now + 2_000 });
    records.keep({ id: "soon", value: 1, expiresAt: clock.now + 1_000 });
    records.keep({ id: "soon", value: 2, expiresAt: clock.now + 1_500 });
    records.keep({ id: "gone", value: null, expiresAt: clock.now + 9_000 });
    assert.ok(records.forget("gone"));
    state.of("b").keep({ id: "late", value: "other", expiresAt: clock.now + 2_000 });
  }
  using state = open();
  const records = state.of("a");
  assert.deepEqual(records.all(), [
    { id: "soon", value: 2, expiresAt: clock.now + 1_500 },
    { id: "late", value: { n: [1, "ä"] }, expiresAt: clock.now + 2_000 },
  ]);
  assert.deepEqual(state.of("b").all()?.map(({ value }) => value), ["other"]);
  clock.now += 1_500;
  assert.deepEqual(records.all()?.map(({ id }) => id), ["late"]);
});

Deno.test("what has expired leaves the file", async () => {
  await using made = await setUp();
  const { clock, path, open } = made;
  using state = open();
  state.of("a").keep({ id: "secret", value: 1, expiresAt: clock.now + 1 });
  clock.now += 1;
  state.of("a").keep({ id: "other", value: 1, expiresAt: clock.now + 1 });
  using file = new DatabaseSync(path);
  assert.deepEqual(file.prepare("SELECT id FROM records").all().map(({ id }) => id), ["other"]);
});

Deno.test("a change of another process is told, one of this process is not", async () => {
  await using made = await setUp();
  const { clock, open } = made;
  using here = open();
  using there = open();
  let told = 0;
  here.of("a").onChanged(() => told++);
  here.of("a").keep({ id: "own", value: 1, expiresAt: clock.now + 1_000 });
  here.lookForChanges();
  assert.equal(told, 0);
  there.of("a").keep({ id: "other", value: 1, expiresAt: clock.now + 1_000 });
  here.lookForChanges();
  here.lookForChanges();
  assert.equal(told, 1);
  assert.deepEqual(here.of("a").all()?.map(({ id }) => id), ["other", "own"]);
});

Deno.test("a file that cannot be read any more is told in the log, and nothing is taken for gone", async () => {
  await using made = await setUp();
  const { clock, path, open } = made;
  using state = open();
  state.of("a").keep({ id: "one", value: 1, expiresAt: clock.now + 1_000 });
  using file = new DatabaseSync(path);
  file.exec("DROP TABLE records");
  assert.equal(state.of("a").all(), undefined);
  assert.equal(state.of("a").forget("one"), false);
  state.of("a").keep({ id: "two", value: 1, expiresAt: clock.now + 1_000 });
});

Deno.test("a file of a newer version, and one that is none, are refused by name", async () => {
  await using made = await setUp();
  const { path, open } = made;
  open()[Symbol.dispose]();
  {
    using file = new DatabaseSync(path);
    file.exec("PRAGMA user_version = 2");
  }
  const isNewer = (error: unknown) =>
    error instanceof AppError && error.code === "conflict" && error.message.includes(path);
  assert.throws(open, isNewer);
  await assert.rejects(checkStateFile(path), isNewer);
  await Deno.writeTextFile(path, "not a database".repeat(1_000));
  assert.throws(open, /damaged or not a state file/);
});
