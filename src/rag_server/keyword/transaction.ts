import type { SqlSession } from "./sql_session.ts";

/** Runs `work` in a transaction of its own, rolled back where it throws. */
export async function transaction<T>(session: SqlSession, work: () => Promise<T>): Promise<T> {
  await session.query("BEGIN");
  try {
    const result = await work();
    await session.query("COMMIT");
    return result;
  } catch (error) {
    await session.restore("ROLLBACK");
    throw error;
  }
}
