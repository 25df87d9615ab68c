import { AppError } from "../../core/app_error.ts";
import type { Connection } from "../../postgres/connection.ts";
import {
  createSqlSession,
  lockingTransaction,
  type SqlSession,
  transaction,
  withLock,
} from "../../postgres/sql_session.ts";
import { nameInMessage } from "../../postgres/sql_text.ts";
import { copyDocuments } from "./copy_documents.ts";
import {
  createRecord,
  findRecord,
  indexFormat,
  type IndexRecord,
  indexTable,
  listLength,
  markReady,
  refuseNewerIndex,
  saveProgress,
  schemaSql,
} from "./index_record.ts";
import {
  type IndexSource,
  inspectSource,
  keyMatchesSql,
  type KeywordIndexRequest,
  textAndConfigSql,
} from "./index_source.ts";
import { openToReaders } from "./index_readers.ts";
import { documentSql, entrySql, impactOf, termOf } from "./term_sql.ts";
import { triggerFunctionSql, triggerSql } from "./trigger_sql.ts";

export interface BuildProgress {
  readonly phase: "documents" | "lists";
  /** In documents for both phases. */
  readonly done: number;
  /** As counted when the phase began: where others write meanwhile, `done` may come to more. */
  readonly total: number;
}

export interface BuildKeywordIndexOptions extends KeywordIndexRequest {
  /**
   * Has a role that owns the table or may make triggers on it, and may create a schema. Not used by others meanwhile.
   */
  readonly connection: Connection;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: BuildProgress) => void;
  /** Told of an unfinished index that the run goes on with, and of one that it leaves, a sentence each. */
  readonly onNote?: (note: string) => void;
  /** Documents in one transaction. */
  readonly batchRows?: number;
  /** How long to wait for another process to end. */
  readonly lockPatienceMs?: number;
}

export interface BuiltKeywordIndex {
  readonly id: number;
  readonly documents: number;
}

/**
 * Builds Postern's own keyword index of a table, continues a build that was stopped, or brings a finished index up to
 * date: it adds missing rows, removes deleted ones, and refreshes the index.  Readers and writers of the table go on; the triggers wait for writers' transactions
 * to end, a second at a time.
 *
 * @throws {AppError} `invalid` for a table that cannot be indexed, `conflict` where another process builds this index,
 * or it was made for other columns or by a newer version, `upstream` for what the server refuses; the signal's reason where
 * that aborts, and a later call then goes on
 */
export async function buildKeywordIndex(options: BuildKeywordIndexOptions): Promise<BuiltKeywordIndex> {
  const { connection, signal, onProgress = () => {}, onNote = () => {}, batchRows = 1_000 } = options;
  const purpose = `index the keywords of ${nameInMessage(options.table)}`;
  const session = createSqlSession(connection, signal, purpose);
  const source = await inspectSource(session, options);
  return await asOnlyBuilder(session, source.oid, options, async () => {
    const opened = await openRecord(session, options, source);
    const { documents, lists, recent } = opened.objects;
    const tables = [documents, lists, recent];
    if (opened.cursor !== undefined || opened.state === "lists") {
      onNote(`goes on with the keyword index that an earlier run left unfinished, in ${tables.join(", ")}`);
    }
    try {
      // the planner's guess may be as old as the table, and counting is little beside reading
      const total = await countRows(session, `${source.table} WHERE ${source.idColumn} IS NOT NULL`);
      const record = await copyDocuments(session, opened, source, {
        batchRows,
        signal,
        onDone: (done) => onProgress({ phase: "documents", done, total }),
      });
      const count = await countRows(session, documents);
      await refreshLists(
        session,
        record,
        (share) => onProgress({ phase: "lists", done: Math.round(share * count), total: count }),
      );
      await markReady(session, record);
      // gives the planner the tables' sizes, and makes `recent` readable from its index alone
      for (const table of tables) await session.query(`VACUUM (ANALYZE) ${table}`);
      return { id: record.id, documents: count };
    } catch (error) {
      if (opened.state !== "ready") {
        onNote(
          `the keyword index is left as it is, in ${tables.join(", ")}: the next run goes on with it, ` +
            "-drop-index drops it",
        );
      }
      throw error;
    }
  });
}

/** @param from what stands behind FROM, as SQL */
async function countRows(session: SqlSession, from: string): Promise<number> {
  const [row] = await session.query(`SELECT count(*) FROM ${from}`);
  return Number(row?.[0] ?? 0);
}

/**
 * Runs `work` while no other session builds or drops an index of this table, which it waits for a little.
 *
 * @throws {AppError} `conflict` where one goes on
 */
export async function asOnlyBuilder<T>(
  session: SqlSession,
  oid: number,
  { table, lockPatienceMs }: { readonly table: string; readonly lockPatienceMs?: number | undefined },
  work: () => Promise<T>,
): Promise<T> {
  const key = `hashtextextended('postern keyword index', ${oid})`;
  const purpose = `index the keywords of ${nameInMessage(table)}`;
  const reason = `Cannot ${purpose}: another process is indexing them; try again when that has ended`;
  return await withLock(session, { key, reason, patienceMs: lockPatienceMs }, async () => {
    try {
      // rather fail than index only the rows that this role may see
      await session.query("SET row_security = off");
      return await work();
    } finally {
      await session.restore("RESET row_security");
    }
  });
}

async function openRecord(
  session: SqlSession,
  options: BuildKeywordIndexOptions,
  source: IndexSource,
): Promise<IndexRecord> {
  for (const statement of schemaSql) await session.query(statement);
  let record = await findRecord(session, source.oid, options.textColumn);
  if (record === undefined) {
    await createRecord(session, options, source);
    record = await findRecord(session, source.oid, options.textColumn);
  }
  if (record === undefined) {
    throw new AppError(
      "conflict",
      "Cannot index keywords: another process dropped the index meanwhile; try again",
    );
  }
  refuseNewerIndex(record.format, `renew the keyword index of ${nameInMessage(options.table)}`);
  // before all that row-level security may keep this role from
  await openToReaders(session, record, source, options.signal);
  await refuseOtherShape(session, options, record, source);
  if (record.state === "new") {
    const baseLength = await sampleLength(session, source);
    return await installTrigger(session, { ...record, baseLength }, source, options.signal);
  }
  return { ...record, cursor: record.state === "ready" ? undefined : record.cursor };
}

async function refuseOtherShape(
  session: SqlSession,
  options: BuildKeywordIndexOptions,
  record: IndexRecord,
  { config, grams }: IndexSource,
): Promise<void> {
  const [row] = await session.query(
    `SELECT format = ${indexFormat} AND id_column = $2 AND config = $3
        AND config_column IS NOT DISTINCT FROM $4 AND grams = $5,
      state <> 'broken' AND ${keyMatchesSql("source", "id_column", `'${record.objects.documents}'::regclass`)}
      FROM ${indexTable} WHERE id = $1`,
    [record.id, options.idColumn, config, options.configColumn ?? null, String(grams)],
  );
  const [isSame, follows] = (row ?? []).map((value) => value === "t");
  if (isSame && follows) return;
  const reason = isSame
    ? "it no longer follows its table"
    : "it has other columns, configuration, word_parts or format";
  const purpose = `continue the keyword index of ${nameInMessage(options.table)}`;
  throw new AppError(
    "conflict",
    `Cannot ${purpose}: ${reason}; drop it with -drop-index, then run -index-pipeline again`,
  );
}

const sampleRows = 2_000;
/** For a table that is still empty: that of an abstract. */
const usualLength = 100;

/**
 * The average length of a table's texts, in words, from a sample. Impacts are computed with it from the first document
 * on, so that a document's postings can be found again later.
 */
async function sampleLength(session: SqlSession, source: IndexSource): Promise<number> {
  const [row] = await session.query(`SELECT avg(a.length)
    FROM (SELECT ${textAndConfigSql(source)}
      FROM ${source.table} s LIMIT ${sampleRows}) t
    CROSS JOIN LATERAL (${documentSql("t.text", "t.config", false)}) a`);
  return Math.max(1, Math.round(Number(row?.[0] ?? usualLength)));
}

/** Makes the triggers. The source is then to be copied. */
async function installTrigger(
  session: SqlSession,
  record: IndexRecord,
  source: IndexSource,
  signal: AbortSignal,
): Promise<IndexRecord> {
  const { objects, id, baseLength } = record;
  const state = "documents";
  await lockingTransaction(session, signal, async () => {
    await session.query(triggerFunctionSql(record, source));
    await session.query(`REVOKE ALL ON FUNCTION ${objects.triggerFunction}() FROM PUBLIC`);
    for (const statement of triggerSql(objects, source)) await session.query(statement);
    const noted = `UPDATE ${indexTable} SET base_length = $2, state = $3 WHERE id = $1`;
    await session.query(noted, [id, baseLength, state]);
  });
  return { ...record, state };
}

/** Elements of documents' arrays that one transaction sorts: some seconds of work. */
const elementsPerSlice = 4_000_000;
const slicesAtMost = 4_096;

/**
 * Rebuilds the statistics and lists of an index from its documents, one slice of the terms per transaction. It starts
 * at the record's cursor. Writers do not wait: their rows stay in `recent`.
 *
 * @param onShare gets the share of the terms that is done, from 0 to 1
 */
async function refreshLists(
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
  const least = impactOf(`g.entries[${listLength}]`);
  // the array is sorted, so the slice's elements are next to each other, with maybe one too many at the end
  const elements = `d.terms[width_bucket(${from}, d.terms) : width_bucket(${to}, d.terms) + 1]`;
  await session.query(`DELETE FROM ${lists} WHERE term BETWEEN ${from} AND ${to}`);
  // one statement, so that what leaves `recent` is what the lists were made with, or of documents that are gone
  await session.query(`WITH settled AS (DELETE FROM ${recent} WHERE term BETWEEN ${from} AND ${to})
    INSERT INTO ${lists} (term, df, floor, entries)
    SELECT g.term, g.df, CASE WHEN g.df > ${listLength} THEN ${least} ELSE 0 END,
      g.entries[1:${listLength}]
    FROM (
      SELECT s.term, count(*) AS df, array_agg(s.entry) AS entries
      FROM (SELECT ${term} AS term, ${entrySql("e", "d.length", "d.doc", baseLength)} AS entry
        FROM ${documents} d CROSS JOIN LATERAL unnest(${elements}) e
        WHERE ${term} BETWEEN ${from} AND ${to} ORDER BY 1, 2 DESC) s
      GROUP BY s.term) g`);
}
