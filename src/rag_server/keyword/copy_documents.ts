import { type IndexSource, indexTable } from "./index_objects.ts";
import { type IndexRecord, saveProgress } from "./index_record.ts";
import type { SourceFacts } from "./inspect_source.ts";
import { type SqlSession, transaction, withoutWaitingWriters } from "../../postgres/sql_session.ts";
import { documentSql } from "./term_sql.ts";
import { rowConfigSql } from "./trigger_sql.ts";

interface CopyOptions {
  readonly batchRows: number;
  /** Gets how many rows of the source have been read. */
  readonly onDone: (rows: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Adds the rows of the source that the index lacks, in order of id and in short transactions, from the record's cursor
 * on; where the index is of an older format, it reads the words of the others anew. The triggers must be there: a row
 * that a writer changes meanwhile is the writer's.
 */
export async function copyDocuments(
  session: SqlSession,
  record: IndexRecord,
  facts: SourceFacts,
  { batchRows, onDone, signal }: CopyOptions,
): Promise<IndexRecord> {
  if (record.state === "lists") return record;
  let cursor = record.cursor;
  let done = cursor === undefined ? 0 : await countCopied(session, record, facts.keyType, cursor);
  const copyBatch = async () => {
    const batch = batchSql(record, facts, cursor === undefined ? undefined : "$1", batchRows);
    const [row] = await session.query(batch, cursor === undefined ? [] : [cursor]);
    const [rows, last] = row ?? [];
    if (last) await saveProgress(session, record, record.state, last);
    return [Number(rows), last] as const;
  };
  for (;;) {
    const [rows, last] = await withoutWaitingWriters(signal, () => transaction(session, copyBatch));
    done += rows;
    onDone(done);
    if (rows < batchRows || !last) break;
    cursor = last;
  }
  await noteConfigs(session, record, facts.source);
  // one that was ready goes on answering
  const state = record.state === "ready" ? "ready" : "lists";
  await saveProgress(session, record, state, null);
  return { ...record, state, cursor: undefined };
}

function batchSql(
  record: IndexRecord,
  { source, keyType }: SourceFacts,
  cursor: string | undefined,
  rows: number,
): string {
  const { documents } = record.objects;
  const id = `s.${source.idColumn}`;
  const beyond = cursor === undefined ? `${id} IS NOT NULL` : `${id} > ${cursor}::${keyType}`;
  const words = `CROSS JOIN LATERAL (${documentSql("b.text", "b.config")}) a`;
  return `WITH batch AS MATERIALIZED (
      SELECT ${id} AS key, s.${source.textColumn}::text AS text, ${rowConfigSql(source, "s")} AS config,
        (SELECT d.doc FROM ${documents} d WHERE d.key = ${id}) AS doc
      FROM ${source.table} s WHERE ${beyond} ORDER BY ${id} LIMIT ${rows}
    ), added AS (
      INSERT INTO ${documents} (key, length, terms)
      SELECT b.key, a.length, a.terms FROM batch b ${words} WHERE b.doc IS NULL
      ON CONFLICT (key) DO NOTHING
    )${record.isOld ? `, ${renewalSql(documents, words)}` : ""}
    SELECT count(*), (SELECT b.key::text FROM batch b ORDER BY b.key DESC LIMIT 1) FROM batch`;
}

/**
 * Gives documents their words as they are now, and keeps their numbers, by which the lists know them. It never waits for
 * a writer, who might wait for it, and leaves alone what a writer has changed since: that has another number.
 */
function renewalSql(documents: string, words: string): string {
  return `fresh AS MATERIALIZED (
      SELECT b.doc, a.length, a.terms FROM batch b ${words} WHERE b.doc IS NOT NULL
    ), held AS MATERIALIZED (
      SELECT d.doc, f.length, f.terms FROM fresh f JOIN ${documents} d ON d.doc = f.doc
      WHERE d.terms <> f.terms FOR UPDATE OF d NOWAIT
    ), renewed AS (
      UPDATE ${documents} d SET length = h.length, terms = h.terms FROM held h WHERE d.doc = h.doc
    )`;
}

async function countCopied(
  session: SqlSession,
  { objects }: IndexRecord,
  keyType: string,
  cursor: string,
): Promise<number> {
  const [row] = await session.query(
    `SELECT count(*) FROM ${objects.documents} WHERE key <= $1::${keyType}`,
    [cursor],
  );
  return Number(row?.[0] ?? 0);
}

// a table of one configuration has it in its record from the start
async function noteConfigs(session: SqlSession, { id }: IndexRecord, source: IndexSource): Promise<void> {
  if (source.configColumn === undefined) return;
  await session.query(
    `UPDATE ${indexTable} SET configs = (SELECT array_agg(DISTINCT c) FROM unnest(configs ||
      ARRAY(SELECT DISTINCT ${rowConfigSql(source, "s")} FROM ${source.table} s)) c) WHERE id = $1`,
    [id],
  );
}

/**
 * Takes out documents whose row is gone: one that was deleted while the copy read it, or with a partition, which no
 * trigger sees.
 */
export async function dropOrphans(
  session: SqlSession,
  { objects }: IndexRecord,
  source: IndexSource,
): Promise<void> {
  await session.query(`DELETE FROM ${objects.documents} d
    WHERE NOT EXISTS (SELECT FROM ${source.table} s WHERE s.${source.idColumn} = d.key)`);
}
