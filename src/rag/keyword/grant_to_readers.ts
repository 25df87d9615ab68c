import { indexTable, ownSchema } from "./index_objects.ts";
import type { IndexRecord } from "./index_record.ts";
import type { SqlSession } from "./sql_session.ts";

/** Lets the owner of the source, and whoever may read all of it, read the index. */
export async function grantToReaders(
  session: SqlSession,
  { objects }: IndexRecord,
  oid: number,
): Promise<void> {
  const readers = await session.query(
    `SELECT DISTINCT CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END
    FROM pg_class c CROSS JOIN LATERAL (
      SELECT grantee FROM aclexplode(c.relacl) WHERE privilege_type = 'SELECT' UNION SELECT c.relowner) g
    WHERE c.oid = $1::oid`,
    [oid],
  );
  const tables = [indexTable, objects.documents, objects.lists, objects.recent].join(", ");
  for (const [reader] of readers) {
    await session.query(`GRANT USAGE ON SCHEMA ${ownSchema} TO ${reader}`);
    await session.query(`GRANT SELECT ON ${tables} TO ${reader}`);
  }
}
