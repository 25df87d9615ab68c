import { lockingTransaction, type SqlSession } from "../../postgres/sql_session.ts";
import { type IndexRecord, indexTable, ownSchema } from "./index_record.ts";
import type { IndexSource } from "./index_source.ts";

/** Of the policy that keeps everyone else from an index. */
const policyName = "readers_of_all_rows";

/**
 * Opens an index to who may read every row of its source, and to nobody else: its lists tell of all rows, and each of its
 * documents of the words in one. A policy asks anew in each statement, so that whoever row-level security holds from now
 * on reads nothing here, whatever was granted before.
 *
 * @throws {AppError} `upstream` for what the server refuses
 */
export async function openToReaders(
  session: SqlSession,
  record: IndexRecord,
  source: IndexSource,
  signal: AbortSignal,
): Promise<void> {
  await installPolicy(session, record, signal);
  await grantToReaders(session, record, source);
}

async function installPolicy(session: SqlSession, { id, objects }: IndexRecord, signal: AbortSignal) {
  for (const table of [objects.documents, objects.lists, objects.recent]) {
    const [installed] = await session.query(
      `SELECT 1 FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
        WHERE c.oid = $1::regclass AND c.relrowsecurity AND p.polname = '${policyName}'`,
      [table],
    );
    if (installed !== undefined) continue;
    // one table at a time: a writer may hold another
    await lockingTransaction(session, signal, async () => {
      await session.query(`DROP POLICY IF EXISTS ${policyName} ON ${table}`);
      // a policy that named the source itself would keep it from being dropped
      await session.query(`CREATE POLICY ${policyName} ON ${table} FOR SELECT USING (EXISTS (
        SELECT FROM ${indexTable} i WHERE i.id = ${id} AND has_table_privilege(i.source::oid, 'SELECT')
          AND NOT row_security_active(i.source::oid)))`);
      await session.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
    });
  }
}

async function grantToReaders(
  session: SqlSession,
  { objects }: IndexRecord,
  { oid, hasRowSecurity }: IndexSource,
): Promise<void> {
  const readers = await session.query(hasRowSecurity ? unheldSql : grantedSql, [oid]);
  const tables = [objects.documents, objects.lists, objects.recent].join(", ");
  const wanted = new Set(readers.map(([reader]) => reader));
  for (const [former] of await session.query(granteesSql, [objects.documents])) {
    if (wanted.has(former)) continue;
    await session.query(`REVOKE SELECT ON ${tables} FROM ${former}`);
    const [other] = await session.query(
      `SELECT 1 FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) g
      WHERE c.relnamespace = '${ownSchema}'::regnamespace AND c.relname ~ '^keyword_[0-9]+_lists$'
        AND ${readerSql} = $1 LIMIT 1`,
      [former ?? null],
    );
    if (other === undefined) await session.query(`REVOKE SELECT ON ${indexTable} FROM ${former}`);
  }
  for (const reader of wanted) {
    await session.query(`GRANT USAGE ON SCHEMA ${ownSchema} TO ${reader}`);
    await session.query(`GRANT SELECT ON ${indexTable}, ${tables} TO ${reader}`);
  }
}

const readerSql = "CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END";

/** The owner of a table, $1, and who was given the right to read it. */
const grantedSql = `SELECT DISTINCT ${readerSql}
  FROM pg_class c CROSS JOIN LATERAL (
    SELECT grantee FROM aclexplode(c.relacl) WHERE privilege_type = 'SELECT' UNION SELECT c.relowner) g
  WHERE c.oid = $1::oid`;

/**
 * Of the roles that may read a table, $1, those that no policy holds: its owner, and those with BYPASSRLS who were given
 * the right, maybe as members of another role. Superusers need no right.
 */
const unheldSql = `SELECT quote_ident(r.rolname) FROM pg_class c CROSS JOIN pg_roles r
  WHERE c.oid = $1::oid AND (r.oid = c.relowner AND (r.rolbypassrls OR NOT c.relforcerowsecurity)
    OR r.rolbypassrls AND NOT r.rolsuper AND EXISTS (SELECT FROM aclexplode(c.relacl) g
      WHERE g.privilege_type = 'SELECT' AND g.grantee <> 0 AND pg_has_role(r.oid, g.grantee, 'USAGE')))`;

/** Who was given the right to read an index's table, $1. */
const granteesSql = `SELECT DISTINCT ${readerSql}
  FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) g
  WHERE c.oid = $1::regclass AND g.privilege_type = 'SELECT' AND g.grantee <> c.relowner`;
