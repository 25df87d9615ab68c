import type { Database } from "../../../postgres/database.ts";
import type { Row } from "../../../postgres/read/portal.ts";
import type { CallContext } from "../../call_context.ts";

export type OwnRows =
  | { readonly ok: true; readonly rows: readonly Row[] }
  | { readonly ok: false; readonly reason: string };

/** More than any of our statements needs. */
const maxBytes = 32 * 1_048_576;

/**
 * Runs a statement of ours with the caller's role. Its names need no schema: the search_path holds `pg_catalog` alone.
 *
 * @throws {AppError} `unavailable` where there is no connection, and the signal's reason where the caller left
 */
export async function readOwn(
  database: Database,
  { principal, signal, span }: Pick<CallContext, "principal" | "signal" | "span">,
  sql: string,
  parameters: readonly (string | null)[] = [],
): Promise<OwnRows> {
  const result = await database.read({
    principal,
    signal,
    span,
    sql,
    parameters,
    trusted: true,
    maxBytes,
    // nothing of a caller's stands before the system's own names
    settings: { search_path: "pg_catalog, pg_temp" },
  });
  if (result.ok) return { ok: true, rows: result.rows };
  signal.throwIfAborted();
  return { ok: false, reason: result.error.message };
}
