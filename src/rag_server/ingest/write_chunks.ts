import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import { type SqlSession, sqlStateOf, transaction } from "../../postgres/sql_session.ts";
import { nameInMessage } from "../../postgres/sql_text.ts";
import type { FoundFile } from "./find_files.ts";
import { type FileRecord, readChunks, type RecordedChunk, saveRecord } from "./ingest_record.ts";
import {
  createIngestTable,
  detailNames,
  type IngestTable,
  type IngestTableOptions,
  nameRelation,
  readIngestTable,
} from "./ingest_table.ts";
import { detailTypes } from "./metadata_kinds.ts";
import type { Chunk } from "../../text/chunk_document.ts";
import { sha256 } from "../../core/text/sha256.ts";

interface ChunkWriterOptions {
  readonly session: SqlSession;
  readonly table: IngestTableOptions;
  readonly embedding: EmbeddingProvider;
  /** Optional: none where the table is to be made. */
  readonly target: IngestTable | undefined;
  readonly signal: AbortSignal;
  /** So many chunks are embedded before their files are written. */
  readonly batchChunks: number;
  /** Only counts what would be written; the provider is not asked. */
  readonly isDryRun: boolean;
  /** Called once the table has been made, before its first row is written. */
  readonly onTableMade: (table: IngestTable) => Promise<void>;
  /** Called with what the table did not take, a file at a time. */
  readonly onRefused: (file: FoundFile, reason: string) => void;
  /** Called for files of many chunks, with how many of them are embedded. */
  readonly onEmbedded: (done: number, total: number) => void;
}

interface ReadFile {
  readonly file: FoundFile;
  /** The name of the source that it is in. */
  readonly source: string;
  readonly title: string;
  readonly hash: string;
  /** By the names of columns. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly chunks: readonly Chunk[];
  /** The file's record of an earlier run. */
  readonly record: FileRecord | undefined;
}

interface PendingFile extends ReadFile {
  /** In order; with a key, one that has a row already. */
  readonly chunks: readonly PendingChunk[];
  /** The ids of rows that are not among the chunks any more. */
  readonly goneKeys: readonly string[];
}

interface PendingChunk extends Chunk {
  readonly position: number;
  readonly hash: string;
  readonly key?: string;
}

/** What is kept of a run's vectors, for texts that come again. */
const keptVectorBytes = 32 * 1024 * 1024;

/**
 * Embeds chunks of several files at once, each text once, and writes each file. While it does, the next files can be added,
 * up to as many chunks again.
 */
export function createChunkWriter(options: ChunkWriterOptions) {
  const { session, embedding, signal, batchChunks, isDryRun, onTableMade, onRefused, onEmbedded } = options;
  let { target } = options;
  let hasCheckedLength = false;
  let pending: PendingFile[] = [];
  let newTexts = 0;
  /** Ends with the batch that is embedded and written, if one is. */
  let writing = Promise.resolve();
  /** By their chunks' hashes, the oldest first. */
  const vectors = new Map<string, Float32Array>();
  const counts = { added: 0, changed: 0, chunksWritten: 0, promptTokens: 0 };

  /**
   * @throws {ProviderError} and what {@linkcode writeFile} throws, of this file's batch or of the one before, after what was
   * complete has been written
   */
  async function add(file: ReadFile): Promise<void> {
    const ready = await withKnownRows(file);
    if (isDryRun) {
      const refused = target && await refusedValue(session, target, ready);
      return refused === undefined ? count(ready) : onRefused(file.file, refused);
    }
    pending.push(ready);
    newTexts += addedOf(ready.chunks).length;
    if (newTexts < batchChunks) return;
    await writing;
    // large files have the memory for themselves
    const isLarge = newTexts > 2 * batchChunks;
    writing = writePending();
    if (isLarge) return await writing;
    // whoever waits for it next is told
    writing.catch(() => {});
  }

  async function withKnownRows(file: ReadFile): Promise<PendingFile> {
    // its transaction has the session
    if (file.record !== undefined) await writing;
    const rows = target === undefined || file.record === undefined
      ? []
      : await readChunks(session, target, file.record);
    const keysOf = Map.groupBy(rows, ({ hash }) => hash);
    const chunks = file.chunks.map((chunk, position): PendingChunk => {
      const hash = sha256(`${embedding.name} ${chunk.text}`);
      const key = keysOf.get(hash)?.shift()?.key;
      return { ...chunk, position, hash, ...defined({ key }) };
    });
    return { ...file, chunks, goneKeys: [...keysOf.values()].flat().map(({ key }) => key) };
  }

  /** Writes the remaining chunks; throws as `add`. */
  async function flush(): Promise<void> {
    await writing;
    await writePending();
  }

  async function writePending(): Promise<void> {
    const files = pending;
    pending = [];
    newTexts = 0;
    const added = files.flatMap(({ chunks }) => addedOf(chunks));
    await embed(new Map(added.flatMap(({ hash, text }) => vectors.has(hash) ? [] : [[hash, text]])));
    const first = vectors.get(added[0]?.hash ?? "");
    if (first !== undefined) await prepareTable(first.length, files);
    for (const file of files) await write(file);
    const most = Math.floor(keptVectorBytes / Math.max(1, first?.byteLength ?? 0));
    for (const hash of [...vectors.keys()].slice(0, Math.max(0, vectors.size - most))) vectors.delete(hash);
  }

  /** @param texts by their hashes */
  async function embed(texts: ReadonlyMap<string, string>): Promise<void> {
    const all = [...texts];
    for (let at = 0; at < all.length; at += batchChunks) {
      const batch = all.slice(at, at + batchChunks);
      const batchTexts = batch.map(([, text]) => text);
      const embedded = await embedding.embed({ texts: batchTexts, purpose: "document", signal });
      batch.forEach(([hash], place) => vectors.set(hash, embedded.vectors[place] ?? new Float32Array()));
      counts.promptTokens += embedded.usage.promptTokens;
      if (all.length > 2 * batchChunks) onEmbedded(at + batch.length, all.length);
    }
  }

  async function prepareTable(dimensions: number, files: readonly PendingFile[]): Promise<void> {
    if (target === undefined) {
      const lists = new Set(
        files.flatMap(({ metadata }) =>
          Object.keys(metadata).filter((name) => Array.isArray(metadata[name]))
        ),
      );
      const { relation } = await nameRelation(session, options.table.table);
      await createIngestTable(session, options.table, { relation, dimensions }, lists);
      const made = await nameRelation(session, options.table.table);
      target = await readIngestTable(session, options.table, made);
      await onTableMade(target);
    } else if (!hasCheckedLength) await checkLength(session, target, options, dimensions);
    hasCheckedLength = true;
  }

  async function write(file: PendingFile): Promise<void> {
    if (target === undefined) return;
    try {
      await writeFile(session, target, file, vectors);
    } catch (error) {
      if (!isAboutData(error)) throw error;
      return onRefused(file.file, await refusedValue(session, target, file) ?? error.message);
    }
    count(file);
  }

  function count({ record, chunks }: PendingFile): void {
    counts.chunksWritten += addedOf(chunks).length;
    if (record === undefined) counts.added++;
    else counts.changed++;
  }

  return {
    add,
    flush,
    counts: () => ({ ...counts }),
    target: () => target,
    /** Resolves once the session is not used any more. */
    [Symbol.asyncDispose]: () => writing.catch(() => {}),
  };
}

/** Which value of a rule does not have its column's type, and why; undefined where all have. */
async function refusedValue(
  session: SqlSession,
  table: IngestTable,
  { metadata, ...file }: ReadFile,
): Promise<string | undefined> {
  for (const [name, value] of Object.entries(metadata)) {
    const [, , filled = ""] = fileValues(table, { ...file, metadata: { [name]: value } });
    try {
      await session.query(`SELECT jsonb_populate_record(NULL::${table.relation}, $1::jsonb) IS NULL`, [
        filled,
      ]);
    } catch (error) {
      if (!isAboutData(error)) throw error;
      return `metadata.${name} does not fit column "${name}": ${error.message}`;
    }
  }
  return undefined;
}

/** Those that need a row. */
const addedOf = (chunks: readonly PendingChunk[]) => chunks.filter(({ key }) => key === undefined);

/** Whether it is the values' fault (SQLSTATE classes 22 and 23), so that other files may fare better. */
function isAboutData(error: unknown): error is AppError {
  return error instanceof AppError && /^2[23]/.test(String(sqlStateOf(error)));
}

/** @throws {AppError} `invalid` where the column holds vectors of another length */
async function checkLength(
  session: SqlSession,
  target: IngestTable,
  { table, embedding }: ChunkWriterOptions,
  dimensions: number,
): Promise<void> {
  const expected = target.dimensions ?? await dimensionsInUse(session, target);
  if (expected === undefined || expected === dimensions) return;
  const held = `column "${table.vectorColumn}" holds vectors of ${expected} dimensions`;
  const reason = `${held}, but those of ${embedding.name} have ${dimensions}`;
  throw new AppError("invalid", `Cannot ingest into ${nameInMessage(table.table)}: ${reason}`);
}

async function dimensionsInUse(session: SqlSession, target: IngestTable): Promise<number | undefined> {
  const { relation, vectorColumn, vectorType } = target;
  const schema = vectorType.slice(0, vectorType.lastIndexOf("."));
  const [row] = await session.query(
    `SELECT ${schema}.vector_dims(${vectorColumn}) FROM ${relation} WHERE ${vectorColumn} IS NOT NULL LIMIT 1`,
  );
  return row?.[0] ? Number(row[0]) : undefined;
}

const rowsPerStatement = 100;

/**
 * Puts a file's chunks in the place of those it had, in one transaction.
 *
 * @param vectors by the chunks' hashes
 * @throws {AppError} as the session; `conflict` where the table does not keep what is written to it
 */
async function writeFile(
  session: SqlSession,
  table: IngestTable,
  file: PendingFile,
  vectors: ReadonlyMap<string, Float32Array>,
): Promise<void> {
  const { chunks, goneKeys, source, hash, file: { path } } = file;
  await transaction(session, async () => {
    if (goneKeys.length > 0) {
      await session.query(
        `DELETE FROM ${table.relation} WHERE ${table.idColumn} IN
          (SELECT gone.key::${table.idType} FROM json_array_elements_text($1::json) gone(key))`,
        [JSON.stringify(goneKeys)],
      );
    }
    await updateKept(session, table, file);
    const written: RecordedChunk[] = chunks.map(({ key = "", hash }) => ({ key, hash }));
    const added = addedOf(chunks);
    for (let at = 0; at < added.length; at += rowsPerStatement) {
      const slice = added.slice(at, at + rowsPerStatement);
      const keys = await insertRows(session, table, file, slice, vectors);
      slice.forEach(({ position, hash }, index) => written[position] = { key: keys[index] ?? "", hash });
    }
    await saveRecord(session, table, { source, path, hash }, written);
  });
}

/** What a statement is told of a chunk, besides its text and vector. */
const rowColumns = "heading text, position int, page int, char_start int, char_end int";

const rowOf = ({ heading, position, page, start, end }: PendingChunk) => (
  { heading, position, page, char_start: start, char_end: end }
);

/** The value of a detail's column, as SQL over a row `r` with `rowColumns` and the `file`. */
function detailValue(name: string): string {
  if (name === "source" || name === "title") return `file.${name}`;
  if (name !== "metadata") return `r.${name}`;
  const all = Object.keys(detailTypes).map((each) => `'${each}', ${detailValue(each)}`);
  return `json_strip_nulls(json_build_object(${all.join(", ")}))`;
}

function detailsOf({ details, metadata }: IngestTable): { name: string; value: string }[] {
  return [
    ...detailNames.flatMap((name) => {
      const type = details.get(name);
      return type === undefined ? [] : [{ name, value: `(${detailValue(name)})::${type}` }];
    }),
    ...metadata.map((name) => ({ name, value: `(file.filled).${name}` })),
  ];
}

/** `$2` is the file's path, `$3` its title, `$4` what rules fill columns with, each by its type. */
const fileSql = ({ relation }: IngestTable) =>
  `(SELECT $2::text AS source, $3::text AS title, jsonb_populate_record(NULL::${relation}, $4::jsonb) AS filled) file`;

/** A value alone is a list of one where the column holds lists, and `3.0` is 3 where it holds whole numbers. */
function fileValues({ lists, integers }: IngestTable, { file: { path }, title, metadata }: ReadFile) {
  const values = Object.entries(metadata).map(([name, value]) => {
    const fit = lists.has(name) && value !== null && !Array.isArray(value) ? [value] : value;
    return [name, integers.has(name) ? wholeOf(fit) : fit] as const;
  });
  return [path, title, JSON.stringify(Object.fromEntries(values))];
}

function wholeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(wholeOf);
  return typeof value === "string" ? value.replace(/^([+-]?\d+)\.0+$/, "$1") : value;
}

async function updateKept(
  session: SqlSession,
  table: IngestTable,
  file: PendingFile,
): Promise<void> {
  const { record, chunks } = file;
  const rows = chunks.flatMap((chunk) =>
    chunk.key === undefined ? [] : [{ key: chunk.key, ...rowOf(chunk) }]
  );
  const isRenamed = record?.hash === "";
  // the text has not changed, so the row's other columns stay as others wrote them, unless they name the file
  const details = detailsOf(table).filter(({ name }) => isRenamed || name !== "metadata");
  if (rows.length === 0 || details.length === 0) return;
  // not every type can be compared
  const differences = details.map(({ name, value }) =>
    `to_jsonb(t.${name}) IS DISTINCT FROM to_jsonb(${value})`
  );
  await session.query(
    `UPDATE ${table.relation} t SET ${details.map(({ name, value }) => `${name} = ${value}`).join(", ")}
      FROM json_to_recordset($1::json) AS r(key text, ${rowColumns}), ${fileSql(table)}
      WHERE t.${table.idColumn} = r.key::${table.idType}
        AND (${isRenamed ? "true" : differences.join(" OR ")})`,
    [JSON.stringify(rows), ...fileValues(table, file)],
  );
}

/** The new rows' ids, in order. */
async function insertRows(
  session: SqlSession,
  table: IngestTable,
  file: PendingFile,
  rows: readonly PendingChunk[],
  vectors: ReadonlyMap<string, Float32Array>,
): Promise<readonly string[]> {
  const details = detailsOf(table);
  const columns = [
    { name: table.textColumn, value: "r.text" },
    { name: table.vectorColumn, value: `r.vector::${table.vectorType}` },
    ...(table.needsId ? [{ name: table.idColumn, value: `r.id::${table.idType}` }] : []),
    ...details,
  ];
  const records = rows.map((chunk) => ({
    text: chunk.text,
    vector: `[${vectors.get(chunk.hash)?.join(",")}]`,
    ...rowOf(chunk),
    ...(table.needsId && { id: crypto.randomUUID() }),
  }));
  const inserted = await session.query(
    `INSERT INTO ${table.relation} (${columns.map(({ name }) => name).join(", ")})
      SELECT ${columns.map(({ value }) => value).join(", ")}
      FROM json_to_recordset($1::json) AS r(text text, vector text, id text, ${rowColumns}), ${fileSql(table)}
      ORDER BY r.position RETURNING ${table.idColumn}`,
    [JSON.stringify(records), ...fileValues(table, file)],
  );
  if (inserted.length !== rows.length) {
    throw new AppError(
      "conflict",
      `Cannot ingest into ${table.relation}: the table did not accept every row; look for a trigger or rule that ` +
        "drops rows",
    );
  }
  return inserted.map(([id]) => id ?? "");
}
