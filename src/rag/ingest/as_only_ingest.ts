import { AppError } from "../../core/app_error.ts";
import { quoteLiteral } from "../../postgres/quote_literal.ts";
import type { SqlSession } from "../keyword/sql_session.ts";

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
