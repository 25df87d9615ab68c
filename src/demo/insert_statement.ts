import type { TableRows } from "./shop_values.ts";
import { quoteLiteral } from "../postgres/sql_text.ts";

/** One JSON text for all rows: PostgreSQL takes it faster than a list of VALUES. */
export function insertStatement({ table, columns, rows }: TableRows): string {
  const objects = rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])));
  const names = columns.join(", ");
  return `INSERT INTO ${table} (${names})
SELECT ${names} FROM json_populate_recordset(NULL::${table}, ${quoteLiteral(JSON.stringify(objects))})`;
}

/** `COMMENT ON` for each object, as in `TABLE orders`. */
export function commentStatements(comments: Readonly<Record<string, string>>): string[] {
  return Object.entries(comments).map(([object, text]) => `COMMENT ON ${object} IS ${quoteLiteral(text)}`);
}
