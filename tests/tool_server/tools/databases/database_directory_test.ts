import assert from "node:assert/strict";
import type { Principal } from "../../../../src/core/principal.ts";
import type { Database } from "../../../../src/postgres/database.ts";
import { createDatabaseDirectory } from "../../../../src/tool_server/tools/databases/database_directory.ts";
import { callTool } from "../../../support/tool_fixture.ts";
import { listDatabases, selectDatabase } from "../../../../src/tool_server/tools/databases/database_tools.ts";

const unused = () => Promise.reject(new Error("no statement is run here"));
const database = (name: string): Database => ({
  name,
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
