import { AppError } from "../../core/app_error.ts";
import { quoteLiteral } from "../../postgres/sql_text.ts";
import { type SqlSession, takeLock } from "../../postgres/sql_session.ts";

/**
 * Runs `work` while no other session ingests into the table, which it waits for a little.
 *
 * @throws {AppError} `conflict` where one goes on
 */
export async function asOnlyIngest<T>(
  session: SqlSession,
  options: {
    readonly table: string;
    readonly relation: string;
    readonly lockPatienceMs?: number | undefined;
  },
  work: () => Promise<T>,
): Promise<T> {
  const { table, relation, lockPatienceMs } = options;
  const key = `hashtextextended(${quoteLiteral(`postern ingest ${relation}`)}, 0)`;
  if (!await takeLock(session, key, lockPatienceMs)) {
    throw new AppError("conflict", `Cannot ingest into "${table}": another process is at it`);
  }
  try {
    return await work();
  } finally {
    await session.restore(`SELECT pg_advisory_unlock(${key})`);
  }
}
