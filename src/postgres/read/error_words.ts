import type { StatementError } from "./statement_error.ts";

const insufficientPrivilege = "42501";
const permissionDenied = /^permission denied (?:for [a-z ]{1,40} \S{1,63}|to set role "\S{1,63}")$/;
/** Of a caller who has no role; a cast to regrole says the same under another code, and quotes a value. */
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

const longestWords = 2_000;

/** An error's message, detail or hint as far as it helps: one that quotes rows may be as long as they are. */
export function cutWords(words: string): string {
  return words.length <= longestWords ? words : `${words.slice(0, longestWords).toWellFormed()}…`;
}
