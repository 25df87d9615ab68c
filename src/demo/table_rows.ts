import { quoteLiteral } from "../postgres/sql_text.ts";

export type Value = string | number | boolean | null | readonly string[] | Readonly<Record<string, unknown>>;

/** Rows of one table, in the order of `columns`, whose names are apart by spaces. */
export interface TableRows {
  readonly table: string;
  readonly columns: string;
  readonly rows: readonly (readonly Value[])[];
}

/** One JSON text for all rows: PostgreSQL takes it faster than a list of VALUES. */
export function insertStatement({ table, columns, rows }: TableRows): string {
  const names = columns.split(" ");
  const objects = rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
  const list = names.join(", ");
  return `INSERT INTO ${table} (${list})
SELECT ${list} FROM json_populate_recordset(NULL::${table}, ${quoteLiteral(JSON.stringify(objects))})`;
}

/** `COMMENT ON` for each object, as in `TABLE orders`. */
export function commentStatements(comments: Readonly<Record<string, string>>): string[] {
  return Object.entries(comments).map(([object, text]) => `COMMENT ON ${object} IS ${quoteLiteral(text)}`);
}
