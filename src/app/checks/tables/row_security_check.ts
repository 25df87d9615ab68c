import type { Database } from "../../../postgres/database.ts";
import type { DatabaseOptions } from "../../../postgres/database_options.ts";
import { type CallerOptions, isReadAsCallers } from "../../../postgres/read/caller_settings.ts";
import {
  type IsolationFault,
  isolationFaults,
  rolesOf,
} from "../../../rag_server/row_security/isolation_faults.ts";
import { readRows } from "../../../postgres/read/read_trusted.ts";
import { arrayText } from "../../../postgres/sql_text.ts";
import { findRelation } from "../../../rag_server/search/document_table.ts";
import { type Check, createCheck, error } from "../check.ts";

/** Whether PostgreSQL's policies hold all who read from a pipeline; nothing where rows do not depend on the caller. */
export function rowSecurityChecks(
  database: Database,
  options: DatabaseOptions,
  tables: readonly string[],
): Check[] {
  if (!isReadAsCallers(options)) return [];
  return [createCheck("row-level security", async (signal) => {
    const faults = await isolationFaults(database, tables, rolesOf(options), signal);
    const unread = await readingFaults(database, tables, options, signal);
    return [
      ...faults.map(({ message, remedy }) => error(`The pipeline does not serve: ${message}`, remedy)),
      ...unread.map(({ message, remedy }) =>
        error(`Every question of its callers fails: ${message}`, remedy)
      ),
    ];
  })];
}

/**
 * Which roles that callers' claims may name may not read the tables, so that every question of theirs fails. A role or a
 * table that does not exist has no fault here.
 *
 * @param tables as they are configured
 * @throws {AppError} where the catalog cannot be read
 */
export async function readingFaults(
  database: Database,
  tables: readonly string[],
  { roleFromClaim, allowedRoles = [] }: Pick<CallerOptions, "roleFromClaim" | "allowedRoles">,
  signal: AbortSignal,
): Promise<IsolationFault[]> {
  if (roleFromClaim === undefined || allowedRoles.length === 0) return [];
  const read = (text: string, parameters: readonly string[] = []) =>
    readRows(database, signal, text, parameters);
  const ofTables = await Promise.all([...new Set(tables)].map(async (table) => {
    const found = await findRelation(read, table);
    return found === undefined ? [] : await read(rightsSql, [found.oid, arrayText(allowedRoles)]);
  }));
  return ofTables.flat().map(([role, relation, schema, mayUse, mayRead]) => ({
    message: `role ${role} of allowed_roles may not read ${relation}`,
    remedy: [
      ...(mayUse === "t" ? [] : [`GRANT USAGE ON SCHEMA ${schema} TO ${role};`]),
      ...(mayRead === "t" ? [] : [`GRANT SELECT ON ${relation} TO ${role};`]),
    ].join("\n"),
  }));
}

// some columns are enough: which of them a search needs, the checks of the table tell
const rightsSql = `SELECT * FROM (
  SELECT quote_ident(r.rolname), format('%I.%I', n.nspname, c.relname), quote_ident(n.nspname),
    has_schema_privilege(r.oid, n.oid, 'USAGE') AS may_use, has_any_column_privilege(r.oid, c.oid, 'SELECT') AS may_read
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, pg_roles r
  WHERE c.oid = $1 AND r.rolname = ANY($2::text[])
) rights WHERE NOT (may_use AND may_read) ORDER BY 1`;
