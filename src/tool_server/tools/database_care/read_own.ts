import type { Database } from "../../../postgres/database.ts";
import type { Row } from "../../../postgres/read/portal.ts";
import type { CallContext } from "../../call_context.ts";

type OwnRows =
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

/** A table that the caller reads, and in which row-level security holds it; none of Postern's own, of which it sees all or none. */
export const heldTableSql = `(select format('%I.%I', n.nspname, c.relname)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relrowsecurity and row_security_active(c.oid) and n.nspname <> 'postern'
    and has_schema_privilege(n.oid, 'USAGE') and has_any_column_privilege(c.oid, 'SELECT')
  order by 1 limit 1)`;

/** Why statistics are kept from such a caller: PostgreSQL counts all rows and everyone's statements in them. */
export function whyNoStatistics(heldTable: string): string {
  return `row-level security holds you in ${heldTable}, and this counts rows of others too; ` +
    "ask as a role that no policy holds (BYPASSRLS)";
}
