import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { sql } from "../../../src/state/engine.ts";
import {
  createHistory,
  type History,
  type HistoryEntry,
  historyOwner,
} from "../../../src/tool_server/questions/history.ts";
import { skipTime, testSharedStates, testStates } from "../../support/state.ts";
import { waitUntil } from "../../support/wait_until.ts";

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

/** Registers a test over each engine; `open` gives the history of one more process. */
function testHistory(
  name: string,
  fn: (history: History, clock: Clock, open: () => Promise<History>) => Promise<void>,
  register: typeof testStates = testStates,
): void {
  register(`history: ${name}`, async (openState) => {
    const clock = { time: noon };
    const open = async () => createHistory(await openState({ now: () => clock.time }), silentLogger);
    await fn(await open(), clock, open);
  });
}

async function add(history: History, owner: string, ...entries: HistoryEntry[]): Promise<void> {
  for (const each of entries) await history.add(owner, each, await generationOf(history, owner));
}

const generationOf = async (history: History, owner: string) =>
  (await history.recent(owner, "shop")).generation;
const recent = async (history: History, owner: string, database = "shop") =>
  (await history.recent(owner, database)).entries;
const questions = async (history: History, owner: string, database = "shop") =>
  (await recent(history, owner, database)).map(({ question }) => question);

testHistory("an entry comes back as it was, oldest first", async (history) => {
  const statement = entry("how many orders?");
  const back = entry("sales", { reply: { kind: "question", text: "Which year?\nOr all – 'ever'?" } });
  await add(history, "user:alice", statement, back);
  assert.deepEqual(await recent(history, "user:alice"), [statement, back]);
});

testHistory("owners and databases are kept apart", async (history) => {
  await add(history, "user:alice", entry("a"));
  await add(history, "token:alice", entry("b"));
  await add(history, "user:alice", entry("c", { database: "staging" }));
  assert.deepEqual(await questions(history, "user:alice"), ["a"]);
  assert.deepEqual(await questions(history, "token:alice"), ["b"]);
  assert.deepEqual(await questions(history, "user:alice", "staging"), ["c"]);
  assert.deepEqual(await questions(history, "user:bob"), []);
  assert.deepEqual(await questions(history, "user:alice", "SHOP"), []);
});

testHistory("an owner's last 20 entries are kept, those about other databases counted", async (history) => {
  await add(history, "user:bob", entry("bob's"));
  await add(history, "user:alice", ...Array.from({ length: 25 }, (_, i) => entry(String(i))));
  assert.deepEqual(
    await questions(history, "user:alice"),
    Array.from({ length: 20 }, (_, i) => String(i + 5)),
  );
  await add(history, "user:alice", entry("other", { database: "staging" }));
  assert.equal((await recent(history, "user:alice")).length, 19);
  assert.deepEqual(await questions(history, "user:bob"), ["bob's"]);
  assert.equal(await history.forget("user:alice"), 20);
});

testHistory("a turn is kept for 24 hours", async (history, clock) => {
  await add(history, "user:alice", entry("early"));
  clock.time = noon + hour;
  await add(history, "user:alice", entry("late", { at: clock.time }));
  clock.time = noon + 24 * hour - 1;
  assert.deepEqual(await questions(history, "user:alice"), ["early", "late"]);
  clock.time = noon + 24 * hour;
  assert.deepEqual(await questions(history, "user:alice"), ["late"]);
  assert.equal(await history.forget("user:alice"), 1);
});

testHistory("forget clears an owner's turns in all databases and counts them", async (history) => {
  await add(history, "user:alice", entry("a"), entry("b", { database: "staging" }));
  await add(history, "user:bob", entry("c"));
  assert.equal(await history.forget("user:alice"), 2);
  assert.equal(await history.forget("user:alice"), 0);
  assert.deepEqual(await questions(history, "user:alice"), []);
  assert.deepEqual(await questions(history, "user:alice", "staging"), []);
  assert.deepEqual(await questions(history, "user:bob"), ["c"]);
});

testHistory("what was asked before a forget and answered after it is not kept", async (history) => {
  const [alice, bob] = [await generationOf(history, "user:alice"), await generationOf(history, "user:bob")];
  await history.forget("user:alice");
  await history.add("user:alice", entry("under way"), alice);
  await history.add("user:bob", entry("bob's"), bob);
  assert.deepEqual(await questions(history, "user:alice"), []);
  assert.deepEqual(await questions(history, "user:bob"), ["bob's"]);
  await add(history, "user:alice", entry("next"));
  assert.deepEqual(await questions(history, "user:alice"), ["next"]);
});

testHistory("each forget begins another generation", async (history) => {
  const generations = [await generationOf(history, "user:alice")];
  for (let count = 0; count < 3; count++) {
    await history.forget("user:alice");
    generations.push(await generationOf(history, "user:alice"));
  }
  assert.equal(new Set(generations).size, 4);
});

testStates("history: what has expired is cleared, though nobody asks", async (openState) => {
  const clock = { time: noon };
  const state = await openState({ now: () => clock.time });
  const history = createHistory(state, silentLogger);
  await add(history, "user:alice", entry("early"));
  clock.time = noon + 24 * hour;
  using _ = skipTime(61_000);
  await waitUntil("it is cleared", async () => {
    const [rows = []] = await state.read([sql`SELECT id FROM records`]);
    return rows.length === 0;
  });
  clock.time = noon;
  assert.deepEqual(await questions(history, "user:alice"), []);
});

testHistory("a turn with a text above 8,192 characters is not kept", async (history) => {
  const limit = "x".repeat(8192);
  await add(
    history,
    "user:alice",
    entry(limit, { reply: { kind: "statement", sql: limit } }),
    entry(limit + "x", { reply: { kind: "statement", sql: limit } }),
    entry("a", { reply: { kind: "statement", sql: limit + "x" } }),
    entry("a", { reply: { kind: "question", text: limit + "x" } }),
  );
  assert.deepEqual(await questions(history, "user:alice"), [limit]);
});

testHistory("no character of a question is special", async (history) => {
  const odd = "'; DROP TABLE records; -- \" \\ 🐘 é\u2028$1 ? $$";
  await add(history, odd, entry(odd, { database: odd }));
  assert.deepEqual(await questions(history, odd, odd), [odd]);
  assert.equal(await history.forget(odd), 1);
});

testHistory("a question with the character U+0000 comes back as it was", async (history) => {
  await add(history, "user:alice", entry("a\0b"));
  assert.deepEqual(await questions(history, "user:alice"), ["a\0b"]);
});

testHistory("two processes see each other's entries", async (one, _clock, open) => {
  const other = await open();
  await add(one, "user:alice", entry("a"));
  await add(other, "user:alice", entry("b"));
  assert.deepEqual(await questions(one, "user:alice"), ["a", "b"]);
  assert.equal(await other.forget("user:alice"), 2);
  assert.deepEqual(await questions(one, "user:alice"), []);
}, testSharedStates);

testHistory(
  "what another process forgets while a request is under way is not kept",
  async (one, _clock, open) => {
    const generation = await generationOf(one, "user:alice");
    const other = await open();
    await other.forget("user:alice");
    await one.add("user:alice", entry("under way"), generation);
    assert.deepEqual(await questions(one, "user:alice"), []);
    await add(one, "user:alice", entry("next"));
    assert.equal((await recent(other, "user:alice")).length, 1);
  },
  testSharedStates,
);

testHistory("processes that add at the same time lose no entry", async (one, _clock, open) => {
  const all = [one, await open(), await open()];
  await Promise.all(
    all.map((history, at) =>
      add(history, `user:${at}`, ...Array.from({ length: 20 }, (_, i) => entry(String(i))))
    ),
  );
  for (const [at] of all.entries()) assert.equal((await recent(one, `user:${at}`)).length, 20);
}, testSharedStates);

testHistory("an entry that is kept outlives the process", async (one, _clock, open) => {
  await add(one, "user:alice", entry("a"));
  assert.deepEqual(await recent(await open(), "user:alice"), [entry("a")]);
}, testSharedStates);

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
