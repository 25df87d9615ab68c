import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import { ProviderError } from "../../llm/provider_error.ts";
import type { Connection } from "../../postgres/connection.ts";
import { createSqlSession, type SqlSession, takeLock } from "../../postgres/sql_session.ts";
import { quoteLiteral } from "../../postgres/sql_text.ts";
import { type FileNote, findFiles, type FoundFiles, isBelow } from "./find_files.ts";
import { type FileRecord, openRecords, readRecords, removeFile } from "./ingest_record.ts";
import {
  type IngestTable,
  type IngestTableOptions,
  type NamedRelation,
  nameRelation,
  readIngestTable,
} from "./ingest_table.ts";
import { createFileReader } from "./read_changed_file.ts";
import { createChunkWriter } from "./write_chunks.ts";

export interface IngestProgress {
  /** `chunks` counts those of a few large files that are under way. */
  readonly phase: "files" | "chunks" | "removed files";
  readonly done: number;
  readonly total: number;
}

export interface IngestOptions {
  /** Of a role that may write to the table, or make it, and may create a schema. Not used by others meanwhile. */
  readonly connection: Connection;
  readonly table: IngestTableOptions;
  readonly embedding: EmbeddingProvider;
  /** Files and folders. */
  readonly paths: readonly string[];
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly onProgress?: (progress: IngestProgress) => void;
  /** Of a chunk, as `countTokens` counts. */
  readonly maxTokens?: number;
  readonly overlapTokens?: number;
  /** Chunks to embed at once, of several files. A run that is killed may have to embed as many again. */
  readonly batchChunks?: number;
  /** A larger file is skipped. */
  readonly maxFileBytes?: number;
  /** A file that takes longer to read counts as failed. */
  readonly readTimeoutMs?: number;
  /** How long to wait for another run to end. */
  readonly lockPatienceMs?: number;
}

/** What a run did. */
export interface IngestSummary {
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly removed: number;
  /** Files that are not for reading. What an earlier run made of them is removed. */
  readonly skipped: readonly FileNote[];
  /** Files that could not be read or written. Their chunks from an earlier run stay. */
  readonly failed: readonly FileNote[];
  readonly chunksWritten: number;
  /** As the provider counted them. */
  readonly promptTokens: number;
  /** What ended the run early; what the counts say was done before. */
  readonly fault?: ProviderError;
}

const ingestDefaults = {
  maxTokens: 400,
  overlapTokens: 60,
  // four requests at once to most vendors, and some seconds' work
  batchChunks: 512,
  maxFileBytes: 50 * 1024 * 1024,
  readTimeoutMs: 120_000,
} as const;

/**
 * Brings a table up to date with files: `findFiles` finds them, `createFileReader` reads those that changed and cuts
 * them
 * into chunks, `createChunkWriter` embeds the chunks and writes them as rows, `ingest_record.ts` notes which rows are
 * of
 * which file. Chunks of new files are added, those of changed ones replaced, those of files that are gone from the
 * given
 * paths removed. Each file is one transaction, so that a reader sees it as it was or as it is, and a later run goes on
 * where one was stopped. A chunk whose text stays keeps its row. Rows that no run wrote are not touched. The table is
 * made where it does not exist.
 *
 * @throws {AppError} `invalid` for a path or a table that cannot be used, `conflict` while another run writes to the
 * table, `unavailable` where pgvector is missing, `upstream` for what the server refuses; the signal's reason where
 * that
 * aborts
 */
export async function ingest(options: IngestOptions): Promise<IngestSummary> {
  const { connection, table, paths, signal, lockPatienceMs } = options;
  const found = await findFiles(paths, signal);
  const session = createSqlSession(connection, signal, `ingest into "${table.table}"`);
  const { relation } = await nameRelation(session, table.table);
  return await asOnlyIngest(session, { table: table.table, relation, lockPatienceMs }, async () => {
    // again, as another run may have made it meanwhile
    const named = await nameRelation(session, table.table);
    return await run(options, session, found, named);
  });
}

async function run(
  options: IngestOptions,
  session: SqlSession,
  found: FoundFiles,
  named: NamedRelation,
): Promise<IngestSummary> {
  const { table, embedding, signal, logger, onProgress } = options;
  const target = named.oid === undefined ? undefined : await readIngestTable(session, table, named);
  await openRecords(session);
  const records = target === undefined ? noRecords : await readRecords(session, target);
  const notes = { skipped: [...found.skipped], failed: [...found.failed] };
  let unchanged = 0;
  const kept = new Set<string>();
  const settings = { ...ingestDefaults, ...options };
  const writer = createChunkWriter({
    ...settings,
    session,
    target,
    onRefused: ({ source }, reason) => notes.failed.push({ source, reason }),
    onEmbedded: (done, total) => onProgress?.({ phase: "chunks", done, total }),
  });
  using reader = createFileReader({ ...settings, model: embedding.name });
  let fault: ProviderError | undefined;
  let removed = 0;
  try {
    for (const [at, file] of found.files.entries()) {
      const record = records.get(file.path);
      const reading = await reader.read(file, record, signal);
      if (reading.kind !== "skipped") kept.add(file.path);
      if (reading.kind === "chunks") await writer.add({ ...reading, file, record });
      else if (reading.kind === "unchanged") unchanged++;
      else notes[reading.kind].push({ source: file.source, reason: reading.reason });
      onProgress?.({ phase: "files", done: at + 1, total: found.files.length });
    }
    await writer.flush();
    // or the planner would take a new table for empty until the server looks at it
    if (target === undefined && writer.counts().added > 0) await session.query(`ANALYZE ${named.relation}`);
    if (target !== undefined) {
      removed = await removeGone(session, target, goneRecords(records, found, kept), onProgress);
    }
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    logger.debug("embedding failed", { detail: error.detail });
    fault = error;
  }
  return { ...writer.counts(), ...notes, unchanged, removed, ...(fault !== undefined && { fault }) };
}

const noRecords: ReadonlyMap<string, FileRecord> = new Map();

/** Files of earlier runs that are not there any more, or not for reading. */
function goneRecords(
  records: ReadonlyMap<string, FileRecord>,
  { roots, unreadable }: FoundFiles,
  kept: ReadonlySet<string>,
): FileRecord[] {
  return [...records.values()].filter(({ path }) =>
    isBelow(path, roots) && !kept.has(path) && !isBelow(path, unreadable)
  );
}

async function removeGone(
  session: SqlSession,
  target: IngestTable,
  gone: readonly FileRecord[],
  onProgress: IngestOptions["onProgress"],
): Promise<number> {
  for (const [done, record] of gone.entries()) {
    await removeFile(session, target, record);
    onProgress?.({ phase: "removed files", done: done + 1, total: gone.length });
  }
  return gone.length;
}

/** @throws {AppError} `conflict` where another session ingests into the table for longer than the patience */
async function asOnlyIngest<T>(
  session: SqlSession,
  { table, relation, lockPatienceMs }: {
    readonly table: string;
    readonly relation: string;
    readonly lockPatienceMs?: number | undefined;
  },
  work: () => Promise<T>,
): Promise<T> {
  const key = `hashtextextended(${quoteLiteral(`postern ingest ${relation}`)}, 0)`;
  if (!await takeLock(session, key, lockPatienceMs)) {
    throw new AppError(
      "conflict",
      `Cannot ingest into "${table}": another process is ingesting into it; try again when that has ended`,
    );
  }
  try {
    return await work();
  } finally {
    await session.restore(`SELECT pg_advisory_unlock(${key})`);
  }
}
