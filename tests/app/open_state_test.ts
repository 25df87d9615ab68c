import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { openConfiguredState } from "../../src/app/open_state.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { stateFile } from "../../src/state/sqlite_engine.ts";
import { createHistory } from "../../src/tool_server/questions/history.ts";
import { skipTime } from "../support/state.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";
import { waitUntil } from "../support/wait_until.ts";

const grace = 60_000;

Deno.test("expired entries are cleared from the file by and by, and nothing is once it is closed", async () => {
  await using folder = await temporaryFolder();
  const state = await openConfiguredState({ state: { grace }, data_dir: folder.path }, silentLogger);
  using file = new DatabaseSync(stateFile(folder.path));
  const put = () =>
    file.exec(`INSERT INTO records (kind, id, value, created_at, expires_at, version)
      VALUES ('question', '1', '{}', 0, 1, 1)`);
  const count = () => file.prepare("SELECT count(*) AS count FROM records").get()?.["count"];
  put();
  using _ = skipTime(61_000);
  await waitUntil("it is cleared", () => count() === 0);
  await state[Symbol.asyncDispose]();
  put();
  using __ = skipTime(61_000);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  assert.equal(count(), 1);
});

const entry = {
  database: "shop",
  question: "how many?",
  reply: { kind: "statement", sql: "SELECT 1" },
  at: Date.now(),
} as const;

for (const where of ["in data_dir", "in memory without it"]) {
  Deno.test(`the state is kept ${where}`, async () => {
    await using folder = await temporaryFolder();
    const data_dir = where === "in data_dir" ? { data_dir: folder.path } : {};
    const open = () => openConfiguredState({ state: { grace }, ...data_dir }, silentLogger);
    const recent = async (state: Awaited<ReturnType<typeof open>>) =>
      await createHistory(state, silentLogger).recent("user:alice", "shop");
    {
      await using state = await open();
      const { generation } = await recent(state);
      await createHistory(state, silentLogger).add("user:alice", entry, generation);
      assert.deepEqual((await recent(state)).entries, [entry]);
    }
    await using state = await open();
    assert.deepEqual((await recent(state)).entries, where === "in data_dir" ? [entry] : []);
  });
}
