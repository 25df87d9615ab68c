import { AppError } from "../../core/app_error.ts";
import type { Connection } from "../../postgres/connection.ts";
import {
  createSqlSession,
  type SqlSession,
  takeLock,
  transaction,
  withoutWaitingWriters,
} from "../../postgres/sql_session.ts";
import { copyDocuments, dropOrphans } from "./copy_documents.ts";
import { grantToReaders } from "./grant_to_readers.ts";
import { indexFormat, indexTable, oldestFormat } from "./index_objects.ts";
import { createRecord, findRecord, type IndexRecord, markReady, schemaSql } from "./index_record.ts";
import { inspectSource, type KeywordIndexRequest, type SourceFacts } from "./inspect_source.ts";
import { keyMatchesSql } from "./key_matches_sql.ts";
import { followRowSecurity } from "./row_security.ts";
import { sampleLength } from "./sample_length.ts";
import { settleLists } from "./settle_lists.ts";
import { triggerFunctionSql, triggerSql } from "./trigger_sql.ts";

export interface BuildProgress {
  readonly phase: "documents" | "lists";
  /** In documents for both phases; the total is an estimate. */
  readonly done: number;
  readonly total: number;
}

export interface BuildKeywordIndexOptions extends KeywordIndexRequest {
  /** Of a role that owns the table or may make triggers on it, and may create a schema. Not used by others meanwhile. */
  readonly connection: Connection;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: BuildProgress) => void;
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
 * Makes Postern's own keyword index of a table, or goes on with one whose making was stopped, or brings a finished one
 * up to date: rows that it lacks are added, those that are gone are taken out, and it is refreshed. One of an older
 * format has all its rows read anew, and answers meanwhile. Readers and writers of the table go on; the triggers wait for
 * writers' transactions to end, a second at a time.
 *
 * @throws {AppError} `invalid` for a table that cannot be indexed, `conflict` where another process builds this index,
 * or it was made for other columns, `upstream` for what the server refuses; the signal's reason where that aborts, and a
 * later call then goes on
 */
export async function buildKeywordIndex(options: BuildKeywordIndexOptions): Promise<BuiltKeywordIndex> {
  const { connection, signal, onProgress = () => {}, batchRows = 1_000 } = options;
  const session = createSqlSession(connection, signal, `index the keywords of "${options.table}"`);
  const facts = await inspectSource(session, options);
  return await asOnlyBuilder(session, facts.oid, options, async () => {
    let record = await openRecord(session, options, facts);
    const total = Math.max(facts.estimatedRows, 1);
    record = await copyDocuments(session, record, facts, {
      batchRows,
      signal,
      onDone: (done) => onProgress({ phase: "documents", done, total: Math.max(done, total) }),
    });
    await dropOrphans(session, record, facts.source);
    const documents = await countDocuments(session, record);
    await settleLists(session, record, {
      onShare: (share) =>
        onProgress({ phase: "lists", done: Math.round(share * documents), total: documents }),
    });
    if (facts.hasRowSecurity) await followRowSecurity(session, record.objects, facts.source);
    await grantToReaders(session, record, facts.oid);
    await markReady(session, record);
    await vacuum(session, record);
    return { id: record.id, documents };
  });
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
  if (!await takeLock(session, key, lockPatienceMs)) {
    throw new AppError("conflict", `Cannot index the keywords of "${table}": another process is at it`);
  }
  try {
    // rather fail than index only the rows that this role may see
    await session.query("SET row_security = off");
    return await work();
  } finally {
    await session.restore("RESET row_security");
    await session.restore(`SELECT pg_advisory_unlock(${key})`);
  }
}

async function openRecord(
  session: SqlSession,
  options: BuildKeywordIndexOptions,
  facts: SourceFacts,
): Promise<IndexRecord> {
  for (const statement of schemaSql) await session.query(statement);
  let record = await findRecord(session, facts.oid, options.textColumn);
  if (record === undefined) {
    await createRecord(session, options, facts);
    record = await findRecord(session, facts.oid, options.textColumn);
  }
  if (record === undefined) throw new AppError("conflict", "Cannot index keywords: the index was dropped");
  await refuseOtherShape(session, options, record, facts);
  if (record.state === "new") {
    const baseLength = await sampleLength(session, facts.source);
    return await installTrigger(session, { ...record, baseLength }, facts, options.signal);
  }
  if (record.isOld) {
    return await installTrigger(session, { ...record, cursor: undefined }, facts, options.signal);
  }
  return { ...record, cursor: record.state === "ready" ? undefined : record.cursor };
}

async function refuseOtherShape(
  session: SqlSession,
  options: BuildKeywordIndexOptions,
  record: IndexRecord,
  { source }: SourceFacts,
): Promise<void> {
  const [row] = await session.query(
    `SELECT format BETWEEN ${oldestFormat} AND ${indexFormat} AND id_column = $2 AND config = $3
        AND config_column IS NOT DISTINCT FROM $4,
      state <> 'broken' AND ${keyMatchesSql("source", "id_column", `'${record.objects.documents}'::regclass`)}
      FROM ${indexTable} WHERE id = $1`,
    [record.id, options.idColumn, source.config, options.configColumn ?? null],
  );
  const [isSame, follows] = (row ?? []).map((value) => value === "t");
  if (isSame && follows) return;
  const reason = isSame ? "it no longer follows its table" : "it has other columns, configuration or format";
  throw new AppError(
    "conflict",
    `Cannot go on with the keyword index of "${options.table}": ${reason}; drop it first`,
  );
}

/** Makes the triggers, or has those of an older format do what this one's do. The source is then to be copied. */
async function installTrigger(
  session: SqlSession,
  record: IndexRecord,
  { source }: SourceFacts,
  signal: AbortSignal,
): Promise<IndexRecord> {
  const { objects, id, baseLength } = record;
  const state = record.state === "ready" ? "ready" : "documents";
  const statements = record.state === "new"
    ? triggerSql(objects, source)
    // past it, no writer is left who ran the old function
    : [`LOCK TABLE ${source.table} IN SHARE ROW EXCLUSIVE MODE`];
  const install = async () => {
    // whoever waits for this lock makes all later writers wait too, so not for long
    await session.query("SET LOCAL lock_timeout = '1s'");
    await session.query(triggerFunctionSql(objects, source, { id, baseLength }));
    await session.query(`REVOKE ALL ON FUNCTION ${objects.triggerFunction}() FROM PUBLIC`);
    for (const statement of statements) await session.query(statement);
    await session.query(`UPDATE ${indexTable} SET base_length = $2, state = $3 WHERE id = $1`, [
      id,
      baseLength,
      state,
    ]);
  };
  await withoutWaitingWriters(signal, () => transaction(session, install));
  return { ...record, state };
}

async function countDocuments(session: SqlSession, { objects }: IndexRecord): Promise<number> {
  const [row] = await session.query(`SELECT count(*) FROM ${objects.documents}`);
  return Number(row?.[0] ?? 0);
}

/** Gives the planner the sizes of an index's tables, and makes `recent` readable from its index alone. */
async function vacuum(session: SqlSession, { objects }: IndexRecord): Promise<void> {
  for (const table of [objects.documents, objects.lists, objects.recent]) {
    await session.query(`VACUUM (ANALYZE) ${table}`);
  }
}
