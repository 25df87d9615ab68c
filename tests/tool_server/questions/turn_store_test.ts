import assert from "node:assert/strict";
import { join } from "node:path";
import { silentLogger } from "../../../src/core/logger.ts";
import { createMemoryTurns } from "../../../src/tool_server/questions/history/memory_turns.ts";
import { createSqliteTurns } from "../../../src/tool_server/questions/history/sqlite_turns.ts";
import type { Turn, TurnStore } from "../../../src/tool_server/questions/history/turns.ts";

const noon = Date.parse("2026-03-01T12:00:00Z");
const hour = 3_600_000;
const turn = (question: string, changes: Partial<Turn> = {}): Turn => ({
  database: "shop",
  question,
  reply: { kind: "statement", sql: `SELECT '${question}'` },
  at: noon,
  ...changes,
});

interface Clock {
  time: number;
}

const stores: Record<string, (clock: Clock, folder: string) => TurnStore> = {
  "in memory": (clock) => createMemoryTurns({ now: () => clock.time }),
  "in SQLite": (clock, folder) =>
    createSqliteTurns({ path: join(folder, "turns.sqlite"), now: () => clock.time, logger: silentLogger }),
};

for (const [where, create] of Object.entries(stores)) {
  const testStore = (name: string, run: (turns: TurnStore, clock: Clock) => void) =>
    Deno.test(`turns ${where}: ${name}`, async () => {
      const folder = await Deno.makeTempDir({ prefix: "postern_test_" });
      try {
        const clock = { time: noon };
        using turns = create(clock, folder);
        run(turns, clock);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    });
  const questions = (turns: TurnStore, owner: string, database = "shop") =>
    turns.recent(owner, database).map(({ question }) => question);

  testStore("a turn comes back as it was, oldest first", (turns) => {
    const statement = turn("how many orders?");
    const back = turn("sales", { reply: { kind: "question", text: "Which year?\nOr all – 'ever'?" } });
    turns.add("user:alice", statement, turns.generation("user:alice"));
    turns.add("user:alice", back, turns.generation("user:alice"));
    assert.deepEqual(turns.recent("user:alice", "shop"), [statement, back]);
  });

  testStore("owners and databases are kept apart", (turns) => {
    turns.add("user:alice", turn("a"), turns.generation("user:alice"));
    turns.add("token:alice", turn("b"), turns.generation("token:alice"));
    turns.add("user:alice", turn("c", { database: "staging" }), turns.generation("user:alice"));
    assert.deepEqual(questions(turns, "user:alice"), ["a"]);
    assert.deepEqual(questions(turns, "token:alice"), ["b"]);
    assert.deepEqual(questions(turns, "user:alice", "staging"), ["c"]);
    assert.deepEqual(questions(turns, "user:bob"), []);
    assert.deepEqual(questions(turns, "user:alice", "SHOP"), []);
  });

  testStore("an owner's last 20 turns are kept, those about other databases counted", (turns) => {
    turns.add("user:bob", turn("bob's"), turns.generation("user:bob"));
    for (let i = 0; i < 25; i++) turns.add("user:alice", turn(String(i)), turns.generation("user:alice"));
    assert.deepEqual(questions(turns, "user:alice"), Array.from({ length: 20 }, (_, i) => String(i + 5)));
    turns.add("user:alice", turn("other", { database: "staging" }), turns.generation("user:alice"));
    assert.equal(turns.recent("user:alice", "shop").length, 19);
    assert.deepEqual(questions(turns, "user:bob"), ["bob's"]);
    assert.equal(turns.forget("user:alice"), 20);
  });

  testStore("a turn is kept for 24 hours", (turns, clock) => {
    turns.add("user:alice", turn("early"), turns.generation("user:alice"));
    clock.time = noon + hour;
    turns.add("user:alice", turn("late", { at: clock.time }), turns.generation("user:alice"));
    clock.time = noon + 24 * hour - 1;
    assert.deepEqual(questions(turns, "user:alice"), ["early", "late"]);
    clock.time = noon + 24 * hour;
    assert.deepEqual(questions(turns, "user:alice"), ["late"]);
    assert.equal(turns.forget("user:alice"), 1);
  });

  testStore("forget clears an owner's turns in all databases and counts them", (turns) => {
    turns.add("user:alice", turn("a"), turns.generation("user:alice"));
    turns.add("user:alice", turn("b", { database: "staging" }), turns.generation("user:alice"));
    turns.add("user:bob", turn("c"), turns.generation("user:bob"));
    assert.equal(turns.forget("user:alice"), 2);
    assert.equal(turns.forget("user:alice"), 0);
    assert.deepEqual(questions(turns, "user:alice"), []);
    assert.deepEqual(questions(turns, "user:alice", "staging"), []);
    assert.deepEqual(questions(turns, "user:bob"), ["c"]);
  });

  testStore("what was asked before a forget and answered after it is not kept", (turns) => {
    const [alice, bob] = [turns.generation("user:alice"), turns.generation("user:bob")];
    turns.forget("user:alice");
    turns.add("user:alice", turn("under way"), alice);
    turns.add("user:bob", turn("bob's"), bob);
    assert.deepEqual(questions(turns, "user:alice"), []);
    assert.deepEqual(questions(turns, "user:bob"), ["bob's"]);
    turns.add("user:alice", turn("next"), turns.generation("user:alice"));
    assert.deepEqual(questions(turns, "user:alice"), ["next"]);
  });

  testStore("what has expired is cleared, though nobody asks", (turns, clock) => {
    turns.add("user:alice", turn("early"), turns.generation("user:alice"));
    clock.time = noon + 24 * hour;
    turns.clearExpired();
    clock.time = noon;
    assert.deepEqual(questions(turns, "user:alice"), []);
  });

  testStore("a turn with a text above 8,192 characters is not kept", (turns) => {
    const limit = "x".repeat(8192);
    const reply = { kind: "statement", sql: limit } as const;
    turns.add("user:alice", turn(limit, { reply }), turns.generation("user:alice"));
    turns.add("user:alice", turn(limit + "x", { reply }), turns.generation("user:alice"));
    turns.add(
      "user:alice",
      turn("a", { reply: { kind: "statement", sql: limit + "x" } }),
      turns.generation("user:alice"),
    );
    turns.add(
      "user:alice",
      turn("a", { reply: { kind: "question", text: limit + "x" } }),
      turns.generation("user:alice"),
    );
    assert.deepEqual(questions(turns, "user:alice"), [limit]);
  });

  testStore("no character of a question is special", (turns) => {
    const odd = "'; DROP TABLE turns; -- \" \\ 🐘 é\u2028";
    turns.add(odd, turn(odd, { database: odd }), turns.generation(odd));
    assert.deepEqual(questions(turns, odd, odd), [odd]);
  });
}

Deno.test("turns in memory: of more than 1,000 owners the one that asked longest ago is dropped", () => {
  using turns = createMemoryTurns({ now: () => noon });
  for (let i = 0; i < 1000; i++) turns.add(`user:${i}`, turn("a"), turns.generation(`user:${i}`));
  turns.add("user:0", turn("b"), turns.generation("user:0"));
  turns.add("user:1000", turn("a"), turns.generation("user:1000"));
  assert.equal(turns.recent("user:1", "shop").length, 0);
  assert.equal(turns.recent("user:0", "shop").length, 2);
  assert.equal(turns.recent("user:1000", "shop").length, 1);
});

Deno.test("turns in memory: what was forgotten does not come back after its owner was dropped", () => {
  using turns = createMemoryTurns({ now: () => noon });
  const before = turns.generation("user:alice");
  turns.forget("user:alice");
  for (let i = 0; i < 1000; i++) turns.add(`user:${i}`, turn("a"), turns.generation(`user:${i}`));
  turns.add("user:alice", turn("forgotten"), before);
  assert.deepEqual(turns.recent("user:alice", "shop"), []);
  turns.add("user:alice", turn("new"), turns.generation("user:alice"));
  assert.equal(turns.recent("user:alice", "shop").length, 1);
});
