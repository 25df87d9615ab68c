import { cutWords, mayQuoteRows, type StatementError } from "../../postgres/read/statement_error.ts";
import { createFence } from "../../text/fence.ts";
import type { ToolReply } from "./tool.ts";

/** The reply to a call whose statement gave no rows. */
export function statementErrorReply(
  error: StatementError,
  sql: string,
  database: string,
  errorText = statementErrorText(error, sql),
): ToolReply<never> {
  const { kind, sqlState } = error;
  return { errorText, error: { kind, database, ...(sqlState === undefined ? {} : { sqlState }) } };
}

/** What a model is told of a statement's error: what is wrong, its SQLSTATE, where, and what PostgreSQL advises. */
export function statementErrorText(error: StatementError, sql: string): string {
  const { sqlState, position, detail, hint } = error;
  const message = cutWords(error.message);
  const advice = [
    ...(detail === undefined ? [] : [`Detail: ${cutWords(detail)}`]),
    ...(hint === undefined ? [] : [`Hint: ${cutWords(hint)}`]),
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
