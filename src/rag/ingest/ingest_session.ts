import { AppError } from "../../core/app_error.ts";
import type { Connection } from "../../postgres/connection.ts";
import { quoteLiteral } from "../../postgres/quote_literal.ts";
import { createSqlSession, type SqlSession, sqlStateOf } from "../keyword/sql_session.ts";

/** A session whose failures say what was under way. */
export function createIngestSession(connection: Connection, table: string, signal: AbortSignal): SqlSession {
  const session = createSqlSession(connection, signal);
  return {
    ...session,
    async query(sql, parameters) {
      try {
        return await session.query(sql, parameters);
      } catch (error) {
        const sqlState = sqlStateOf(error);
        if (sqlState === undefined || !(error instanceof AppError)) throw error;
        const reason = error.cause instanceof Error ? error.cause.message : error.message;
        throw new AppError("upstream", `Cannot ingest into "${table}": ${reason}`, {
          cause: error.cause,
          data: { sqlState },
        });
      }
    },
  };
}

/**
 * Runs `work` while no other session ingests into the table.
 *
 * @throws {AppError} `conflict` where one does
 */
export async function asOnlyIngest<T>(
  session: SqlSession,
  { table, relation }: { readonly table: string; readonly relation: string },
  work: () => Promise<T>,
): Promise<T> {
  const key = `hashtextextended(${quoteLiteral(`postern ingest ${relation}`)}, 0)`;
  const [row] = await session.query(`SELECT pg_try_advisory_lock(${key})::int`);
  if (row?.[0] !== "1") {
    throw new AppError("conflict", `Cannot ingest into "${table}": another process is at it`);
  }
  try {
    return await work();
  } finally {
    await session.restore(`SELECT pg_advisory_unlock(${key})`);
  }
}
