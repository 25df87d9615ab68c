import { AppError } from "../../core/app_error.ts";
import type { Database } from "../../postgres/database.ts";
import type { Row } from "../../postgres/read/portal.ts";

/**
 * The rows of one of our own statements.
 *
 * @throws {AppError} `upstream` with what PostgreSQL says, its SQLSTATE in the data; `unavailable` without a connection
 */
export async function readRows(
  database: Database,
  signal: AbortSignal,
  sql: string,
  parameters: readonly (string | null)[] = [],
): Promise<readonly Row[]> {
  const outcome = await database.read({
    principal: { kind: "local" },
    trusted: true,
    signal,
    sql,
    parameters,
  });
  if (outcome.ok) return outcome.rows;
  signal.throwIfAborted();
  const { message, sqlState } = outcome.error;
  throw new AppError(
    "upstream",
    `Cannot read from database "${database.name}": ${message}`,
    { ...(sqlState !== undefined && { data: { sqlState } }) },
  );
}

/** The value of one row of one column of JSON; undefined where there is none. Its shape is the statement's. */
export async function readJson<T>(
  database: Database,
  signal: AbortSignal,
  sql: string,
  parameters: readonly (string | null)[] = [],
): Promise<T | undefined> {
  const [row] = await readRows(database, signal, sql, parameters);
  return JSON.parse(row?.[0] ?? "null") ?? undefined;
}
