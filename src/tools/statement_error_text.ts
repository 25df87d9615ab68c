import type { StatementError } from "../postgres/database.ts";
import { createFence } from "../text/fence.ts";

/** A failed statement for a model: what is wrong, its SQLSTATE, where, and what PostgreSQL advises. */
export function statementErrorText(error: StatementError, sql: string): string {
  const { message, sqlState, position, detail, hint } = error;
  const advice = [
    ...(detail === undefined ? [] : [`Detail: ${detail}`]),
    ...(hint === undefined ? [] : [`Hint: ${hint}`]),
  ];
  const place = [
    ...(sqlState === undefined ? [] : [`SQLSTATE: ${sqlState}`]),
    ...(position === undefined ? [] : pointAt(sql, position)),
  ];
  const lines = mayQuoteRows(error)
    ? ["Cannot run the statement:", createFence().wrap([message, ...advice].join("\n")), ...place]
    : [`Cannot run the statement: ${message}`, ...place, ...advice];
  return lines.join("\n");
}

const insufficientPrivilege = "42501";
/** Of a caller who has no role (SET ROLE says 22023); one name without blanks tells nobody what to do. */
const missingRole = /^role "\S{1,63}" does not exist$/;

/**
 * Class 42 is about syntax and names, and quotes the statement where it points into it. Without a place it may come
 * from a value: `body::regclass` and `to_tsquery(body)` quote a row under 42P01 and 42601.
 */
function mayQuoteRows({ message, sqlState, position }: StatementError): boolean {
  if (sqlState === undefined || sqlState === insufficientPrivilege || missingRole.test(message)) return false;
  return !sqlState.startsWith("42") || position === undefined;
}

const maxLineLength = 120;

function pointAt(sql: string, position: number): string[] {
  const before = [...sql].slice(0, position - 1).join("");
  const line = before.split("\n").length;
  const column = [...before.slice(before.lastIndexOf("\n") + 1)].length;
  const place = `Position: line ${line}, character ${column + 1}`;
  const text = [...(sql.split("\n")[line - 1] ?? "")];
  const from = Math.max(0, column - maxLineLength / 2);
  const excerpt = text.slice(from, from + maxLineLength).join("").replaceAll("\t", " ");
  return [place, `  ${excerpt}`, `  ${" ".repeat(column - from)}^`];
}
