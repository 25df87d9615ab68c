import assert from "node:assert/strict";
import fc from "fast-check";
import { silentLogger } from "../../../src/core/logger.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { honestStatements, honestVectorStatements } from "./honest_statements.ts";
import { hostileFamilies } from "./hostile_statements/index.ts";
import { createHostileServer } from "./hostile_statements/server_fixture.ts";

const hostile = Object.values(hostileFamilies).flat().map(({ sql }) => sql).filter((sql) =>
  sql.length < 2_000
);
const statement = fc.constantFrom(
  ...hostile,
  ...[...honestStatements, ...honestVectorStatements].filter((sql) => sql.length < 2_000),
);

/** A piece of one statement in the place of a piece of another. */
const spliced = fc.tuple(statement, statement, fc.nat(200), fc.nat(200), fc.nat(60)).map(
  ([a, b, at, from, length]) => {
    const [words, others] = [a.split(" "), b.split(" ")];
    const start = at % (words.length + 1);
    return words.toSpliced(
      start,
      length % 4,
      ...others.slice(from % others.length, from % others.length + length % 12),
    ).join(" ");
  },
);

const mutated = fc.oneof(
  spliced,
  fc.tuple(statement, statement).map(([a, b]) => `${a}; ${b}`),
  fc.tuple(statement, statement).map(([a, b]) => `${a} UNION ALL ${b}`),
  fc.tuple(statement, statement).map(([a, b]) => `WITH q AS (${a}) ${b}`),
  statement.map((a) => `SELECT * FROM (${a}) q`),
  statement.map((a) => `SELECT (${a})`),
  statement.map((a) => `EXPLAIN ANALYZE ${a}`),
  statement.map((a) => `SELECT ARRAY(${a})::text`),
  statement.map((a) => a.toUpperCase()),
  statement.map((a) => a.replaceAll(" ", "/*;*/")),
  fc.tuple(
    statement,
    fc.nat(500),
    fc.constantFrom("'", '"', "\\", "$$", "--", "/*", "(", ")", ";", "E'", "\0", "\ud800", "::"),
  )
    .map(([a, at, piece]) => a.slice(0, at % (a.length + 1)) + piece + a.slice(at % (a.length + 1))),
  fc.tuple(statement, fc.nat(500), fc.nat(20)).map(([a, at, n]) =>
    a.slice(0, at % a.length || 0) + a.slice((at % a.length || 0) + n)
  ),
);

Deno.test("check() never throws, whatever is mixed together", async () => {
  const guard = await createStatementGuard();
  fc.assert(
    fc.property(mutated, (sql) => {
      const result = guard.check(sql);
      assert.ok(result.ok || result.reason !== "");
    }),
    { numRuns: 5_000 },
  );
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 200 }),
      (sql) => typeof guard.check(sql).ok === "boolean",
    ),
  );
  assert.ok(guard.check("SELECT 1").ok);
});

testWithPostgres("what is accepted of mixed statements changes nothing", async () => {
  await using server = await createHostileServer();
  await using pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
  const guard = await createStatementGuard();
  const options = databaseOptions(server.writerUrl, { statementTimeoutMs: 300 });
  const database = createDatabase({ options, pools, guard, logger: silentLogger });
  const { signal } = new AbortController();
  const before = await server.fingerprint();
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(mutated, async (text) => {
      const sql = server.fill(text);
      if (!guard.check(sql).ok) return;
      accepted++;
      const result = await database.read({ principal: { kind: "local" }, sql, signal });
      assert.ok(!JSON.stringify(result).includes(server.canary), sql);
    }),
    { numRuns: 2_000 },
  );
  assert.equal(await server.fingerprint(), before);
  assert.equal(await server.takeLoot(), 0);
  assert.ok(accepted > 100, `only ${accepted} got as far as the server`);
});
