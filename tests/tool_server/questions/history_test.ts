import assert from "node:assert/strict";
import { join } from "node:path";
import { silentLogger } from "../../../src/core/logger.ts";
import {
  createMemoryHistory,
  type History,
  type HistoryEntry,
  historyOwner,
} from "../../../src/tool_server/questions/history.ts";
import { createSqliteHistory } from "../../../src/tool_server/questions/sqlite_history.ts";

const noon = Date.parse("2026-03-01T12:00:00Z");
const hour = 3_600_000;
const entry = (question: string, changes: Partial<HistoryEntry> = {}): HistoryEntry => ({
  database: "shop",
  question,
  reply: { kind: "statement", sql: `SELECT '${question}'` },
  at: noon,
  ...changes,
});

interface Clock {
  time: number;
}

const stores: Record<string, (clock: Clock, folder: string) => History> = {
  "in memory": (clock) => createMemoryHistory({ now: () => clock.time }),
  "in SQLite": (clock, folder) =>
    createSqliteHistory({ path: join(folder, "turns.sqlite"), now: () => clock.time, logger: silentLogger }),
};

for (const [where, create] of Object.entries(stores)) {
  const testStore = (name: string, run: (history: History, clock: Clock) => void) =>
    Deno.test(`history ${where}: ${name}`, async () => {
      const folder = await Deno.makeTempDir({ prefix: "postern_test_" });
      try {
        const clock = { time: noon };
        using history = create(clock, folder);
        run(history, clock);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    });
  const questions = (history: History, owner: string, database = "shop") =>
    history.recent(owner, database).map(({ question }) => question);

  testStore("an entry comes back as it was, oldest first", (history) => {
    const statement = entry("how many orders?");
    const back = entry("sales", { reply: { kind: "question", text: "Which year?\nOr all – 'ever'?" } });
    history.add("user:alice", statement, history.generation("user:alice"));
    history.add("user:alice", back, history.generation("user:alice"));
    assert.deepEqual(history.recent("user:alice", "shop"), [statement, back]);
  });

  testStore("owners and databases are kept apart", (history) => {
    history.add("user:alice", entry("a"), history.generation("user:alice"));
    history.add("token:alice", entry("b"), history.generation("token:alice"));
    history.add("user:alice", entry("c", { database: "staging" }), history.generation("user:alice"));
    assert.deepEqual(questions(history, "user:alice"), ["a"]);
    assert.deepEqual(questions(history, "token:alice"), ["b"]);
    assert.deepEqual(questions(history, "user:alice", "staging"), ["c"]);
    assert.deepEqual(questions(history, "user:bob"), []);
    assert.deepEqual(questions(history, "user:alice", "SHOP"), []);
  });

  testStore("an owner's last 20 entries are kept, those about other databases counted", (history) => {
    history.add("user:bob", entry("bob's"), history.generation("user:bob"));
    for (let i = 0; i < 25; i++) {
      history.add("user:alice", entry(String(i)), history.generation("user:alice"));
    }
    assert.deepEqual(questions(history, "user:alice"), Array.from({ length: 20 }, (_, i) => String(i + 5)));
    history.add("user:alice", entry("other", { database: "staging" }), history.generation("user:alice"));
    assert.equal(history.recent("user:alice", "shop").length, 19);
    assert.deepEqual(questions(history, "user:bob"), ["bob's"]);
    assert.equal(history.forget("user:alice"), 20);
  });

  testStore("a turn is kept for 24 hours", (history, clock) => {
    history.add("user:alice", entry("early"), history.generation("user:alice"));
    clock.time = noon + hour;
    history.add("user:alice", entry("late", { at: clock.time }), history.generation("user:alice"));
    clock.time = noon + 24 * hour - 1;
    assert.deepEqual(questions(history, "user:alice"), ["early", "late"]);
    clock.time = noon + 24 * hour;
    assert.deepEqual(questions(history, "user:alice"), ["late"]);
    assert.equal(history.forget("user:alice"), 1);
  });

  testStore("forget clears an owner's turns in all databases and counts them", (history) => {
    history.add("user:alice", entry("a"), history.generation("user:alice"));
    history.add("user:alice", entry("b", { database: "staging" }), history.generation("user:alice"));
    history.add("user:bob", entry("c"), history.generation("user:bob"));
    assert.equal(history.forget("user:alice"), 2);
    assert.equal(history.forget("user:alice"), 0);
    assert.deepEqual(questions(history, "user:alice"), []);
    assert.deepEqual(questions(history, "user:alice", "staging"), []);
    assert.deepEqual(questions(history, "user:bob"), ["c"]);
  });

  testStore("what was asked before a forget and answered after it is not kept", (history) => {
    const [alice, bob] = [history.generation("user:alice"), history.generation("user:bob")];
    history.forget("user:alice");
    history.add("user:alice", entry("under way"), alice);
    history.add("user:bob", entry("bob's"), bob);
    assert.deepEqual(questions(history, "user:alice"), []);
    assert.deepEqual(questions(history, "user:bob"), ["bob's"]);
    history.add("user:alice", entry("next"), history.generation("user:alice"));
    assert.deepEqual(questions(history, "user:alice"), ["next"]);
  });

  testStore("what has expired is cleared, though nobody asks", (history, clock) => {
    history.add("user:alice", entry("early"), history.generation("user:alice"));
    clock.time = noon + 24 * hour;
    history.clearExpired();
    clock.time = noon;
    assert.deepEqual(questions(history, "user:alice"), []);
  });

  testStore("a turn with a text above 8,192 characters is not kept", (history) => {
    const limit = "x".repeat(8192);
    const reply = { kind: "statement", sql: limit } as const;
    history.add("user:alice", entry(limit, { reply }), history.generation("user:alice"));
    history.add("user:alice", entry(limit + "x", { reply }), history.generation("user:alice"));
    history.add(
      "user:alice",
      entry("a", { reply: { kind: "statement", sql: limit + "x" } }),
      history.generation("user:alice"),
    );
    history.add(
      "user:alice",
      entry("a", { reply: { kind: "question", text: limit + "x" } }),
      history.generation("user:alice"),
    );
    assert.deepEqual(questions(history, "user:alice"), [limit]);
  });

  testStore("no character of a question is special", (history) => {
    const odd = "'; DROP TABLE turns; -- \" \\ 🐘 é\u2028";
    history.add(odd, entry(odd, { database: odd }), history.generation(odd));
    assert.deepEqual(questions(history, odd, odd), [odd]);
  });
}

Deno.test("history in memory: of more than 1,000 owners the one that asked longest ago is dropped", () => {
  using history = createMemoryHistory({ now: () => noon });
  for (let i = 0; i < 1000; i++) history.add(`user:${i}`, entry("a"), history.generation(`user:${i}`));
  history.add("user:0", entry("b"), history.generation("user:0"));
  history.add("user:1000", entry("a"), history.generation("user:1000"));
  assert.equal(history.recent("user:1", "shop").length, 0);
  assert.equal(history.recent("user:0", "shop").length, 2);
  assert.equal(history.recent("user:1000", "shop").length, 1);
});

Deno.test("history in memory: what was forgotten does not come back after its owner was dropped", () => {
  using history = createMemoryHistory({ now: () => noon });
  const before = history.generation("user:alice");
  history.forget("user:alice");
  for (let i = 0; i < 1000; i++) history.add(`user:${i}`, entry("a"), history.generation(`user:${i}`));
  history.add("user:alice", entry("forgotten"), before);
  assert.deepEqual(history.recent("user:alice", "shop"), []);
  history.add("user:alice", entry("new"), history.generation("user:alice"));
  assert.equal(history.recent("user:alice", "shop").length, 1);
});

Deno.test("historyOwner() is a user over all sessions, a token, or the one local caller", () => {
  const alice = { kind: "session", username: "alice", accountSince: 17 } as const;
  assert.equal(historyOwner({ ...alice, id: "one" }), historyOwner({ ...alice, id: "two" }));
  const owners = [
    historyOwner({ ...alice, id: "one" }),
    historyOwner({ kind: "session", id: "three", username: "bob", accountSince: 17 }),
    historyOwner({ kind: "token", id: "alice@17" }),
    historyOwner({ kind: "local" }),
  ];
  assert.equal(new Set(owners).size, owners.length);
});

Deno.test("historyOwner() is an issuer's subject, whatever its name, and not who has its name or its subject elsewhere", () => {
  const ann = { kind: "issuer", issuer: "https://a.example", subject: "1", name: "ann", groups: [] } as const;
  const owner = historyOwner(ann);
  assert.equal(historyOwner({ ...ann, name: "anna", groups: ["staff"], account: "alice" }), owner);
  const { name: _name, ...nameless } = ann;
  assert.equal(historyOwner(nameless), owner);
  const others = [
    historyOwner({ ...ann, subject: "2" }),
    historyOwner({ ...ann, issuer: "https://b.example" }),
    historyOwner({ kind: "session", id: "s", username: "ann" }),
    historyOwner({ kind: "token", id: "ann" }),
  ];
  assert.equal(new Set([owner, ...others]).size, 1 + others.length);
});

Deno.test("historyOwner() tells an account from an earlier one of the same name", () => {
  const account = (accountSince: number) =>
    historyOwner({ kind: "session", id: "one", username: "alice", accountSince });
  assert.notEqual(account(17), account(18));
});

Deno.test("historyOwner() writes owners as the files of earlier versions hold them", () => {
  const alice = { kind: "session", username: "alice" } as const;
  assert.equal(historyOwner({ ...alice, id: "s1" }), "user:alice");
  assert.equal(historyOwner({ ...alice, id: "s2" }), "user:alice");
  assert.equal(historyOwner({ ...alice, id: "s1", accountSince: 17 }), "user:alice@17");
  assert.equal(historyOwner({ kind: "token", id: "alice" }), "token:alice");
  assert.equal(historyOwner({ kind: "token", id: "t", database: "shop" }), "token:t");
  assert.equal(historyOwner({ kind: "local" }), "local");
});
