import { identifierSql, type SqlText } from "../../postgres/sql_text.ts";
import type { ColumnType } from "../search/column_type.ts";

export interface FoundColumn {
  /** As SQL. */
  readonly column: SqlText;
  readonly type: ColumnType;
  /** The way into a JSON column; empty for a column itself. */
  readonly keys: readonly string[];
}

/**
 * The column that a condition names: by its exact name, else as a path into a JSON column. A path is `meta.owner.name`
 * or `meta->'owner'->>'name'`, with or without the quotes; a number is a place in a JSON array.
 */
export function findColumn(
  reference: string,
  columns: ReadonlyMap<string, ColumnType>,
): FoundColumn | undefined {
  const exact = columns.get(reference);
  if (exact !== undefined) {
    return { column: identifierSql(reference), type: exact, keys: [] };
  }
  const [name = "", ...keys] = reference.includes("->")
    ? reference.split(/->>?/).map((part) => part.trim().replace(/^'(.*)'$/, "$1"))
    : reference.split(".");
  const type = columns.get(name);
  const isPath = type?.kind === "json" && keys.length > 0 &&
    keys.every((key) => key !== "" && !key.includes("\0"));
  return isPath ? { column: identifierSql(name), type, keys } : undefined;
}
