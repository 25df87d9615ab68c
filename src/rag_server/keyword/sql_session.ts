import { AppError } from "../../core/app_error.ts";
import type { Connection } from "../../postgres/connection.ts";
import type { Row } from "../../postgres/read/portal.ts";

/** What building and keeping an index needs of a connection of its own, by a role that may write. */
export interface SqlSession {
  /** Runs one statement, outside of a transaction unless one was begun; rows of text. */
  query(sql: string, parameters?: readonly (string | number | null)[]): Promise<readonly Row[]>;
  /** Runs a statement that puts the connection in order, also after an abort. Never rejects: the connection may be lost. */
  restore(sql: string): Promise<void>;
}

/**
 * A session on a connection that is the caller's. Aborting cancels the running statement.
 *
 * @param purpose what is being done, for errors: "Cannot <purpose>: …"
 * @throws {AppError} from `query`: `upstream` with the server's SQLSTATE in `data.sqlState`; the signal's reason once it
 * has aborted
 */
export function createSqlSession(
  connection: Connection,
  signal: AbortSignal,
  purpose = "change the keyword index",
): SqlSession {
  let cancelling: Promise<void> | undefined;
  const cancel = () => cancelling = connection.cancel().catch(() => {});

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
      signal.addEventListener("abort", cancel, { once: true });
      try {
        return await run(sql, parameters);
      } catch (error) {
        signal.throwIfAborted();
        throw asAppError(error, purpose);
      } finally {
        signal.removeEventListener("abort", cancel);
      }
    },
    async restore(sql) {
      // or it would be cancelled in place of the statement before it
      await cancelling;
      await run(sql, []).catch(() => {});
    },
  };
}

/** The SQLSTATE of an error that `query` threw. */
export function sqlStateOf(error: unknown): unknown {
  return error instanceof AppError ? error.data?.["sqlState"] : undefined;
}

function asAppError(error: unknown, purpose: string): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  return new AppError("upstream", `Cannot ${purpose}: ${error.message}`, {
    cause: error,
    data: { sqlState: error.code },
  });
}
