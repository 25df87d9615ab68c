import assert from "node:assert/strict";
import { beginReadOnly } from "../../../src/postgres/read/read_only_transaction.ts";

const options = { statementTimeoutMs: 2_000, roleFromUser: false, sessionSettings: {} };
const alice = { kind: "session", id: "s", username: "alice" } as const;

const bounds =
  "BEGIN READ ONLY; SET LOCAL jit = off; SET LOCAL standard_conforming_strings = on; SET LOCAL client_encoding = 'UTF8'; " +
  "SET LOCAL statement_timeout = 2000; SET LOCAL lock_timeout = 2000; SET LOCAL idle_in_transaction_session_timeout = 12000";

Deno.test("beginReadOnly() sets the bounds for the transaction alone", () => {
  assert.equal(beginReadOnly(options, { kind: "local" }), bounds);
});

Deno.test("beginReadOnly() takes the caller's role, quoted, after the settings", () => {
  const isolated = {
    ...options,
    roleFromUser: true,
    sessionSettings: { "app.username": "{username}", "app.on": "yes" },
  };
  assert.equal(
    beginReadOnly(isolated, { ...alice, username: `o'ne"il\\` }),
    bounds + `; SELECT pg_catalog.set_config('app.username', E'o''ne"il\\\\', true)` +
      `; SELECT pg_catalog.set_config('app.on', 'yes', true); SET LOCAL ROLE "o'ne""il\\"`,
  );
});

Deno.test("beginReadOnly() leaves the local caller in the login's role", () => {
  assert.equal(beginReadOnly({ ...options, roleFromUser: true }, { kind: "local" }), bounds);
});

Deno.test("beginReadOnly() sets what a statement of our own is planned with, after the caller's settings", () => {
  const isolated = { ...options, sessionSettings: { "app.on": "yes" } };
  assert.equal(
    beginReadOnly(isolated, { kind: "local" }, { "hnsw.ef_search": "100", a: "o'ff" }),
    bounds + "; SELECT pg_catalog.set_config('app.on', 'yes', true)" +
      "; SELECT pg_catalog.set_config('hnsw.ef_search', '100', true); SELECT pg_catalog.set_config('a', 'o''ff', true)",
  );
});

Deno.test("beginReadOnly() refuses names that would mean something else", () => {
  assert.throws(
    () => beginReadOnly({ ...options, roleFromUser: true }, { ...alice, username: "none" }),
    /reserves the name/,
  );
  const settings = { ...options, sessionSettings: { "app.username": "{username}" } };
  assert.throws(() => beginReadOnly(settings, { ...alice, username: "a\0b" }), /NUL/);
});
