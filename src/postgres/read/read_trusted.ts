import { AppError } from "../../core/app_error.ts";
import { serverItself } from "../../core/principal.ts";
import type { Database, ReadRequest } from "../database.ts";
import type { Row } from "./portal.ts";
import type { Parameter } from "../sql_text.ts";

/** Runs a statement of ours; rows of text. */
export type Read = (sql: string, parameters?: readonly string[]) => Promise<readonly Row[]>;

/**
 * The rows of one of our own statements, which the server reads for itself unless the options say for whom.
 *
 * @throws {AppError} `upstream` with what PostgreSQL says, its SQLSTATE in the data; `unavailable` without a connection
 */
export async function readRows(
  database: Database,
  signal: AbortSignal,
  sql: string,
  parameters: readonly Parameter[] = [],
  options: Partial<Pick<ReadRequest, "principal" | "settings">> = {},
): Promise<readonly Row[]> {
  const own = { principal: serverItself, trusted: true, signal, sql, parameters };
  const result = await database.read({ ...own, ...options });
  if (result.ok) return result.rows;
  signal.throwIfAborted();
  const { message, sqlState } = result.error;
  const reason = `Cannot read from database "${database.name}": ${message}`;
  throw new AppError("upstream", reason, sqlState === undefined ? {} : { data: { sqlState } });
}

/** The value of one row of one column of JSON; undefined where there is none. Its shape is the statement's. */
export async function readJson<T>(
  database: Database,
  signal: AbortSignal,
  sql: string,
  parameters: readonly Parameter[] = [],
): Promise<T | undefined> {
  const [row] = await readRows(database, signal, sql, parameters);
  return JSON.parse(row?.[0] ?? "null") ?? undefined;
}
