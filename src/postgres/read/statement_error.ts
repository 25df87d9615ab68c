import { pg } from "../connection.ts";

/** Why a statement gave no rows, as told to whoever wrote it. */
export interface StatementError {
  /** `refused`: it was not run. `failed`: PostgreSQL says no. `timeout`, `cancelled`: it was stopped. */
  readonly kind: "refused" | "failed" | "timeout" | "cancelled";
  readonly message: string;
  readonly sqlState?: string;
  /** In characters, from 1. */
  readonly position?: number;
  /** The line of `position`, from 1. */
  readonly line?: number;
  readonly hint?: string;
  readonly detail?: string;
}

/** PostgreSQL's error in answer to a statement; undefined for an error of another origin. */
export function statementErrorOf(error: unknown, sql: string): StatementError | undefined {
  if (!(error instanceof pg.DatabaseError)) return undefined;
  const { code, message, hint, detail } = error;
  const position = error.position === undefined ? undefined : Number(error.position);
  const isTimeout = code === "57014" || code === "55P03" || code === "25P03";
  return {
    kind: isTimeout ? "timeout" : "failed",
    message,
    ...(code !== undefined && { sqlState: code }),
    ...placeOf(sql, position),
    ...(hint !== undefined && { hint }),
    ...(detail !== undefined && { detail }),
  };
}

/** `position` with its line. */
export function placeOf(sql: string, position: number | undefined): { position?: number; line?: number } {
  if (position === undefined) return {};
  const before = Array.from(sql).slice(0, position - 1);
  return { position, line: 1 + before.filter((char) => char === "\n").length };
}

/** The server's SQLSTATE, as the data of an error of ours. */
export function sqlStateData(error: unknown): { data?: { sqlState: string } } {
  const code = error instanceof pg.DatabaseError ? error.code : undefined;
  return code === undefined ? {} : { data: { sqlState: code } };
}

/** Whether the connection, not the statement, is what went wrong. */
export function isConnectionLost(error: unknown): boolean {
  // class 08, and shutdowns: https://www.postgresql.org/docs/current/errcodes-appendix.html
  return error instanceof pg.DatabaseError ? /^(08|57P0)/.test(error.code ?? "") : true;
}
