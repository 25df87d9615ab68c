import { type SqlSession, transaction, withoutWaitingWriters } from "../../postgres/sql_session.ts";
import { type IndexRecord, indexTable, saveProgress } from "./index_record.ts";
import { type IndexSource, textAndConfigSql } from "./index_source.ts";
import { documentSql } from "./term_sql.ts";

interface CopyOptions {
  readonly batchRows: number;
  /** Gets how many rows of the source have been read. */
  readonly onDone: (rows: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Brings the documents of an index in step with its source. Rows that it lacks are added, in order of id and in short
 * transactions, from the record's cursor on. The triggers must be there: a row that a writer changes meanwhile is the writer's.
 */
export async function copyDocuments(
  session: SqlSession,
  record: IndexRecord,
  source: IndexSource,
  options: CopyOptions,
): Promise<IndexRecord> {
  let current = record;
  if (record.state !== "lists") {
    await copyRows(session, record, source, options);
    await noteConfigs(session, record, source);
    // an index that was ready continues to answer
    current = { ...record, state: record.state === "ready" ? "ready" : "lists", cursor: undefined };
    await saveProgress(session, record, current.state, null);
  }
  // rows that were deleted while the copy read them, or with a partition, which no trigger sees
  await session.query(`DELETE FROM ${record.objects.documents} d
    WHERE NOT EXISTS (SELECT FROM ${source.table} s WHERE s.${source.idColumn} = d.key)`);
  return current;
}

async function copyRows(
  session: SqlSession,
  record: IndexRecord,
  source: IndexSource,
  { batchRows, onDone, signal }: CopyOptions,
): Promise<void> {
  let { cursor } = record;
  let done = 0;
  if (cursor !== undefined) {
    const countSql = `SELECT count(*) FROM ${record.objects.documents} WHERE key <= $1::${source.keyType}`;
    done = Number((await session.query(countSql, [cursor]))[0]?.[0] ?? 0);
  }
  const copyBatch = async () => {
    const batch = batchSql(record, source, cursor !== undefined, batchRows);
    const [row] = await session.query(batch, cursor === undefined ? [] : [cursor]);
    const [rows, last] = row ?? [];
    if (last) await saveProgress(session, record, record.state, last);
    return [Number(rows), last] as const;
  };
  for (;;) {
    const [rows, last] = await withoutWaitingWriters(signal, () => transaction(session, copyBatch));
    done += rows;
    onDone(done);
    if (rows < batchRows || !last) return;
    cursor = last;
  }
}

/** The next rows: how many there were, and the last one's id. */
function batchSql(record: IndexRecord, source: IndexSource, hasCursor: boolean, rows: number): string {
  const { documents } = record.objects;
  const id = `s.${source.idColumn}`;
  const document = documentSql("b.text", "b.config", record.grams);
  const beyond = hasCursor ? `${id} > $1::${source.keyType}` : `${id} IS NOT NULL`;
  return `WITH batch AS MATERIALIZED (
      SELECT ${id} AS key, ${textAndConfigSql(source)},
        (SELECT d.doc FROM ${documents} d WHERE d.key = ${id}) AS doc
      FROM ${source.table} s WHERE ${beyond} ORDER BY ${id} LIMIT ${rows}
    ), added AS (
      INSERT INTO ${documents} (key, length, terms)
      SELECT b.key, a.length, a.terms FROM batch b CROSS JOIN LATERAL (${document}) a
      WHERE b.doc IS NULL
      ON CONFLICT (key) DO NOTHING
    )
    SELECT count(*), (SELECT b.key::text FROM batch b ORDER BY b.key DESC LIMIT 1) FROM batch`;
}

/** Adds the configurations of the source's rows to the record; that of a table of one is there from the start. */
async function noteConfigs(session: SqlSession, { id }: IndexRecord, source: IndexSource): Promise<void> {
  if (source.configColumn === undefined) return;
  await session.query(
    `UPDATE ${indexTable} SET configs = (SELECT array_agg(DISTINCT c) FROM unnest(configs ||
      ARRAY(SELECT DISTINCT s.config FROM (SELECT ${textAndConfigSql(source)} FROM ${source.table} s) s)) c)
      WHERE id = $1`,
    [id],
  );
}
