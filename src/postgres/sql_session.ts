import { AppError } from "../core/app_error.ts";
import { onAbort } from "../core/async/abort.ts";
import { sleep } from "../core/async/deadline.ts";
import type { Connection } from "./connection.ts";
import type { Row } from "./read/portal.ts";
import { isConnectionLost } from "./read/statement_error.ts";

/** What a change of the database needs of a connection of its own, by a role that may write. */
export interface SqlSession {
  /** Runs one statement, outside of a transaction unless one was begun; rows of text. */
  query(sql: string, parameters?: readonly (string | number | null)[]): Promise<readonly Row[]>;
  /** Runs a statement that puts the connection in order, also after an abort. Never rejects: the connection may be lost. */
  restore(sql: string): Promise<void>;
}

/**
 * A session on a connection that is the caller's, whose statements may take as long as they need: none of the timeouts of
 * the connection, or of its role, holds but that for locks. Aborting cancels the running statement.
 *
 * @param purpose what is being done, for errors: "Cannot <purpose>: …"
 * @throws {AppError} from `query`: `upstream` with the server's SQLSTATE in `data.sqlState`, `unavailable` where the
 * connection is lost; the signal's reason once it has aborted
 */
export function createSqlSession(connection: Connection, signal: AbortSignal, purpose: string): SqlSession {
  let cancelling: Promise<void> | undefined;
  const cancel = () => void (cancelling = connection.cancel().catch(() => {}));
  let isUntimed = false;
  // it reads records of our own, which grow with the table
  connection.limitBytes(Infinity);

  async function run(sql: string, parameters: readonly (string | number | null)[]): Promise<readonly Row[]> {
    const { rows } = await connection.client.query<(string | null)[]>({
      text: sql,
      values: [...parameters],
      rowMode: "array",
      types: { getTypeParser: () => String },
    });
    return rows;
  }

  return {
    async query(sql, parameters = []) {
      signal.throwIfAborted();
      using _aborting = onAbort(signal, cancel);
      try {
        if (!isUntimed) await run(untimedSql, []);
        isUntimed = true;
        return await run(sql, parameters);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof Error) || error instanceof AppError) throw error;
        if (isConnectionLost(error)) {
          const reason = "the connection to the database was lost; run it again when the database answers";
          throw new AppError("unavailable", `Cannot ${purpose}: ${reason}`, { cause: error });
        }
        const data = { sqlState: Reflect.get(error, "code") };
        throw new AppError("upstream", `Cannot ${purpose}: ${error.message}`, { cause: error, data });
      }
    },
    async restore(sql) {
      // or it would be cancelled in place of the statement before it
      await cancelling;
      await run(sql, []).catch(() => {});
    },
  };
}

/** A build takes hours, and `-ingest` leaves its connection idle while a provider embeds. Some are new in PostgreSQL. */
const untimedSql = `SELECT set_config(name, '0', false) FROM pg_settings
  WHERE name IN ('statement_timeout', 'transaction_timeout', 'idle_session_timeout')`;

/** The SQLSTATE of an error that `query` threw. */
export function sqlStateOf(error: unknown): unknown {
  return error instanceof AppError ? error.data?.["sqlState"] : undefined;
}

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

/** PostgreSQL may notice only seconds later that a process was killed, and only then releases the locks it held. */
const lockPatienceMs = 10_000;
const lockPauseMs = 250;

/**
 * Takes an advisory lock for a session, waiting a little for one that is held. It asks again and again: a statement that
 * waited in PostgreSQL would hold up the holder's CREATE INDEX CONCURRENTLY.
 *
 * @param key SQL of type bigint
 * @returns whether the lock became free in time
 * @throws {AppError} as the session's `query`
 */
export async function takeLock(
  session: SqlSession,
  key: string,
  patienceMs = lockPatienceMs,
): Promise<boolean> {
  for (let left = patienceMs;; left -= lockPauseMs) {
    const [row] = await session.query(`SELECT pg_try_advisory_lock(${key})`);
    if (row?.[0] === "t") return true;
    if (left < lockPauseMs) return false;
    await sleep(lockPauseMs);
  }
}

/**
 * Runs `work` while no other session holds an advisory lock, as {@linkcode takeLock}.
 *
 * @throws {AppError} `conflict` with `reason` where another one keeps it; what `work` throws
 */
export async function withLock<T>(
  session: SqlSession,
  { key, reason, patienceMs }: {
    readonly key: string;
    readonly reason: string;
    readonly patienceMs?: number | undefined;
  },
  work: () => Promise<T>,
): Promise<T> {
  if (!await takeLock(session, key, patienceMs)) throw new AppError("conflict", reason);
  try {
    return await work();
  } finally {
    await session.restore(`SELECT pg_advisory_unlock(${key})`);
  }
}

const lockNotAvailable = "55P03";
const attempts = 300;
const attemptPauseMs = 1_000;

/**
 * Tries `work`, which takes locks that writers hold and gives up waiting for them at once or soon, until it gets them.
 * Whoever waits for a strong lock makes all later writers wait too; between tries they go ahead.
 *
 * @throws what `work` throws for other reasons, or at the last of many tries; the signal's reason once it has aborted
 */
export async function withoutWaitingWriters<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (sqlStateOf(error) !== lockNotAvailable || attempt === attempts) throw error;
      await sleep(attemptPauseMs, signal);
    }
  }
}

/** Runs `work` in a transaction that takes locks which writers hold, and waits for them a second at a time. */
export function lockingTransaction<T>(
  session: SqlSession,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  return withoutWaitingWriters(signal, () =>
    transaction(session, async () => {
      await session.query("SET LOCAL lock_timeout = '1s'");
      return await work();
    }));
}
