import type { Database, ReadRequest, ReadResult } from "../database.ts";

/**
 * Runs EXPLAIN with the options given on a caller's statement, which is guarded with it. The place of an error counts
 * in the statement, not in what is put before it.
 *
 * @throws {AppError} as `Database.read`
 */
export async function explainStatement(
  database: Database,
  { options, sql, ...request }:
    & Pick<ReadRequest, "principal" | "sql" | "signal">
    & { readonly options: readonly string[] },
): Promise<ReadResult> {
  const prefix = `EXPLAIN (${options.join(", ")}) `;
  const outcome = await database.read({ ...request, sql: prefix + sql });
  if (outcome.ok || outcome.error.position === undefined) return outcome;
  const { position, line, ...error } = outcome.error;
  const isInStatement = position > prefix.length;
  return {
    ok: false,
    error: {
      ...error,
      ...(isInStatement && { position: position - prefix.length, ...(line !== undefined && { line }) }),
    },
  };
}
