import assert from "node:assert/strict";
import { AppError } from "../../../../src/core/app_error.ts";
import { type Principal, principalKey } from "../../../../src/core/principal.ts";
import type { State } from "../../../../src/state/state.ts";
import { testSharedStates, testStates } from "../../../support/state.ts";
import { waitUntil } from "../../../support/wait_until.ts";
import type { Database } from "../../../../src/postgres/database.ts";
import { createDatabaseDirectory } from "../../../../src/tool_server/tools/databases/database_directory.ts";
import { callTool } from "../../../support/tool_fixture.ts";
import { listDatabases, selectDatabase } from "../../../../src/tool_server/tools/databases/database_tools.ts";

const unused = () => Promise.reject(new Error("no statement is run here"));
const database = (name: string): Database => ({
  name,
  statementTimeoutMs: 30_000,
  rightsKey: () => "",
  checkCaller: () => {},
  read: unused,
  ping: unused,
  hosts: () => [],
  tryIndexes: unused,
  warnings: unused,
  onceReached: unused,
});
const entry = (name: string, users: string[] = []) => ({
  kind: "database" as const,
  name,
  available_to_users: users,
  database: database(name),
});

const setUp = () => createDatabaseDirectory([entry("open"), entry("team", ["alice"]), entry("other")]);
const token: Principal = { kind: "token", id: "t1" };
const bound: Principal = { kind: "token", id: "t2", database: "team" };
const alice: Principal = { kind: "session", id: "s1", username: "alice" };

Deno.test("the first database that a caller may use is the current one until they choose", async () => {
  const directory = setUp();
  assert.equal(directory.resolve(token, undefined).name, "open");
  assert.equal(directory.resolve(bound, undefined).name, "team");
  await callTool(selectDatabase({ directory }), { name: "other" }, token);
  assert.equal(directory.resolve(token, undefined).name, "other");
  assert.equal(directory.resolve(alice, undefined).name, "open");
  directory.end(token);
  assert.equal(directory.resolve(token, undefined).name, "open");
});

Deno.test("a database that the caller may not use is answered as one that does not exist", () => {
  const directory = setUp();
  const message = (principal: Principal, name: string) => {
    try {
      return directory.resolve(principal, name).name;
    } catch (error) {
      return String(error).replaceAll(name, "NAME");
    }
  };
  assert.equal(message(token, "team"), message(token, "nope"));
  assert.equal(message(bound, "open"), message(bound, "nope"));
  assert.equal(message(alice, "team"), "team");
});

Deno.test("a mistyped database is told the nearest that the caller may use", () => {
  const directory = setUp();
  const hint = /list_databases shows the available ones; did you mean "team"\?$/;
  assert.throws(() => directory.resolve(alice, "taem"), hint);
  assert.throws(() => directory.resolve(token, "taem"), /list_databases shows the available ones$/);
});

Deno.test("a bound token sees its database alone and cannot switch", async () => {
  const directory = setUp();
  const { data } = await callTool(listDatabases({ directory }), {}, bound);
  assert.deepEqual(data, { databases: [{ name: "team", current: true }], current: "team" });
  await assert.rejects(
    callTool(selectDatabase({ directory }), { name: "open" }, bound),
    /no database of that name/,
  );
  assert.equal(directory.resolve(bound, undefined).name, "team");
});

Deno.test("list_databases shows names and the current one", async () => {
  const { text, data } = await callTool(listDatabases({ directory: setUp() }), {}, alice);
  assert.equal(text, "name\tcurrent\nopen\tyes\nteam\tno\nother\tno");
  assert.equal(data["current"], "open");
});

Deno.test("where no database is available the tools say so", async () => {
  const directory = createDatabaseDirectory([entry("team", ["alice"])]);
  assert.throws(() => directory.resolve(token, undefined), /none is available to you/);
  assert.equal((await callTool(listDatabases({ directory }), {}, token)).data["current"], null);
});

Deno.test({
  name: "a session that has ended gets no database, whatever of its request is still to come",
  // how long it is remembered is up to a timer that nobody waits for, which Deno 2.4 calls a leak
  sanitizeOps: false,
  sanitizeResources: false,
  fn() {
    const directory = setUp();
    assert.equal(directory.resolve(alice, "team").name, "team");
    directory.end(alice);
    assert.throws(() => directory.resolve(alice, "team"), /logged out/);
    assert.equal(directory.resolve({ ...alice, id: "s2" }, "team").name, "team");
  },
});

Deno.test("grants of one person choose apart, and the end of one leaves the other's choice", async () => {
  const directory = setUp();
  const issuer = "https://idp.example.com";
  const [one, other] = ["g1", "g2"].map((grantId): Principal => ({
    kind: "issuer",
    issuer,
    subject: "7",
    groups: [],
    scopes: ["tool:select_database"],
    grantId,
  }));
  assert.ok(one && other);
  await directory.select(one, "other");
  assert.deepEqual([one, other].map((who) => directory.resolve(who, undefined).name), ["other", "open"]);
  directory.end(other);
  assert.equal(directory.resolve(one, undefined).name, "other");
});

/** The directory of one process, and whom it was told to have another current database. */
async function keeping(state: State) {
  const told: string[] = [];
  const entries = [entry("open"), entry("team", ["alice"]), entry("other")];
  const directory = createDatabaseDirectory(entries, (key) => told.push(key), state.of("chosen database"));
  await state.catchUp();
  return { state, told, directory, current: (who: Principal) => directory.resolve(who, undefined).name };
}

testStates("a choice is kept, and the current one after a restart", async (open) => {
  const before = await keeping(await open());
  await before.directory.select(alice, "team");
  await before.directory.select(token, "other");
  assert.deepEqual(before.told, [principalKey(alice), principalKey(token)]);
  await before.directory.select({ kind: "local", address: "192.0.2.1" }, "other");
  const after = await keeping(await open());
  assert.deepEqual([alice, token].map(after.current), ["team", "other"]);
  assert.equal(after.current({ kind: "local", address: "192.0.2.1" }), "open");
});

testSharedStates("another process's choice is the current one, and whoever asked is told", async (open) => {
  const [here, there] = [await keeping(await open()), await keeping(await open())];
  await there.directory.select(alice, "team");
  await here.state.catchUp();
  assert.deepEqual([here.current(alice), here.current(token)], ["team", "open"]);
  assert.deepEqual(here.told, [principalKey(alice)]);
  assert.deepEqual(there.told, [principalKey(alice)]);
  // and the other way round: the last one counts
  await here.directory.select(alice, "other");
  await there.state.catchUp();
  assert.equal(there.current(alice), "other");
  await here.directory.select(alice, "other");
  await there.state.catchUp();
  for (const { told } of [here, there]) assert.equal(told.length, 2);
});

testSharedStates("a choice gives no right to a database", async (open) => {
  const [here, there] = [await keeping(await open()), await keeping(await open())];
  await assert.rejects(there.directory.select(token, "team"), { code: "not_found" });
  await there.state.of("chosen database").keep({
    id: principalKey(token),
    value: "team",
    expiresAt: there.state.now() + 60_000,
  });
  await here.state.catchUp();
  assert.equal(here.current(token), "open");
});

testSharedStates("what a token or session chose is forgotten at its end, at every process", async (open) => {
  const [here, there] = [await keeping(await open()), await keeping(await open())];
  await here.directory.select(token, "other");
  await here.directory.select(alice, "team");
  await there.state.catchUp();
  assert.deepEqual([there.current(token), there.current(alice)], ["other", "team"]);
  for (const each of [token, alice]) here.directory.end(each);
  assert.equal(here.current(token), "open");
  await waitUntil("it is known", async () => {
    await there.state.catchUp();
    return there.current(token) === "open" && there.current(alice) === "open";
  });
  // at a process that comes later too
  const late = await keeping(await open());
  assert.deepEqual([late.current(token), late.current(alice)], ["open", "open"]);
});

testStates("a choice that comes as its session ends is not kept for it", async (open) => {
  const state = await open();
  const here = await keeping(state);
  const selecting = here.directory.select(alice, "team");
  here.directory.end(alice);
  await assert.rejects(selecting, /logged out/);
  assert.throws(() => here.current(alice), /logged out/);
});

testStates("a choice that cannot be kept is not made", async (open) => {
  const whole = await open();
  const gone = new AppError("unavailable", "away");
  const told: string[] = [];
  const directory = createDatabaseDirectory([entry("open"), entry("other")], (key) => told.push(key), {
    ...whole.of("chosen database"),
    keep: () => Promise.reject(gone),
  });
  await assert.rejects(directory.select(token, "other"), gone);
  assert.equal(directory.resolve(token, undefined).name, "open");
  assert.deepEqual(told, []);
});
