import type { IndexObjects, IndexSource } from "./index_objects.ts";
import { type SqlSession, transaction } from "../../postgres/sql_session.ts";

/**
 * Gives an index's documents the row-level security of their source: a reader sees the documents whose rows the reader
 * sees. The lists of words have no such bound: whoever may read the source at all can learn from them whether a word
 * occurs in any row, and in how many, though not in which.
 */
export async function followRowSecurity(
  session: SqlSession,
  objects: IndexObjects,
  source: IndexSource,
): Promise<void> {
  const { documents, visibleFunction } = objects;
  // a policy that named the source itself would keep it from being dropped, or its id from being altered
  await session.query(`CREATE OR REPLACE FUNCTION ${visibleFunction}(${documents}.key%TYPE) RETURNS bool
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
    AS $visible$BEGIN RETURN EXISTS (SELECT FROM ${source.table} s WHERE s.${source.idColumn} = $1); END$visible$`);
  const [row] = await session.query("SELECT relrowsecurity FROM pg_class WHERE oid = $1::regclass", [
    documents,
  ]);
  if (row?.[0] === "t") return;
  await transaction(session, async () => {
    await session.query(`CREATE POLICY as_in_source ON ${documents} FOR SELECT
      USING (${visibleFunction}(key))`);
    await session.query(`ALTER TABLE ${documents} ENABLE ROW LEVEL SECURITY`);
  });
}
