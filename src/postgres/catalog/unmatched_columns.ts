import { serverItself } from "../../core/principal.ts";
import { AppError } from "../../core/app_error.ts";
import type { Database } from "../database.ts";
import { createColumnPatterns } from "./private_columns.ts";
import { didYouMean } from "../../core/near_name.ts";

/** One row for each table and view that a reader may be shown: schema, name, and its columns as JSON. */
const columnsQuery = `
SELECT n.nspname, c.relname, json_agg(a.attname)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
GROUP BY n.nspname, c.relname`;

/**
 * A warning for each pattern of `llm.excluded_columns` that matches no column of any of the databases: what it was to hide
 * is not hidden.
 *
 * @throws {AppError} `unavailable` where a database cannot be read
 */
export async function unmatchedColumnWarnings(
  patterns: readonly string[],
  databases: readonly Database[],
  signal: AbortSignal,
): Promise<string[]> {
  if (patterns.length === 0 || databases.length === 0) return [];
  const relations = (await Promise.all(databases.map((database) => readColumns(database, signal)))).flat();
  return patterns.flatMap((pattern, index) => {
    const matches = createColumnPatterns([pattern]);
    if (relations.some((relation) => relation.columns.some((column) => matches(relation, column)))) return [];
    const hint = didYouMean(pattern.split(".").at(-1) ?? "", relations.flatMap(({ columns }) => columns));
    return [
      `llm.excluded_columns[${index}] ${JSON.stringify(pattern)} matches no column of any database${hint}`,
    ];
  });
}

async function readColumns(database: Database, signal: AbortSignal) {
  const result = await database.read({ principal: serverItself, trusted: true, sql: columnsQuery, signal });
  if (!result.ok) {
    throw new AppError(
      "unavailable",
      `Cannot read from database "${database.name}": ${result.error.message}`,
    );
  }
  return result.rows.map(([schema, name, columns]) => ({
    schema: schema ?? "",
    name: name ?? "",
    columns: JSON.parse(columns ?? "[]") as string[],
  }));
}
