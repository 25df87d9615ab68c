import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openHistory } from "../../../src/app/tool_server/tool_server.ts";
import { silentLogger } from "../../../src/core/logger.ts";

Deno.test("expired entries are cleared from the file by and by, and nothing is once it is closed", async () => {
  const data_dir = await Deno.makeTempDir({ prefix: "postern_test_" });
  try {
    using history = openHistory({ data_dir }, silentLogger, 5);
    const file = new DatabaseSync(join(data_dir, "turns.sqlite"));
    const put = () =>
      file.exec(`INSERT INTO turns (owner, database, question, kind, reply, at)
        VALUES ('user:alice', 'shop', 'how many?', 'statement', 'SELECT 1', 0)`);
    const count = () => file.prepare("SELECT count(*) AS count FROM turns").get()?.["count"];
    put();
    while (count() !== 0) await new Promise((resolve) => setTimeout(resolve, 5));
    history[Symbol.dispose]();
    put();
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(count(), 1);
    file.close();
  } finally {
    await Deno.remove(data_dir, { recursive: true });
  }
});

Deno.test("the history without a data_dir is kept in memory", () => {
  using history = openHistory({}, silentLogger);
  const entry = {
    database: "shop",
    question: "how many?",
    reply: { kind: "statement", sql: "SELECT 1" },
    at: Date.now(),
  } as const;
  history.add("user:alice", entry, history.generation("user:alice"));
  assert.deepEqual(history.recent("user:alice", "shop"), [entry]);
});
