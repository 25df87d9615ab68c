import assert from "node:assert/strict";
import { createLogger } from "../../../src/core/logger.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { createDatabase, type ReadRequest } from "../../../src/postgres/database.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createTestDatabase, requireTestDatabaseUrl, testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { startPgBouncer } from "../../support/network/pgbouncer.ts";
import { testWithPrograms } from "../../support/programs.ts";

const { signal } = new AbortController();
const local: Principal = { kind: "local" };
const shown = ["jit", "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];
const showSql = `SELECT ${shown.map((name) => `current_setting('${name}')`).join(", ")}`;
const settings = ["off", "1500ms", "1500ms", "11500ms"];

async function createFixture(changes: Partial<DatabaseOptions>) {
  await using opened = new AsyncDisposableStack();
  const fresh = opened.use(await createTestDatabase());
  const bouncer = opened.use(await startPgBouncer(requireTestDatabaseUrl()));
  const warnings: string[] = [];
  const write = (line: string) => void (/ WARN /.test(line) && warnings.push(line));
  const logger = createLogger({ level: "warn", format: "text", write });
  const pools = opened.use(createConnectionPools({ maxConnections: 20, logger }));
  const direct = databaseOptions(fresh.url, { statementTimeoutMs: 1_500, ...changes });
  const options = { ...direct, hosts: [bouncer.host] };
  const guard = await createStatementGuard();
  const open = (options: DatabaseOptions) => createDatabase({ options, pools, guard, logger });
  const [behind, beside] = [open(options), open(direct)];
  const rowsOf = async (database: typeof behind, sql: string, rest: Partial<ReadRequest> = {}) => {
    const result = await database.read({ principal: local, sql, signal, ...rest });
    return result.ok ? result.rows : result.error;
  };
  const kept = opened.move();
  return {
    fresh,
    warnings,
    behind: (sql: string, rest?: Partial<ReadRequest>) => rowsOf(behind, sql, rest),
    beside: (sql: string, rest?: Partial<ReadRequest>) => rowsOf(beside, sql, rest),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

testWithPrograms(["pgbouncer"], "behind PgBouncer each transaction brings its settings along", async () => {
  await using f = await createFixture({ pooler: "transaction" });
  assert.deepEqual(await f.behind(showSql), [settings]);
  assert.deepEqual(await f.beside(showSql), [settings]);
  assert.deepEqual(f.warnings, []);
  const slow = await f.behind("SELECT count(*) FROM generate_series(1, 1000000000)");
  assert.equal("kind" in slow && slow.kind, "timeout");
}, testWithPostgres);

testWithPrograms(["pgbouncer"], "PgBouncer is found where the configuration names none", async () => {
  await using f = await createFixture({ pooler: "none" });
  await Promise.all(Array.from({ length: 8 }, async () => {
    assert.deepEqual(await f.behind(showSql), [settings]);
  }));
  assert.equal(f.warnings.length, 1, f.warnings.join("\n"));
  assert.match(f.warnings[0] ?? "", /pooler stands before the database/);
}, testWithPostgres);

testWithPrograms(
  ["pgbouncer"],
  "callers who share PgBouncer's connections keep to their own settings",
  async () => {
    await using f = await createFixture({
      pooler: "transaction",
      sessionSettings: { "app.username": "{username}" },
      poolMaxConns: 2,
    });
    const whoami = "SELECT current_setting('app.username')";
    const names = ["ann", "bob", "cleo", "dora", "emil"];
    await Promise.all(names.flatMap((username) =>
      Array.from({ length: 20 }, async () => {
        const principal: Principal = { kind: "session", id: username, username };
        assert.deepEqual(await f.behind(whoami, { principal }), [[username]]);
      })
    ));
    const [[left]] = await f.fresh.query(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'",
    ) as [[string]];
    assert.equal(left, "0");
  },
  testWithPostgres,
);
