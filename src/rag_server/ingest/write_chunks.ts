import { AppError } from "../../core/app_error.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import { type SqlSession, sqlStateOf } from "../../postgres/sql_session.ts";
import { createIngestTable } from "./create_ingest_table.ts";
import type { FoundFile } from "./find_files.ts";
import { type FileRecord, readChunks } from "./ingest_record.ts";
import { findRelation, type IngestTable, type IngestTableOptions, readIngestTable } from "./ingest_table.ts";
import { sha256 } from "../../core/sha256.ts";
import { type ReadyChunk, writeFile } from "./write_file.ts";

export interface ChunkWriterOptions {
  readonly session: SqlSession;
  readonly table: IngestTableOptions;
  readonly embedding: EmbeddingProvider;
  /** Absent where the table is to be made. */
  readonly target: IngestTable | undefined;
  readonly signal: AbortSignal;
  /** How many chunks to embed before the files that they are of are written. */
  readonly batchChunks: number;
  /** Called with what the table did not take, a file at a time. */
  readonly onRefused: (file: FoundFile, reason: string) => void;
  /** Called for files of many chunks, with how many of them are embedded. */
  readonly onEmbedded: (done: number, total: number) => void;
}

export interface WriterCounts {
  readonly added: number;
  readonly changed: number;
  readonly chunksWritten: number;
  readonly promptTokens: number;
}

export interface ReadFile {
  readonly file: FoundFile;
  readonly title: string;
  readonly hash: string;
  readonly texts: readonly string[];
  /** Of an earlier run. */
  readonly record: FileRecord | undefined;
}

/** Embeds chunks of several files at once, and writes each file. */
export interface ChunkWriter {
  /** @throws {ProviderError} and what {@linkcode writeFile} throws, after what was complete has been written */
  add(file: ReadFile): Promise<void>;
  /** Writes what is left, as `add` throws. */
  flush(): Promise<void>;
  counts(): WriterCounts;
}

interface PendingFile extends ReadFile {
  readonly chunks: readonly { readonly text: string; readonly hash: string; readonly key?: string }[];
  readonly goneKeys: readonly string[];
}

export function createChunkWriter(options: ChunkWriterOptions): ChunkWriter {
  const { session, embedding, signal, batchChunks, onRefused, onEmbedded } = options;
  let { target } = options;
  let hasCheckedLength = false;
  let pending: PendingFile[] = [];
  let newTexts = 0;
  const counts = { added: 0, changed: 0, chunksWritten: 0, promptTokens: 0 };

  async function add(file: ReadFile): Promise<void> {
    const ready = await withKnownRows(file);
    pending.push(ready);
    newTexts += ready.chunks.filter(({ key }) => key === undefined).length;
    if (newTexts >= batchChunks) await flush();
  }

  async function withKnownRows(file: ReadFile): Promise<PendingFile> {
    const rows = target === undefined || file.record === undefined
      ? []
      : await readChunks(session, target, file.record);
    const keysOf = Map.groupBy(rows, ({ hash }) => hash);
    const chunks = file.texts.map((text) => {
      const hash = sha256(`${embedding.name} ${text}`);
      const key = keysOf.get(hash)?.shift()?.key;
      return { text, hash, ...(key !== undefined && { key }) };
    });
    return { ...file, chunks, goneKeys: [...keysOf.values()].flat().map(({ key }) => key) };
  }

  async function flush(): Promise<void> {
    const files = pending;
    pending = [];
    newTexts = 0;
    const vectors = await embed(
      files.flatMap(({ chunks }) => chunks.flatMap(({ text, key }) => key === undefined ? [text] : [])),
    );
    const [first] = vectors;
    if (first !== undefined) await prepareTable(first.length);
    for (const file of files) {
      const added = file.chunks.filter(({ key }) => key === undefined).length;
      await write(file, vectors.splice(0, added));
    }
  }

  async function embed(texts: readonly string[]): Promise<Float32Array[]> {
    const vectors: Float32Array[] = [];
    for (let at = 0; at < texts.length; at += batchChunks) {
      const batch = texts.slice(at, at + batchChunks);
      const embedded = await embedding.embed({ texts: batch, purpose: "document", signal });
      vectors.push(...embedded.vectors);
      counts.promptTokens += embedded.usage.promptTokens;
      if (texts.length > 2 * batchChunks) onEmbedded(vectors.length, texts.length);
    }
    return vectors;
  }

  async function prepareTable(dimensions: number): Promise<void> {
    if (target === undefined) {
      const { relation } = await findRelation(session, options.table.table);
      await createIngestTable(session, options.table, { relation, dimensions });
      target = await readIngestTable(
        session,
        options.table,
        await findRelation(session, options.table.table),
      );
    } else if (!hasCheckedLength) await demandLength(session, target, options, dimensions);
    hasCheckedLength = true;
  }

  async function write(file: PendingFile, vectors: Float32Array[]): Promise<void> {
    if (target === undefined) return;
    const chunks = file.chunks.map((chunk): ReadyChunk => {
      const { text, hash, key } = chunk;
      return key === undefined
        ? { text, hash, vector: vectors.shift() ?? new Float32Array() }
        : { text, hash, key };
    });
    const written = chunks.filter((chunk) => "vector" in chunk).length;
    try {
      await writeFile(session, target, { ...file, ...file.file, chunks });
    } catch (error) {
      if (!isAboutData(error)) throw error;
      return onRefused(file.file, error.message);
    }
    counts.chunksWritten += written;
    if (file.record === undefined) counts.added++;
    else counts.changed++;
  }

  return { add, flush, counts: () => ({ ...counts }) };
}

/** Whether it is the values' fault (SQLSTATE classes 22 and 23), so that other files may fare better. */
function isAboutData(error: unknown): error is AppError {
  return error instanceof AppError && /^2[23]/.test(String(sqlStateOf(error)));
}

async function demandLength(
  session: SqlSession,
  target: IngestTable,
  { table, embedding }: ChunkWriterOptions,
  dimensions: number,
): Promise<void> {
  const expected = target.dimensions ?? await dimensionsInUse(session, target);
  if (expected === undefined || expected === dimensions) return;
  throw new AppError(
    "invalid",
    `Cannot ingest into "${table.table}": column "${table.vectorColumn}" holds vectors of ${expected} dimensions, ` +
      `but those of ${embedding.name} have ${dimensions}`,
  );
}

async function dimensionsInUse(session: SqlSession, target: IngestTable): Promise<number | undefined> {
  const { relation, vectorColumn, vectorType } = target;
  const schema = vectorType.slice(0, vectorType.lastIndexOf("."));
  const [row] = await session.query(
    `SELECT ${schema}.vector_dims(${vectorColumn}) FROM ${relation} WHERE ${vectorColumn} IS NOT NULL LIMIT 1`,
  );
  return row?.[0] ? Number(row[0]) : undefined;
}
