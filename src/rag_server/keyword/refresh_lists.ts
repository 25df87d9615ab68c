import { type SqlSession, transaction } from "../../postgres/sql_session.ts";
import { type IndexRecord, indexTable, listLength, saveProgress } from "./index_record.ts";
import { entrySql, impactOf, termOf } from "./term_sql.ts";

/** Elements of documents' arrays that one transaction sorts: some seconds of work. */
const elementsPerSlice = 4_000_000;
const slicesAtMost = 4_096;

/**
 * Rebuilds the statistics and lists of an index from its documents, one slice of the terms per transaction. It starts
 * at the record's cursor. Writers do not wait: their rows stay in `recent`.
 *
 * @param onShare gets the share of the terms that is done, from 0 to 1
 */
export async function refreshLists(
  session: SqlSession,
  record: IndexRecord,
  onShare: (share: number) => void,
): Promise<void> {
  const slices = await countSlices(session, record);
  const [reached, outOf] = (record.cursor ?? "").split("/").map(Number);
  // another number of slices has other bounds
  const first = reached !== undefined && outOf === slices ? reached : 0;
  for (let slice = first; slice < slices; slice++) {
    await transaction(session, async () => {
      await session.query("SET LOCAL work_mem = '64MB'");
      await refreshSlice(session, record, slice, slices);
      await saveProgress(session, record, record.state, `${slice + 1}/${slices}`);
    });
    onShare((slice + 1) / slices);
  }
}

async function countSlices(session: SqlSession, { id, objects }: IndexRecord): Promise<number> {
  const [row] = await session.query(
    `SELECT count(*), coalesce(avg(length), 0), coalesce(sum(cardinality(terms)), 0) FROM ${objects.documents}`,
  );
  const [documents, averageLength, elements] = (row ?? []).map(Number);
  await session.query(
    `UPDATE ${indexTable} SET documents = $2, average_length = greatest($3::float8, 1), refreshed_at = now() WHERE id = $1`,
    [id, documents ?? 0, averageLength ?? 0],
  );
  return Math.min(Math.max(1, Math.ceil((elements ?? 0) / elementsPerSlice)), slicesAtMost);
}

async function refreshSlice(
  session: SqlSession,
  { objects, baseLength }: IndexRecord,
  slice: number,
  slices: number,
): Promise<void> {
  // hashes fill the range of a bigint evenly
  const bound = (at: number) => (2n ** 64n * BigInt(at)) / BigInt(slices) - 2n ** 63n;
  const from = bound(slice);
  const to = bound(slice + 1) - 1n;
  const { documents, lists, recent } = objects;
  const term = termOf("e");
  // the array is sorted, so the slice's elements are next to each other, with maybe one too many at the end
  const elements = `d.terms[width_bucket(${from}, d.terms) : width_bucket(${to}, d.terms) + 1]`;
  await session.query(`DELETE FROM ${lists} WHERE term BETWEEN ${from} AND ${to}`);
  // one statement, so that what leaves `recent` is what the lists were made with, or of documents that are gone
  await session.query(`WITH settled AS (DELETE FROM ${recent} WHERE term BETWEEN ${from} AND ${to})
    INSERT INTO ${lists} (term, df, floor, entries)
    SELECT g.term, g.df, CASE WHEN g.df > ${listLength} THEN ${
    impactOf(`g.entries[${listLength}]`)
  } ELSE 0 END,
      g.entries[1:${listLength}]
    FROM (
      SELECT s.term, count(*) AS df, array_agg(s.entry) AS entries
      FROM (SELECT ${term} AS term, ${entrySql("e", "d.length", "d.doc", baseLength)} AS entry
        FROM ${documents} d CROSS JOIN LATERAL unnest(${elements}) e
        WHERE ${term} BETWEEN ${from} AND ${to} ORDER BY 1, 2 DESC) s
      GROUP BY s.term) g`);
}
