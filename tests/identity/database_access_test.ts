import assert from "node:assert/strict";
import type { Principal } from "../../src/core/principal.ts";
import { accessibleDatabases } from "../../src/identity/database_access.ts";

// the grid of the document: one open database, one for two users, one for three
const databases = [
  { name: "open", available_to_users: [], port: 1 },
  { name: "two", available_to_users: ["alice", "bob"], port: 2 },
  { name: "three", available_to_users: ["alice", "bob", "charlie"], port: 3 },
];
const user = (username: string): Principal => ({ kind: "session", id: "s1", username });
const token = (database?: string): Principal => ({
  kind: "token",
  id: "token-1",
  ...(database === undefined ? {} : { database }),
});

const grid: [title: string, principal: Principal, names: string[]][] = [
  ["a user in neither list", user("dave"), ["open"]],
  ["a user in the shorter list", user("alice"), ["open", "two", "three"]],
  ["a user only in the longer list", user("charlie"), ["open", "three"]],
  ["a user whose name differs in case", user("Alice"), ["open"]],
  ["a user with the name of a property", user("length"), ["open"]],
  ["a token that is not bound", token(), ["open"]],
  ["a token bound to the open database", token("open"), ["open"]],
  ["a token bound to a listed database", token("two"), ["two"]],
  ["a token bound to a database that is gone", token("gone"), []],
  ["a token bound to no name", token(""), []],
  ["the local caller", { kind: "local" }, ["open", "two", "three"]],
];
for (const [title, principal, names] of grid) {
  Deno.test(`accessibleDatabases() gives ${title}: ${names.join(", ") || "none"}`, () => {
    assert.deepEqual(accessibleDatabases(principal, databases).map((database) => database.name), names);
  });
}

Deno.test("accessibleDatabases() keeps the order and the items of the configuration", () => {
  const reversed = databases.toReversed();
  assert.deepEqual(accessibleDatabases(user("bob"), reversed).map((database) => database.port), [3, 2, 1]);
  assert.equal(accessibleDatabases(user("bob"), reversed)[0], reversed[0]);
});
