import type { Logger } from "../../core/logger.ts";
import type { Database, ReadRequest, ReadResult } from "../../postgres/database.ts";
import type { StatementError } from "../../postgres/read/statement_error.ts";
import type { Step } from "../progress.ts";

/** A request in words, and what its rows are bounded by. */
export interface Question extends Pick<ReadRequest, "principal" | "signal" | "span"> {
  readonly text: string;
  /** What the caller's user answered to a question back about the same text; from outside. */
  readonly userAnswer?: string | undefined;
  readonly database: Database;
  readonly maxRows: number;
  readonly offset: number;
  readonly logger: Logger;
  /** Told of each step as it begins. */
  readonly onStep?: ((step: Step) => void) | undefined;
}

/** A question that an administrator wrote down, as it was asked. */
export interface VerifiedUse {
  /** Its own words, with its arguments as in `{country}`. */
  readonly question: string;
  /** The values of its arguments by their names, in the order in which the statement has them as `$1` and on. */
  readonly arguments: Readonly<Record<string, string>>;
}

/** `verified` is there where the statement is that of a verified question. */
export type StatementAnswer =
  & (
    | { readonly kind: "rows"; readonly sql: string; readonly result: ReadResult & { readonly ok: true } }
    | { readonly kind: "failed"; readonly sql: string; readonly error: StatementError }
  )
  & { readonly verified?: VerifiedUse };

export type Answer =
  | StatementAnswer
  /** The request can mean several things, or needs what the database does not have. */
  | { readonly kind: "question"; readonly text: string }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Answers a request in words with the rows of a statement.
 *
 * @throws {ProviderError} where the completion provider fails
 * @throws {AppError} `unavailable` where the database cannot be reached
 */
export type AnswerQuestion = (question: Question) => Promise<Answer>;

/** Answers a question with the rows of one statement, which the values stand in as `$1` and on. */
export async function runStatement(
  { database, principal, maxRows, offset, signal, span }: Question,
  sql: string,
  parameters: readonly string[] = [],
): Promise<StatementAnswer> {
  const result = await database.read({ principal, sql, parameters, signal, span, maxRows, offset });
  return result.ok ? { kind: "rows", sql, result } : { kind: "failed", sql, error: result.error };
}
