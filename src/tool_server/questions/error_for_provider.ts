import type { StatementError } from "../../postgres/database.ts";
import { mayQuoteRows } from "../../postgres/read/error_words.ts";

/** What is said of an error in place of PostgreSQL's words, by the class of its SQLSTATE. */
const phrases: ReadonlyMap<string, string> = new Map([
  ["0A", "PostgreSQL does not support what the statement does"],
  ["21", "a subquery in the place of one value gives more than one row"],
  ["22", "a value does not fit the operation"],
  ["23", "a value does not fit a constraint"],
  ["25", "the statement does more than read"],
  ["3F", "there is no such schema"],
  ["42", "a value is no name, syntax or type that PostgreSQL takes there"],
  ["53", "the server lacks memory, disk space or connections for the statement"],
  ["54", "the statement goes beyond a limit of PostgreSQL; make it simpler"],
  ["55", "something that the statement needs is not ready"],
  ["57", "the server stopped the statement"],
  ["58", "the server's system failed"],
  ["P0", "a function raised an error"],
  ["XX", "PostgreSQL failed inside"],
]);

/**
 * An error as a provider may read it. PostgreSQL's words go along where the statement's own text is at fault or the
 * rights are, and so do our own refusals. Any other message may quote what a row holds, a planner's too, since it runs
 * functions on constants: a fixed phrase takes its place.
 * Source: PostgreSQL documentation, appendix "PostgreSQL Error Codes".
 */
export function errorForProvider(error: StatementError): StatementError {
  const { kind, sqlState, position, line } = error;
  const isOurs = kind === "refused" && sqlState === undefined;
  if (isOurs || (sqlState?.startsWith("42") && !mayQuoteRows(error))) return error;
  return {
    kind,
    message: phrases.get(sqlState?.slice(0, 2) ?? "") ?? "the statement failed while it ran",
    ...(sqlState !== undefined && { sqlState }),
    ...(position !== undefined && { position }),
    ...(line !== undefined && { line }),
  };
}
