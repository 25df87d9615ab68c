import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import { ProviderError } from "../../llm/provider_error.ts";
import { createSqlSession, type SqlSession, withLock } from "../../postgres/sql_session.ts";
import { nameInMessage, quoteLiteral } from "../../postgres/sql_text.ts";
import type { BuildVectorIndexOptions } from "../search/build_vector_index.ts";
import { assignSources } from "./assign_sources.ts";
import { type FileNote, findFiles, reasonOf } from "./find_files.ts";
import { type ConfiguredSource, type GivenPaths, lookAtPaths, type PathOptions } from "./given_paths.ts";
import {
  type FileRecord,
  type IngestRecords,
  readRecords,
  removeFile,
  removeSource,
  saveRecord,
} from "./ingest_record.ts";
import {
  indexNewTable,
  type IngestTableOptions,
  type NamedRelation,
  nameRelation,
  readIngestTable,
} from "./ingest_table.ts";
import {
  filesOf,
  goneRecords,
  planSource,
  refuseRemoval,
  savePlans,
  type SourcePlan,
} from "./plan_source.ts";
import { createFileReader, type FileReader } from "./read_changed_file.ts";
import { openRecords } from "./record_schema.ts";
import { findRemoteFiles } from "./sources/find_remote_files.ts";
import { createChunkWriter } from "./write_chunks.ts";
import type { ChunkOptions } from "../../text/chunk_document.ts";

/**
 * `connection` has a role that may write to the table, or make it, and may create a schema; others do not use it meanwhile.
 * `phase` of the progress is `files`, `chunks` of a few large files that are under way, `removed files`, or as
 * `buildVectorIndex` says.
 */
export interface IngestOptions
  extends PathOptions, Pick<BuildVectorIndexOptions, "connection" | "signal" | "onProgress"> {
  readonly table: IngestTableOptions;
  readonly embedding: EmbeddingProvider;
  /** Only say what would be done: nothing is written, and the provider is not asked. */
  readonly isDryRun?: boolean;
  /** Ends the run after the file under way: what was read is written, and nothing removed. */
  readonly stopping?: AbortSignal;
  readonly logger: Logger;
  /** The most tokens of a chunk, as `countTokens` counts. */
  readonly maxTokens?: number;
  readonly overlapTokens?: number;
  /** Chunks to embed at once, of several files. A run that is killed may have to embed as many again. */
  readonly batchChunks?: number;
  /** A larger file is skipped. */
  readonly maxFileBytes?: number;
  /** A file that takes longer to read counts as failed. */
  readonly readTimeoutMs?: number;
  /** The program that reads pages without text, and its arguments. Without it such pages are left out. */
  readonly ocrCommand?: readonly string[] | undefined;
  /** How long to wait for another run to end. */
  readonly lockPatienceMs?: number;
}

/** The outcome of a run; of a dry run, what it would be. */
export interface IngestSummary {
  readonly sources: readonly { readonly name: string; readonly folder: string }[];
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly removed: number;
  /** Files and folders that are not for reading. What an earlier run made of them is removed. */
  readonly skipped: readonly FileNote[];
  /** Files that could not be read or written. Their chunks from an earlier run stay. */
  readonly failed: readonly FileNote[];
  readonly chunksWritten: number;
  /** As the provider counted them. */
  readonly promptTokens: number;
  /** Why sources were left as they are, or files of them not removed. */
  readonly refusals: readonly string[];
  /** Facts to know besides, a sentence each. */
  readonly notices: readonly string[];
  /** The error that ended the run early; what the counts say was done before. */
  readonly fault?: ProviderError;
}

/** The most tokens of a chunk where nobody says: a few paragraphs. */
const usualChunkTokens = 400;

const usualOverlapTokens = 60;

/** A model counts parts of words where `countTokens` estimates them: what a model reads holds at least this share of them. */
const safeShare = 0.85;

const ingestDefaults = {
  ...chunkSizes(undefined, {}),
  // four requests at once to most vendors, and some seconds' work
  batchChunks: 512,
  maxFileBytes: 50 * 1024 * 1024,
  readTimeoutMs: 120_000,
} as const;

/**
 * Brings a table up to date with files. `assignSources` says which sources they belong to and `planSource` what is known of
 * those, `findFiles` finds the files, `createFileReader` reads those that changed and cuts them into chunks,
 * `createChunkWriter` embeds the chunks and writes them as rows, `ingest_record.ts` notes which rows are of which file.
 * Chunks of new files are added, those of changed ones replaced, those of files that are gone removed, unless
 * `refuseRemoval` objects. Each file is one transaction, so that a reader sees it as it was or as it is, and a later run
 * goes on where one was stopped. A chunk whose text stays keeps its row. Rows that no run wrote are not touched. The table
 * is made where it does not exist.
 *
 * @throws {AppError} `invalid` for a path or a table that cannot be used, `conflict` while another run writes to the
 * table, `not_found` for a source to remove that is not known, `unavailable` where pgvector is missing, `upstream` for what
 * the server refuses; the signal's reason where that aborts
 */
export async function ingest(options: IngestOptions): Promise<IngestSummary> {
  const { connection, table, signal, lockPatienceMs, isDryRun = false } = options;
  const given = await lookAtPaths(options);
  const purpose = `ingest into ${nameInMessage(table.table)}`;
  const session = createSqlSession(connection, signal, purpose);
  const work = async () => await run(options, session, given, await nameRelation(session, table.table));
  if (isDryRun) {
    await session.query("SET default_transaction_read_only = on");
    return await work();
  }
  const { relation } = await nameRelation(session, table.table);
  const key = `hashtextextended(${quoteLiteral(`postern ingest ${relation}`)}, 0)`;
  const reason = `Cannot ${purpose}: another process is ingesting into it; try again when that has ended`;
  // `work` looks at the table again, as another run may have made it meanwhile
  return await withLock(session, { key, reason, patienceMs: lockPatienceMs }, work);
}

async function run(
  options: IngestOptions,
  session: SqlSession,
  given: GivenPaths,
  named: NamedRelation,
): Promise<IngestSummary> {
  const { table, embedding, signal, stopping, logger, onProgress, isDryRun = false } = options;
  const target = named.oid === undefined ? undefined : await readIngestTable(session, table, named);
  if (!isDryRun) await openRecords(session);
  const records = target === undefined ? { sources: [], files: [] } : await readRecords(session, target);
  const { removedSource } = given;
  const gone = removedSource === undefined ? [] : filesOfKnown(removedSource, records);
  const settings = { ...ingestDefaults, ...options, isDryRun };
  using reader = createFileReader({ ...settings, model: embedding.name, rules: table.metadata });
  const { plans, refusals } = await planSources(settings, given, { records, reader });
  const notices = given.isAllConfigured ? ingestNotices(records, options.configured ?? []) : [];
  if (target !== undefined && !isDryRun) await savePlans(session, target, plans);
  const notes = {
    skipped: plans.flatMap(({ found }) => found.skipped),
    failed: plans.flatMap(({ found }) => found.failed),
  };
  const blank: (Pick<FileRecord, "source" | "path" | "hash"> & { record: FileRecord | undefined })[] = [];
  let unchanged = 0;
  await using writer = createChunkWriter({
    ...settings,
    session,
    target,
    onTableMade: (made) => savePlans(session, made, plans),
    onRefused: ({ path }, reason) => notes.failed.push({ path, reason }),
    onEmbedded: (done, total) => onProgress?.({ phase: "chunks", done, total }),
  });
  const total = plans.reduce((sum, { found }) => sum + found.files.length, 0);
  let done = 0;

  /** Reads a source's files. Resolves with the paths of those that stay: what had text before may have none any more. */
  async function readFiles({ found, records, source: { name: source } }: SourcePlan): Promise<Set<string>> {
    const kept = new Set<string>();
    for (const file of found.files) {
      if (stopping?.aborted) break;
      const { path } = file;
      const record = records.get(path);
      const reading = await reader.read(file, record, signal);
      if (reading.kind === "chunks") {
        await writer.add({ ...reading, file, source, record });
        notes.failed.push(...reading.faults.map((reason) => ({ path, reason })));
      } else if (reading.kind === "unchanged") unchanged++;
      else notes[reading.kind].push({ path, reason: reading.reason });
      const blankHash = reading.kind === "skipped" ? reading.hash : undefined;
      if (reading.kind !== "skipped" || blankHash && blankHash === record?.hash) kept.add(path);
      else if (blankHash) blank.push({ source, path, hash: blankHash, record });
      onProgress?.({ phase: "files", done: ++done, total });
    }
    return kept;
  }

  let fault: ProviderError | undefined;
  try {
    for (const plan of plans) {
      const kept = await readFiles(plan);
      if (stopping?.aborted) break;
      const goneNow = goneRecords(plan, kept);
      const refusal = options.isRemovalConfirmed ? undefined : refuseRemoval(plan, goneNow);
      if (refusal === undefined) gone.push(...goneNow);
      else refusals.push(refusal);
    }
    await writer.flush();
    // or the planner would take a new table for empty until the server looks at it
    if (target === undefined && !isDryRun && writer.counts().added > 0) {
      await session.query(`ANALYZE ${named.relation}`);
    }
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    logger.debug("embedding failed", { detail: error.detail });
    fault = error;
  }
  const written = isDryRun ? undefined : writer.target();
  if (written !== undefined && !stopping?.aborted) await indexNewTable(session, written, options);
  const removed = fault === undefined && !stopping?.aborted ? gone : [];
  if (target !== undefined && !isDryRun) {
    for (const [at, record] of removed.entries()) {
      await removeFile(session, target, record);
      onProgress?.({ phase: "removed files", done: at + 1, total: removed.length });
    }
  }
  for (const { record, ...file } of blank) {
    const isFree = record === undefined || removed.includes(record);
    if (written !== undefined && isFree) await saveRecord(session, written, file, []);
  }
  if (removedSource !== undefined && target !== undefined && !isDryRun) {
    await removeSource(session, target, removedSource);
  }
  return {
    sources: plans.map(({ source: { name, folder } }) => ({ name, folder })),
    ...writer.counts(),
    ...notes,
    unchanged,
    removed: removed.length,
    refusals,
    notices,
    ...defined({ fault }),
  };
}

/** Finds the sources of what was given, and their files. */
async function planSources(
  options: IngestOptions & { readonly maxFileBytes: number },
  { given, configured, refusals }: GivenPaths,
  { records, reader }: { readonly records: IngestRecords; readonly reader: FileReader },
): Promise<{ plans: SourcePlan[]; refusals: string[] }> {
  const { sourceName, isRemovalConfirmed = false, signal } = options;
  const sources = assignSources(given, { sourceName, configured, known: records.sources });
  const ownNames = new Set([...configured, ...sources].map(({ name }) => name));
  const plans: SourcePlan[] = [];
  const whyNot = [...refusals];
  for (const source of sources) {
    const remote = configured.find(({ name }) => name === source.name)?.remote;
    const found = await (remote === undefined
      ? findFiles(source.scopes, options)
      : findRemoteFiles(remote, options).catch((error: unknown) => {
        signal.throwIfAborted();
        return `Cannot ingest source "${source.name}" (${source.folder}): ${reasonOf(error)}`;
      }));
    const plan = typeof found === "string"
      ? found
      : await planSource(source, found, { records, ownNames, reader, isRemovalConfirmed, signal });
    if (typeof plan === "string") {
      whyNot.push(plan);
    } else plans.push(plan);
  }
  return { plans, refusals: whyNot };
}

/** The files of a source that is to go. @throws {AppError} `not_found` where nothing of it is known */
function filesOfKnown(name: string, records: IngestRecords): FileRecord[] {
  if (records.sources.some((source) => source.name === name)) return filesOf(name, records);
  throw new AppError("not_found", `Cannot remove source "${name}": the table has no files of it`);
}

/** Sentences for somebody who ingests all that is configured: which sources are left over. */
function ingestNotices(records: IngestRecords, configured: readonly ConfiguredSource[]): string[] {
  const left = records.sources.filter(({ name }) => !configured.some((source) => source.name === name));
  return left.flatMap(({ name }) => {
    const count = filesOf(name, records).length;
    if (count === 0) return [];
    return `Source "${name}" is not in the configuration, and its files (${count}) stay; to remove them, give ` +
      `-source "${name}" and -confirm-removal without a PATH`;
  });
}

/**
 * How large chunks are. Without a setting none is longer than what the embedding model reads: its end would not be found.
 *
 * @param settings of the pipeline, in tokens; an overlap is at most half of a chunk
 */
export function chunkSizes(
  settings: { readonly max_tokens?: number; readonly overlap_tokens?: number } | undefined,
  { readTokens = Infinity }: Pick<EmbeddingProvider, "readTokens">,
): ChunkOptions {
  const maxTokens = settings?.max_tokens ?? Math.min(usualChunkTokens, Math.floor(safeShare * readTokens));
  const overlapTokens = settings?.overlap_tokens ??
    Math.min(usualOverlapTokens, Math.floor(0.15 * maxTokens));
  return { maxTokens, overlapTokens: Math.min(overlapTokens, Math.floor(maxTokens / 2)) };
}
