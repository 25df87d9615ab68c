import { silentLogger } from "../../src/core/logger.ts";
import { createConnectionPools } from "../../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../../src/postgres/database.ts";
import type { DatabaseOptions } from "../../src/postgres/database_options.ts";
import { createStatementGuard } from "../../src/postgres/guard/statement_guard.ts";
import {
  type DocumentTable,
  readTable,
  type TableSettings,
} from "../../src/rag_server/search/document_table.ts";
import { renderSql, type SqlText } from "../../src/postgres/sql_text.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { databaseOptions } from "../support/database_options.ts";

/**
 * A database with pgvector and whatever else a test's SQL makes, as the RAG server reads it; that of a copy, where there is
 * an original.
 */
export async function createSearchFixture(
  setUp: string,
  changes: Partial<DatabaseOptions> = {},
  original?: TestDatabase,
) {
  const admin = await createTestDatabase(original);
  const pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
  const guard = await createStatementGuard();
  const options = databaseOptions(admin.url, changes);
  const database = createDatabase({
    options,
    pools,
    guard,
    logger: silentLogger,
  });
  const { signal } = new AbortController();
  const dispose = async () => {
    await pools.close();
    await admin[Symbol.asyncDispose]();
  };
  try {
    await admin.query(`CREATE EXTENSION IF NOT EXISTS vector; ${setUp}`);
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    admin,
    database,
    options,
    readTable: (settings: Partial<TableSettings> & { table: string }): Promise<DocumentTable> =>
      readTable(database, { textColumn: "body", vectorColumn: "embedding", ...settings }, signal),
    /** Rows of one statement of our own; a failure is thrown as PostgreSQL's message. */
    async rows(statement: SqlText, settings: Readonly<Record<string, string>> = {}) {
      const result = await database.read({
        principal: { kind: "local" },
        trusted: true,
        signal,
        settings,
        ...renderSql(statement),
      });
      if (!result.ok) throw new Error(result.error.message);
      return result.rows;
    },
    [Symbol.asyncDispose]: dispose,
  };
}
