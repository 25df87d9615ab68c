import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createDatabase, type Database, type ReadResult } from "../../../src/postgres/database.ts";
import { pg } from "../../../src/postgres/connection.ts";
import { createStatementGuard, type StatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { hostileFamilies, type HostileStatement } from "./hostile_statements/index.ts";
import { hiddenCalls } from "./hostile_statements/hidden_calls.ts";
import { createHostileServer, type HostileServer } from "./hostile_statements/server_fixture.ts";
import { waysToEvil } from "./hostile_statements/user_defined.ts";

const signal = new AbortController().signal;
const principal = { kind: "local" } as const;

testWithPostgres("every way to the function that writes works where nothing guards it", async () => {
  await using server = await createHostileServer();
  const harmless: string[] = [];
  const hidden = hiddenCalls.filter(({ since = 0, worksBefore = Infinity }) =>
    since <= server.version && server.version < worksBefore
  );
  for (const { sql } of [...waysToEvil, ...hidden]) {
    // what it calls has been called, whatever becomes of the statement
    await runUnguarded(server.writerUrl, sql).catch(() => {});
    if (await server.takeLoot() === 0) harmless.push(sql);
  }
  assert.deepEqual(harmless, []);
});

testWithPostgres("the file is read and sequences are drawn where nothing guards them", async () => {
  await using server = await createHostileServer();
  for (
    const sql of [
      "SELECT pg_read_file('@canary@')",
      "TABLE file_view",
      "TABLE canary_file",
      "TABLE mixed",
      "TABLE canary_program",
    ]
  ) {
    assert.match(
      JSON.stringify(await runUnguarded(server.writerUrl, server.fill(sql))),
      new RegExp(server.canary),
    );
  }
  const before = await server.database.query("SELECT last_value, is_called FROM orders_id_seq");
  await runUnguarded(server.writerUrl, "SELECT pg_catalog.setval('orders_id_seq', 99)").catch(() => {});
  await runUnguarded(server.writerUrl, "SELECT pg_advisory_lock(1)");
  assert.deepEqual(await server.database.query("SELECT last_value, is_called FROM orders_id_seq"), before);
});

for (const who of ["a role that may write", "a superuser"] as const) {
  testWithPostgres(`no hostile statement does harm as ${who}`, async (t) => {
    await using server = await createHostileServer();
    await using pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
    const guard = await createStatementGuard();
    const url = who === "a superuser" ? server.database.url : server.writerUrl;
    const options = databaseOptions(url, { statementTimeoutMs: 1_500 });
    const database = createDatabase({ options, pools, guard, logger: silentLogger });
    for (const [family, statements] of Object.entries(hostileFamilies)) {
      await t.step(family, () => attack(server, database, guard, statements));
    }
  });
}

async function attack(
  server: HostileServer,
  database: Database,
  guard: StatementGuard,
  statements: readonly HostileStatement[],
): Promise<void> {
  const before = await server.fingerprint();
  for (const statement of statements.filter(({ since = 0 }) => since <= server.version)) {
    const sql = server.fill(statement.sql);
    const result = await database.read({ principal, sql, signal });
    if (statement.mayRun !== true) assertRefused(statement, result, guard.check(sql).ok);
    assert.ok(!JSON.stringify(result).includes(server.canary), `the file was read: ${statement.name}`);
  }
  assert.equal(await server.fingerprint(), before);
  const after = await database.read({ principal, sql: "SELECT count(*) FROM orders", signal });
  assert.deepEqual(after.ok && after.rows, [["3"]]);
}

function assertRefused(statement: HostileStatement, result: ReadResult, passedGuard: boolean): void {
  const name = statement.name.slice(0, 200);
  assert.ok(!result.ok, `it ran: ${name}`);
  assert.ok(
    result.error.kind === "refused" || !passedGuard,
    `it got to the server: ${name}: ${result.error.message}`,
  );
  const reason = statement.refusedWith ?? "";
  assert.ok(
    result.error.kind !== "refused" || result.error.message.includes(reason),
    `${name}: ${result.error.message}`,
  );
}

Deno.test("the guard still works after hundreds of statements that exhaust a parser", async () => {
  const guard = await createStatementGuard();
  for (let round = 0; round < 20; round++) {
    for (const { name, sql } of hostileFamilies["deep nesting"] ?? []) assert.ok(!guard.check(sql).ok, name);
  }
  assert.ok(guard.check("SELECT 1").ok);
  assert.ok(guard.check(`SELECT 1${"+1".repeat(400)}`).ok);
  await Promise.resolve();
});

async function runUnguarded(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("BEGIN READ ONLY");
    const { rows } = await client.query(sql);
    await client.query("ROLLBACK");
    return rows;
  } finally {
    await client.end();
  }
}
