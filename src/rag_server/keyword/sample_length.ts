import type { IndexSource } from "./index_objects.ts";
import type { SqlSession } from "../../postgres/sql_session.ts";
import { documentSql } from "./term_sql.ts";
import { rowConfigSql } from "./trigger_sql.ts";

const sampleRows = 2_000;
/** For a table that is still empty: that of an abstract. */
const usualLength = 100;

/**
 * The average length of a table's texts, in words, from a sample. Impacts are computed with it from the first document
 * on, so that a document's postings can be found again later.
 */
export async function sampleLength(session: SqlSession, source: IndexSource): Promise<number> {
  const [row] = await session.query(`SELECT avg(a.length)
    FROM (SELECT s.${source.textColumn}::text AS text, ${rowConfigSql(source, "s")} AS config
      FROM ${source.table} s LIMIT ${sampleRows}) t
    CROSS JOIN LATERAL (${documentSql("t.text", "t.config")}) a`);
  return Math.max(1, Math.round(Number(row?.[0] ?? usualLength)));
}
