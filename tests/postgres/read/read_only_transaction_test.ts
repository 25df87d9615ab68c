import assert from "node:assert/strict";
import { beginReadOnly } from "../../../src/postgres/read/read_only_transaction.ts";

const database = { name: "main", statementTimeoutMs: 2_000, roleFromUser: false, sessionSettings: {} };
const alice = { kind: "session", id: "s", username: "alice" } as const;
const local = { kind: "local" } as const;
const set = (name: string, value: string) => `pg_catalog.set_config('${name}', ${value}, true)`;

Deno.test("beginReadOnly() sets nothing where the connection holds what every statement runs under", () => {
  assert.deepEqual(beginReadOnly({ database, principal: local, holdsSettings: true }), [["BEGIN READ ONLY"]]);
});

Deno.test("beginReadOnly() sets the bounds for the transaction alone where the connection does not", () => {
  assert.deepEqual(beginReadOnly({ database, principal: local, holdsSettings: false }), [
    ["BEGIN READ ONLY"],
    [
      "SELECT " + [
        set("jit", "'off'"),
        set("standard_conforming_strings", "'on'"),
        set("client_encoding", "'UTF8'"),
        set("statement_timeout", "'2000'"),
        set("lock_timeout", "'2000'"),
        set("idle_in_transaction_session_timeout", "'12000'"),
      ].join(", "),
    ],
  ]);
});

Deno.test("beginReadOnly() sets a statement's own timeout", () => {
  assert.deepEqual(beginReadOnly({ database, principal: local, holdsSettings: true, timeoutMs: 60_000 }), [
    ["BEGIN READ ONLY"],
    [
      "SELECT " + [
        set("statement_timeout", "'60000'"),
        set("lock_timeout", "'5000'"),
        set("idle_in_transaction_session_timeout", "'70000'"),
      ].join(", "),
    ],
  ]);
});

Deno.test("beginReadOnly() takes the caller's role after the settings", () => {
  const isolated = {
    ...database,
    roleFromUser: true,
    sessionSettings: { "app.username": "{username}", "app.on": "yes" },
  };
  const principal = { ...alice, username: `o'ne"il\\` };
  assert.deepEqual(beginReadOnly({ database: isolated, principal, holdsSettings: true }), [
    ["BEGIN READ ONLY"],
    [
      "SELECT " + [set("app.username", "$1"), set("app.on", "$2"), set("role", "$3")].join(", "),
      principal.username,
      "yes",
      principal.username,
    ],
  ]);
});

Deno.test("beginReadOnly() leaves the local caller in the login's role", () => {
  const begin = beginReadOnly({
    database: { ...database, roleFromUser: true },
    principal: local,
    holdsSettings: true,
  });
  assert.deepEqual(begin, [["BEGIN READ ONLY"]]);
});

Deno.test("beginReadOnly() sets what a statement of our own is planned with, after the caller's settings", () => {
  const isolated = { ...database, sessionSettings: { "app.on": "yes" } };
  const planning = { "hnsw.ef_search": "100", a: "o'ff" };
  assert.deepEqual(beginReadOnly({ database: isolated, principal: local, holdsSettings: true, planning }), [
    ["BEGIN READ ONLY"],
    [
      "SELECT " + [set("app.on", "$1"), set("hnsw.ef_search", "'100'"), set("a", "'o''ff'")].join(", "),
      "yes",
    ],
  ]);
});

Deno.test("beginReadOnly() refuses names that would mean something else", () => {
  const begin = (options: Partial<typeof database>, username: string) =>
    beginReadOnly({
      database: { ...database, ...options },
      principal: { ...alice, username },
      holdsSettings: true,
    });
  assert.throws(() => begin({ roleFromUser: true }, "none"), /"none", which PostgreSQL reserves/);
  assert.throws(() => begin({ roleFromUser: true }, "x".repeat(64)), /longer than the 63 bytes/);
  assert.throws(() => begin({ roleFromUser: true }, "é".repeat(32)), /longer than the 63 bytes/);
  assert.equal(begin({ roleFromUser: true }, "x".repeat(63)).length, 2);
  assert.equal(begin({}, "x".repeat(64)).length, 1);
  assert.throws(() => begin({ sessionSettings: { "app.username": "{username}" } as never }, "a\0b"), /NUL/);
});
