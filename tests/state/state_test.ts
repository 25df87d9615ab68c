import assert from "node:assert/strict";
import { sql } from "../../src/state/engine.ts";
import { currentVersion, endStatements, type State, type StateRecord } from "../../src/state/state.ts";
import { testSharedStates, testStates } from "../support/state.ts";
import { waitUntil } from "../support/wait_until.ts";

/** What a process knows of a kind. */
async function follow(state: State, kind: string) {
  const known = new Map<string, StateRecord>();
  const told: string[] = [];
  const records = state.of(kind);
  records.follow((id, record) => {
    told.push(record === undefined ? `${id} is gone` : id);
    if (record === undefined) known.delete(id);
    else known.set(id, record);
  });
  await state.catchUp();
  return { records, known, told, values: () => [...known.values()].map(({ value }) => value) };
}

const soon = (state: State) => state.now() + 60_000;

testStates("a record comes back as it was, by kind and id, in place of the one before", async (open) => {
  const state = await open();
  const expiresAt = soon(state);
  await state.of("a").keep({ id: "x", value: 1, expiresAt });
  await state.of("a").keep({
    id: "x",
    value: { n: [1, "ä 'quoted' \\ \u0000 \u{1F600}"], m: null },
    expiresAt,
  });
  await state.of("b").keep({ id: "x", value: "other", expiresAt });
  const { known } = await follow(state, "a");
  assert.deepEqual([...known.values()], [
    { id: "x", value: { n: [1, "ä 'quoted' \\ \u0000 \u{1F600}"], m: null }, expiresAt },
  ]);
});

testStates("a record that has expired is known to nobody who comes", async (open) => {
  const state = await open();
  await state.of("a").keep({ id: "x", value: 1, expiresAt: state.now() - 1 });
  assert.deepEqual((await follow(state, "a")).told, []);
});

testStates("a record that is forgotten is gone for whoever comes", async (open) => {
  const state = await open();
  await state.of("a").keep({ id: "x", value: 1, expiresAt: soon(state) });
  await state.of("a").keep({ id: "y", value: 2, expiresAt: soon(state) });
  state.of("a").forget("x");
  await waitUntil("it is known", async () => (await rows(state, "a")).length === 1);
  assert.deepEqual((await follow(state, "a")).values(), [2]);
});

const rows = async (state: State, kind: string) =>
  (await state.read([sql`SELECT id FROM records WHERE kind = ${kind} ORDER BY id`]))[0] ?? [];

testStates("a change happens whole or not at all", async (open) => {
  const state = await open();
  const insert = (id: string) =>
    sql`INSERT INTO records (kind, id, value, created_at, expires_at, version)
      VALUES ('a', ${id}, '1', 0, ${soon(state)}, ${currentVersion})`;
  await assert.rejects(state.change([insert("x"), insert("x")]));
  assert.deepEqual(await rows(state, "a"), []);
  await state.change([insert("x")]);
  assert.deepEqual((await rows(state, "a")).map(({ id }) => id), ["x"]);
});

testStates("a list of values, an empty one too, and parts of statements", async (open) => {
  const state = await open();
  for (const id of ["x", "y", "z"]) await state.of("a").keep({ id, value: 1, expiresAt: soon(state) });
  const some = async (ids: readonly string[]) =>
    (await state.read([
      sql`SELECT id FROM records WHERE ${sql`kind = ${"a"} AND id IN (${ids})`} ORDER BY id`,
    ]))[0]
      ?.map(({ id }) => id);
  assert.deepEqual(await some(["z", "x"]), ["x", "z"]);
  assert.deepEqual(await some([]), []);
  assert.deepEqual(await some(["'); DELETE FROM records; --", "\\"]), []);
  assert.equal((await rows(state, "a")).length, 3);
});

testStates("who listens is told at once of what ends here", async (open) => {
  const state = await open();
  const ended: (string | undefined)[] = [];
  state.onEnded("a", (id) => ended.push(id));
  await state.of("a").keep({ id: "x", value: 1, expiresAt: soon(state) });
  await state.of("b").keep({ id: "y", value: 1, expiresAt: soon(state) });
  await state.change(endStatements(sql`id IN (${["x", "y"]})`, state.now()), { isTold: true });
  assert.deepEqual(ended, ["x"]);
});

testSharedStates("another process learns of what is kept, changed and forgotten", async (open) => {
  const here = await open();
  const there = await open();
  const mine = await follow(here, "a");
  const theirs = await follow(there, "a");
  await mine.records.keep({ id: "x", value: 1, expiresAt: soon(here) });
  await mine.records.keep({ id: "y", value: 2, expiresAt: soon(here) });
  await there.catchUp();
  assert.deepEqual(theirs.values(), [1, 2]);
  await mine.records.keep({ id: "x", value: 3, expiresAt: soon(here) });
  await there.catchUp();
  assert.equal(theirs.known.get("x")?.value, 3);
  theirs.records.forget("y");
  await waitUntil("it is known", async () => {
    await here.catchUp();
    return !mine.known.has("y");
  });
  // kept anew, it is there anew
  await mine.records.keep({ id: "y", value: 4, expiresAt: soon(here) });
  await there.catchUp();
  assert.equal(theirs.known.get("y")?.value, 4);
});

testSharedStates("it also learns by itself", async (open) => {
  const here = await open();
  const there = await open();
  const theirs = await follow(there, "a");
  const ended: (string | undefined)[] = [];
  there.onEnded("a", (id) => ended.push(id));
  await here.of("a").keep({ id: "x", value: 1, expiresAt: soon(here) });
  await waitUntil("it is known", () => theirs.known.has("x"));
  here.of("a").forget("x");
  await waitUntil("it is known", () => !theirs.known.has("x"));
  assert.deepEqual(ended, ["x"]);
});

testSharedStates("many processes that change the same records at once lose nothing", async (open) => {
  const states = [await open(), await open(), await open()];
  const all = await Promise.all(states.map((state) => follow(state, "a")));
  await Promise.all(
    states.flatMap((state, at) =>
      Array.from(
        { length: 20 },
        (_, index) => state.of("a").keep({ id: `${at} ${index}`, value: index, expiresAt: soon(state) }),
      )
    ),
  );
  for (const state of states) await state.catchUp();
  for (const { known } of all) assert.equal(known.size, 60);
});

testSharedStates("who comes late, or is told of more than fits in one answer, knows all", async (open) => {
  const here = await open();
  const there = await open();
  const theirs = await follow(there, "a");
  const many = 25_000;
  const parts = Array.from({ length: many / 500 }, (_, part) =>
    here.change([
      sql`INSERT INTO records (kind, id, value, created_at, expires_at, version) VALUES ${
        Array.from({ length: 500 }, (_, at) => at).reduce(
          (list, at) =>
            sql`${list}${sql`${at === 0 ? sql`` : sql`, `}('a', ${`${part} ${at}`}, '1', 0, ${
              soon(here)
            }, ${currentVersion})`}`,
          sql``,
        )
      }`,
    ]));
  for (const part of parts) await part;
  await there.catchUp();
  assert.equal(theirs.known.size, many);
  const late = await follow(await open(), "a");
  assert.equal(late.known.size, many);
});

testStates(
  "what was ended before it was kept does not come back with a record that is read late",
  async (open) => {
    const state = await open();
    const { records, known } = await follow(state, "a");
    await records.keep({ id: "x", value: 1, expiresAt: soon(state) });
    records.forget("x");
    await state.catchUp();
    assert.ok(!known.has("x"));
    assert.ok(state.requireCurrent() === undefined);
  },
);
