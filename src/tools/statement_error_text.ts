import type { StatementError } from "../postgres/database.ts";

/** A failed statement for a model: what is wrong, its SQLSTATE, where, and what PostgreSQL advises. */
export function statementErrorText(error: StatementError, sql: string): string {
  const lines = [`Cannot run the statement: ${error.message}`];
  if (error.sqlState !== undefined) lines.push(`SQLSTATE: ${error.sqlState}`);
  if (error.position !== undefined) lines.push(...pointAt(sql, error.position));
  if (error.detail !== undefined) lines.push(`Detail: ${error.detail}`);
  if (error.hint !== undefined) lines.push(`Hint: ${error.hint}`);
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
