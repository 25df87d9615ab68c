import { sleep } from "../../core/async/sleep.ts";
import type { SqlSession } from "../keyword/sql_session.ts";

/** PostgreSQL may notice only seconds later that a process was killed, and lets go of what it held then. */
export const lockPatienceMs = 10_000;
const pauseMs = 250;

/**
 * Takes an advisory lock for a session, waiting a little for one that is held. It asks again and again: a statement that
 * waited in PostgreSQL would hold up the holder's CREATE INDEX CONCURRENTLY.
 *
 * @param key SQL of type bigint
 * @returns whether the lock was to be had in time
 * @throws {AppError} as the session's `query`
 */
export async function takeLock(
  session: SqlSession,
  key: string,
  patienceMs = lockPatienceMs,
): Promise<boolean> {
  for (let left = patienceMs;; left -= pauseMs) {
    const [row] = await session.query(`SELECT pg_try_advisory_lock(${key})`);
    if (row?.[0] === "t") return true;
    if (left < pauseMs) return false;
    await sleep(pauseMs);
  }
}
