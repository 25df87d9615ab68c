import { jsonValue, typeName } from "../../postgres/read/json_values.ts";
import { createFence } from "../../text/fence.ts";
import { formatTsv } from "../../text/tsv.ts";
import type { Question, StatementAnswer } from "../questions/answer.ts";

/**
 * The rows of a statement: as a text for a model, and the same as data for a program. Without an offset there is no way to
 * the rows that are left out.
 */
export function rowsReply(
  question: Pick<Question, "text" | "database"> & Partial<Pick<Question, "offset">>,
  { sql, result }: StatementAnswer & { readonly kind: "rows" },
) {
  const { columns, rows, truncatedBy } = result;
  const database = question.database.name;
  const truncated = truncatedBy !== undefined;
  const next = question.offset === undefined ? undefined : question.offset + rows.length;
  // the same words may become another statement
  const again = sql === question.text ? "call again" : "send the SQL above as `query`";
  const how = next === undefined ? "" : `: ${again} with offset=${next} for the next`;
  const more = truncated ? `, more available${how}` : "";
  const count = `${rows.length} ${rows.length === 1 ? "row" : "rows"}${more}`;
  const sizeNote = truncatedBy === "bytes"
    ? "\nThe answer reached its size limit; select fewer columns."
    : "";
  return {
    // what is in the rows was written by whoever writes to the database, and goes to a model
    text: `Database: ${database}\n\nSQL Query:\n${sql}\n\nResults (${count}):${sizeNote}\n` +
      createFence().wrap(formatTsv(columns.map((column) => column.name), rows)),
    data: {
      database,
      sql,
      columns: columns.map((column) => ({ name: column.name, type: typeName(column.typeOid) })),
      rows: rows.map((row) => row.map((value, index) => jsonValue(value, columns[index]?.typeOid ?? 0))),
      row_count: rows.length,
      truncated,
      ...(truncated && next !== undefined ? { next_offset: next } : {}),
    },
  };
}
