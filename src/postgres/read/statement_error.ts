import { defined } from "../../core/defined.ts";
import { Buffer } from "node:buffer";
import { AppError } from "../../core/app_error.ts";
import { pg } from "../connection.ts";
import type { GuardResult } from "../guard/statement_guard.ts";

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
    ...defined({ sqlState: code }),
    ...placeOf(sql, position),
    ...defined({ hint, detail }),
  };
}

/** Of PostgreSQL's words, as it sent them, however short they are told; 0 for an error of another origin. */
export function sentBytesOf(error: unknown): number {
  if (!(error instanceof pg.DatabaseError)) return 0;
  return Buffer.byteLength([error.message, error.detail, error.hint].join(""));
}

/** `position` with its line. */
export function placeOf(sql: string, position: number | undefined): { position?: number; line?: number } {
  if (position === undefined) return {};
  const before = Array.from(sql).slice(0, position - 1);
  return { position, line: 1 + before.filter((char) => char === "\n").length };
}

/** What a statement that the guard refused is told: `failed`, as by PostgreSQL, where it has a SQLSTATE. */
export function refusedError(
  sql: string,
  { reason: message, sqlState, position }: GuardResult & { readonly ok: false },
): StatementError {
  const kind = sqlState === undefined ? "refused" : "failed";
  return { kind, message, ...defined({ sqlState }), ...placeOf(sql, position) };
}

/** The error of `sent`, which ends with what follows the first word of `sql`, or with all of it: its place counts in `sql`. */
export function withoutPrefix(error: StatementError, sent: string, sql: string): StatementError {
  if (error.position === undefined || sent === sql) return error;
  const { position, line: _line, ...rest } = error;
  const moved = position - Array.from(sent).length + Array.from(sql).length;
  return { ...rest, ...(moved > 0 ? placeOf(sql, moved) : {}) };
}

/** Whether the connection, not the statement, is what went wrong. */
export function isConnectionLost(error: unknown): boolean {
  // class 08, and shutdowns: https://www.postgresql.org/docs/current/errcodes-appendix.html
  return error instanceof pg.DatabaseError ? /^(08|57P0)/.test(error.code ?? "") : true;
}

/** What whoever reads is told of that. */
export function lostError(database: string, cause: unknown): AppError {
  const message = `Cannot read from database "${database}": the connection was lost; try again`;
  const sqlState = cause instanceof pg.DatabaseError ? cause.code : undefined;
  return new AppError("unavailable", message, {
    cause,
    ...(sqlState !== undefined && { data: { sqlState } }),
  });
}

const insufficientPrivilege = "42501";
const permissionDenied = /^permission denied (?:for [a-z ]{1,40} \S{1,63}|to set role "\S{1,63}")$/;
/** The error of a caller who has no role; a cast to regrole says the same under another code, and quotes a value. */
const unknownRole = "22023";
const missingRole = /^role "\S{1,63}" does not exist$/;

/**
 * Whether an error's message, detail or hint may hold what a row holds. PostgreSQL's class 42 is about syntax and names,
 * and quotes the statement where it points into it. Without a place it may come from a value: `body::regclass`,
 * `to_tsquery(body)` and `current_setting(body)` quote a row under 42P01, 42601 and 42704. A function may raise any code
 * with any words, so of the errors without a place only those pass that have PostgreSQL's own form and one name.
 */
export function mayQuoteRows({ message, sqlState, position }: StatementError): boolean {
  if (sqlState === undefined) return false;
  if (sqlState === insufficientPrivilege && permissionDenied.test(message)) return false;
  if (sqlState === unknownRole && missingRole.test(message)) return false;
  return !sqlState.startsWith("42") || position === undefined;
}

/** For a log, which may hold neither rows nor claims: PostgreSQL's own words only where they can quote none. */
export function withoutQuotes(error: StatementError): StatementError {
  if (!mayQuoteRows(error)) return error;
  const { kind, sqlState } = error;
  return {
    kind,
    message: "PostgreSQL's words may quote a row or a claim",
    ...defined({ sqlState }),
  };
}

const longestWords = 2_000;

/** An error's message, detail or hint as far as it helps: one that quotes rows may be as long as they are. */
export function cutWords(words: string): string {
  return words.length <= longestWords ? words : `${words.slice(0, longestWords).toWellFormed()}…`;
}
