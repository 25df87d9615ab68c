import { indexTable, ownSchema } from "./index_objects.ts";
import type { IndexRecord } from "./index_record.ts";
import type { SqlSession } from "../../postgres/sql_session.ts";

/** Lets the owner of the source, and whoever may read all of it, read the index, and nobody else. */
export async function grantToReaders(
  session: SqlSession,
  { objects }: IndexRecord,
  oid: number,
): Promise<void> {
  const readers = await session.query(
    `SELECT DISTINCT ${readerSql}
    FROM pg_class c CROSS JOIN LATERAL (
      SELECT grantee FROM aclexplode(c.relacl) WHERE privilege_type = 'SELECT' UNION SELECT c.relowner) g
    WHERE c.oid = $1::oid`,
    [oid],
  );
  const tables = [objects.documents, objects.lists, objects.recent].join(", ");
  const wanted = new Set(readers.map(([reader]) => reader));
  for (const [former] of await session.query(granteesSql, [objects.documents])) {
    if (!wanted.has(former)) await session.query(`REVOKE SELECT ON ${tables} FROM ${former}`);
  }
  for (const reader of wanted) {
    await session.query(`GRANT USAGE ON SCHEMA ${ownSchema} TO ${reader}`);
    await session.query(`GRANT SELECT ON ${indexTable}, ${tables} TO ${reader}`);
  }
}

const readerSql = "CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END";

const granteesSql = `SELECT DISTINCT ${readerSql}
  FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) g
  WHERE c.oid = $1::regclass AND g.privilege_type = 'SELECT' AND g.grantee <> c.relowner`;
