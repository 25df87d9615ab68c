import type { IndexSource } from "./index_objects.ts";
import { indexTable } from "./index_objects.ts";
import { type IndexRecord, saveProgress } from "./index_record.ts";
import type { SourceFacts } from "./inspect_source.ts";
import type { SqlSession } from "./sql_session.ts";
import { documentSql } from "./term_sql.ts";
import { transaction } from "./transaction.ts";
import { rowConfigSql } from "./trigger_sql.ts";

interface CopyOptions {
  readonly batchRows: number;
  /** Gets how many rows of the source have been read. */
  readonly onDone: (rows: number) => void;
}

/**
 * Adds the rows of the source that the index lacks, in order of id and in short transactions, from the record's cursor
 * on. The triggers must be there: a row that a writer changes meanwhile is the writer's.
 */
export async function copyDocuments(
  session: SqlSession,
  record: IndexRecord,
  facts: SourceFacts,
  { batchRows, onDone }: CopyOptions,
): Promise<IndexRecord> {
  if (record.state === "lists") return record;
  let cursor = record.cursor;
  let done = cursor === undefined ? 0 : await countCopied(session, record, facts.keyType, cursor);
  for (;;) {
    const batch = batchSql(record, facts, cursor === undefined ? undefined : "$1", batchRows);
    const [rows, last] = await transaction(session, async () => {
      const [row] = await session.query(batch, cursor === undefined ? [] : [cursor]);
      const [rows, last] = row ?? [];
      if (last) await saveProgress(session, record, record.state, last);
      return [Number(rows), last] as const;
    });
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
  { objects }: IndexRecord,
  { source, keyType }: SourceFacts,
  cursor: string | undefined,
  rows: number,
): string {
  const id = `s.${source.idColumn}`;
  const beyond = cursor === undefined ? `${id} IS NOT NULL` : `${id} > ${cursor}::${keyType}`;
  return `WITH batch AS MATERIALIZED (
      SELECT ${id} AS key, s.${source.textColumn}::text AS text, ${rowConfigSql(source, "s")} AS config
      FROM ${source.table} s WHERE ${beyond} ORDER BY ${id} LIMIT ${rows}
    ), added AS (
      INSERT INTO ${objects.documents} (key, length, terms)
      SELECT b.key, a.length, a.terms FROM batch b CROSS JOIN LATERAL (${documentSql("b.text", "b.config")}) a
      WHERE NOT EXISTS (SELECT FROM ${objects.documents} d WHERE d.key = b.key)
      ON CONFLICT (key) DO NOTHING
    )
    SELECT count(*), (SELECT b.key::text FROM batch b ORDER BY b.key DESC LIMIT 1) FROM batch`;
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
