import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { createTestDatabase, testWithPgvector, testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import {
  honestFixture,
  honestStatements,
  honestVectorFixture,
  honestVectorStatements,
} from "./honest_statements.ts";

testWithPostgres("every honest statement runs", async () => {
  assert.deepEqual(await refusalsOf(honestStatements, honestFixture), []);
  assert.ok(honestStatements.length > 100);
});

testWithPgvector("every honest statement over vectors runs", async () => {
  assert.deepEqual(await refusalsOf(honestVectorStatements, honestFixture + honestVectorFixture), []);
}, "pg_trgm");

async function refusalsOf(statements: readonly string[], fixture: string): Promise<string[]> {
  await using testDatabase = await createTestDatabase();
  await testDatabase.query(fixture);
  await using pools = createConnectionPools({ maxConnections: 2, logger: silentLogger });
  const options = databaseOptions(testDatabase.url, { allowedFunctions: ["stamp"] });
  const guard = await createStatementGuard();
  const database = createDatabase({ options, pools, guard, logger: silentLogger });
  const { signal } = new AbortController();
  const failed: string[] = [];
  for (const sql of statements) {
    const result = await database.read({ principal: { kind: "local" }, sql, signal });
    if (!result.ok) failed.push(`${sql.slice(0, 200)} → ${result.error.message}`);
  }
  return failed;
}

Deno.test("an honest statement passes the guard in every way of writing it", async () => {
  const guard = await createStatementGuard();
  for (const sql of [...honestStatements, ...honestVectorStatements]) {
    for (const text of [`${sql}\n`, `\t${sql}`, `-- é 😀\n${sql}`, `/* a;b */ ${sql} -- end`]) {
      const result = guard.check(text);
      assert.ok(result.ok, `${text.slice(0, 200)}: ${result.ok ? "" : result.reason}`);
    }
  }
});
