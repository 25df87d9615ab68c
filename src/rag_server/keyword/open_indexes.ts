import type { Logger } from "../../core/logger.ts";
import type { Database } from "../../postgres/database.ts";
import { basesSql } from "../search/vector_index.ts";
import { readJson } from "../checks/check.ts";
import { ownSchema } from "./index_record.ts";
import { policyName } from "./index_readers.ts";

/** A keyword index that tells roles of rows that row-level security hides from them. Names are quoted for SQL. */
export interface OpenIndex {
  readonly source: string;
  readonly roles: readonly string[];
  /** SQL */
  readonly remedy: string;
}

/**
 * The indexes of a table, or of those that a view reads, that an earlier version made and that are open to roles which
 * policies hold.
 *
 * @param relation the table or view, as SQL
 * @throws {AppError} where the catalog cannot be read
 */
export async function openIndexes(
  database: Database,
  relation: string,
  signal: AbortSignal,
): Promise<OpenIndex[]> {
  const found = await readJson<{ source: string; tables: string[]; roles: string[] }[]>(
    database,
    signal,
    openSql,
    [
      relation,
    ],
  );
  return (found ?? []).map(({ source, tables, roles }) => ({
    source,
    roles,
    remedy: `REVOKE SELECT ON ${tables.join(", ")} FROM ${roles.join(", ")};`,
  }));
}

/** Tells the log of the {@linkcode openIndexes} of tables. */
export async function warnOfOpenIndexes(
  database: Database,
  relations: readonly string[],
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (const relation of relations) {
    for (const { source, roles, remedy } of await openIndexes(database, relation, signal)) {
      logger.warn("A keyword index tells roles of rows that row-level security hides from them", {
        database: database.name,
        table: source,
        roles: roles.join(", "),
        remedy,
      });
    }
  }
}

// by the triggers, since the role may not be able to read what Postern keeps of its indexes
const openSql = `${basesSql("to_regclass($1)")}, open AS (
  SELECT format('%I.%I', sn.nspname, s.relname) AS source, format('%I.%I', n.nspname, x.relname) AS name,
    CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END AS role
  FROM bases JOIN pg_class s USING (oid) JOIN pg_namespace sn ON sn.oid = s.relnamespace
  JOIN pg_trigger t ON t.tgrelid = s.oid JOIN pg_proc f ON f.oid = t.tgfoid AND f.proname ~ '^keyword_[0-9]+_maintain$'
  JOIN pg_namespace n ON n.oid = f.pronamespace AND n.nspname = '${ownSchema}'
  JOIN pg_class x ON x.relnamespace = n.oid
    AND x.relname ~ ('^' || replace(f.proname, 'maintain', '(documents|lists|recent)') || '$') AND x.relkind = 'r'
  CROSS JOIN LATERAL aclexplode(x.relacl) g LEFT JOIN pg_roles r ON r.oid = g.grantee
  WHERE s.relrowsecurity AND g.privilege_type = 'SELECT' AND g.grantee <> x.relowner
    AND NOT coalesce(r.rolsuper OR r.rolbypassrls, false)
    AND NOT (x.relrowsecurity AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = x.oid AND p.polname = '${policyName}'))
)
SELECT coalesce(json_agg(o), '[]') FROM (
  SELECT source, json_agg(DISTINCT name) AS tables, json_agg(DISTINCT role) AS roles FROM open GROUP BY 1) o`;
