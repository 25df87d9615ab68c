import { silentLogger } from "../../../src/core/logger.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createDatabase, type Database } from "../../../src/postgres/database.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { pg } from "../../../src/postgres/connection.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import {
  createTestDatabase,
  requireTestDatabaseUrl,
  runSql,
  type TestDatabase,
} from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";

export const request = { principal: { kind: "local" } as Principal, signal: new AbortController().signal };

export interface CatalogFixture extends AsyncDisposable {
  readonly admin: TestDatabase;
  readonly database: Database;
  /** A role of the test's own, which may log in. */
  createRole(suffix: string): Promise<string>;
  /** A superuser's connection that stays open. */
  open(): Promise<pg.Client>;
  /** The test's database under other options. */
  connect(changes: Partial<DatabaseOptions>): Database;
}

/** A database with a schema, read as the superuser; roles that it made are dropped with it. */
export async function createCatalogFixture(
  sql: string,
  changes: Partial<DatabaseOptions> = {},
): Promise<CatalogFixture> {
  const admin = await createTestDatabase();
  const pools = createConnectionPools({ maxConnections: 20, logger: silentLogger });
  const guard = await createStatementGuard();
  const roles: string[] = [];
  const clients: pg.Client[] = [];
  const connect = (more: Partial<DatabaseOptions>) =>
    createDatabase({ options: databaseOptions(admin.url, more), pools, guard, logger: silentLogger });
  if (sql !== "") await admin.query(sql);
  return {
    admin,
    database: connect(changes),
    async open() {
      const client = new pg.Client({ connectionString: admin.url });
      client.on("error", () => {});
      await client.connect();
      clients.push(client);
      return client;
    },
    connect,
    async createRole(suffix) {
      const role = `${admin.name}_${suffix}`;
      await admin.query(`CREATE ROLE ${role} LOGIN`);
      roles.push(role);
      return role;
    },
    async [Symbol.asyncDispose]() {
      await pools.close();
      for (const client of clients) await client.end();
      // what the roles own and may do goes with the database
      await admin[Symbol.asyncDispose]();
      for (const role of roles) await runSql(requireTestDatabaseUrl(), `DROP ROLE ${role}`);
    },
  };
}
