import { defined } from "../../core/defined.ts";
import { jsonValue, typeName } from "../../postgres/read/json_values.ts";
import { figuresHidden } from "../../postgres/read/plan_figures.ts";
import { createFence } from "../../text/fence.ts";
import { formatTsv } from "../../text/tsv.ts";
import type { Question, StatementAnswer, VerifiedUse } from "../questions/answer.ts";
import { cutWords, mayQuoteRows, type StatementError } from "../../postgres/read/statement_error.ts";
import type { ToolReply } from "./tool.ts";

/**
 * The rows of a statement: as a text for a model, and the same as data for a program. Without an offset there is no way to
 * the rows that are left out.
 */
export function rowsReply(
  question: Pick<Question, "text" | "database"> & Partial<Pick<Question, "offset">>,
  { sql, result, verified }: StatementAnswer & { readonly kind: "rows" },
) {
  const { columns, rows, truncatedBy, hidesFigures } = result;
  const database = question.database.name;
  const truncated = truncatedBy !== undefined;
  const next = question.offset === undefined ? undefined : question.offset + rows.length;
  // the same words may become another statement
  const again = sql === question.text || verified !== undefined
    ? "call again"
    : "send the SQL above as `query`";
  const how = next === undefined ? "" : `: ${again} with offset=${next} for the next`;
  const more = truncated ? `, more available${how}` : "";
  const count = `${rows.length} ${rows.length === 1 ? "row" : "rows"}${more}`;
  const sizeNote = truncatedBy === "bytes"
    ? "\nThe answer reached its size limit; select fewer columns."
    : "";
  return {
    // what is in the rows was written by whoever writes to the database, and goes to a model
    text:
      `Database: ${database}\n${
        verifiedText(verified)
      }\nSQL Query:\n${sql}\n\nResults (${count}):${sizeNote}\n` +
      (hidesFigures ? `${figuresHidden}\n` : "") +
      createFence().wrap(formatTsv(columns.map((column) => column.name), rows)),
    data: {
      database,
      ...defined({ verified_question: verified }),
      sql,
      columns: columns.map((column) => ({ name: column.name, type: typeName(column.typeOid) })),
      rows: rows.map((row) => row.map((value, index) => jsonValue(value, columns[index]?.typeOid ?? 0))),
      row_count: rows.length,
      truncated,
      // a statement with `$1` cannot be sent: only the request gets more of it
      ...(truncated && next !== undefined && Object.keys(verified?.arguments ?? {}).length === 0 && {
        next_offset: next,
      }),
    },
  };
}

/** Says which question was answered, and with which values; a line of its own, or nothing. */
export function verifiedText(verified: VerifiedUse | undefined): string {
  if (verified === undefined) return "";
  const values = Object.entries(verified.arguments).map(([name, value], at) =>
    `$${at + 1} ${name} = ${JSON.stringify(value)}`
  );
  return `Verified question: ${verified.question}${values.length === 0 ? "" : ` (${values.join(", ")})`}\n`;
}

/** The reply to a call whose statement gave no rows. */
export function statementErrorReply(
  error: StatementError,
  sql: string,
  database: string,
  errorText = statementErrorText(error, sql),
): ToolReply<never> {
  const { kind, sqlState } = error;
  return { errorText, error: { kind, database, ...defined({ sqlState }) } };
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
