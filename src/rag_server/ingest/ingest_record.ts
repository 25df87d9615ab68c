import type { Row } from "../../postgres/read/portal.ts";
import { type SqlSession, transaction } from "../../postgres/sql_session.ts";
import type { KnownSource } from "./assign_sources.ts";
import type { IngestTable } from "./ingest_table.ts";
import { hasRecords, recordTables } from "./record_schema.ts";

const { sources, files, chunks } = recordTables;

export interface FileRecord {
  readonly id: string;
  /** The source's name. */
  readonly source: string;
  /** Below the source's folder, with `/`. */
  readonly path: string;
  /**
   * Changes with the file's bytes, and with all that its chunks depend on besides. Empty where the file got another path,
   * and its rows do not tell so yet.
   */
  readonly hash: string;
  /** Whether it has rows, and all of them are still in the table. */
  readonly isWhole: boolean;
}

export interface RecordedChunk {
  /** The row's id, as text. */
  readonly key: string;
  readonly hash: string;
}

/** The sources and files of a table that are on record. */
export interface IngestRecords {
  readonly sources: readonly KnownSource[];
  readonly files: readonly FileRecord[];
}

/** @throws {AppError} `conflict` where a newer version made the tables */
export async function readRecords(session: SqlSession, table: IngestTable): Promise<IngestRecords> {
  if (!await hasRecords(session)) return { sources: [], files: [] };
  const rows = await session.query(
    `SELECT json_build_object('id', f.id::text, 'source', s.name, 'path', f.path, 'hash', f.hash,
        'isWhole', count(c.key) > 0 AND count(t.${table.idColumn}) = count(c.key))
      FROM ${files} f JOIN ${sources} s ON s.id = f.source_id
      LEFT JOIN ${chunks} c ON c.file = f.id
      LEFT JOIN ${table.relation} t ON t.${table.idColumn} = c.key::${table.idType}
      WHERE f.target = $1::oid GROUP BY f.id, s.name ORDER BY f.id`,
    [table.oid],
  );
  const known = await session.query(
    `SELECT json_build_object('name', name, 'folder', folder, 'isWhole', is_whole)
      FROM ${sources} WHERE target = $1::oid ORDER BY id`,
    [table.oid],
  );
  const read = ([json]: Row) => JSON.parse(json ?? "");
  return { sources: known.map(read), files: rows.map(read) };
}

/** The chunks of a file that are still in the table. */
export async function readChunks(
  session: SqlSession,
  table: IngestTable,
  file: FileRecord,
): Promise<readonly RecordedChunk[]> {
  const rows = await session.query(
    `SELECT c.key, c.hash FROM ${chunks} c
      JOIN ${table.relation} t ON t.${table.idColumn} = c.key::${table.idType}
      WHERE c.file = $1 ORDER BY c.position`,
    [file.id],
  );
  return rows.map(([key, hash]) => ({ key: key ?? "", hash: hash ?? "" }));
}

/** Notes where a source is, in the caller's transaction. Single files of a folder do not say where the rest is. */
export async function saveSource(
  session: SqlSession,
  table: IngestTable,
  { name, folder, isWhole }: KnownSource,
): Promise<void> {
  await session.query(
    `INSERT INTO ${sources} AS s (target, name, folder, is_whole) VALUES ($1::oid, $2, $3, $4::bool)
      ON CONFLICT (target, name) DO UPDATE
        SET folder = CASE WHEN s.is_whole AND NOT excluded.is_whole THEN s.folder ELSE excluded.folder END,
          is_whole = s.is_whole OR excluded.is_whole`,
    [table.oid, name, folder, String(isWhole)],
  );
}

export async function removeSource(session: SqlSession, table: IngestTable, name: string): Promise<void> {
  await session.query(`DELETE FROM ${sources} WHERE target = $1::oid AND name = $2`, [table.oid, name]);
}

/** Gives files of a source other paths, in the caller's transaction. Their rows follow when they are read. */
export async function moveRecords(session: SqlSession, moved: readonly FileRecord[]): Promise<void> {
  if (moved.length === 0) return;
  await session.query(
    `UPDATE ${files} f SET path = m.path, hash = m.hash
      FROM json_to_recordset($1::json) AS m(id bigint, path text, hash text) WHERE f.id = m.id`,
    [JSON.stringify(moved)],
  );
}

/** Notes what a file's chunks are now, in the caller's transaction. */
export async function saveRecord(
  session: SqlSession,
  table: IngestTable,
  file: { readonly source: string; readonly path: string; readonly hash: string },
  written: readonly RecordedChunk[],
): Promise<void> {
  const [row] = await session.query(
    `INSERT INTO ${files} (target, source_id, path, hash, ingested_at)
      SELECT s.target, s.id, $3, $4, now() FROM ${sources} s WHERE s.target = $1::oid AND s.name = $2
      ON CONFLICT (source_id, path) DO UPDATE SET hash = excluded.hash, ingested_at = excluded.ingested_at
      RETURNING id`,
    [table.oid, file.source, file.path, file.hash],
  );
  const id = row?.[0] ?? "";
  await session.query(`DELETE FROM ${chunks} WHERE file = $1`, [id]);
  await session.query(
    `INSERT INTO ${chunks} (file, position, key, hash)
      SELECT $1, e.position - 1, e.chunk ->> 'key', e.chunk ->> 'hash'
      FROM json_array_elements($2::json) WITH ORDINALITY e(chunk, position)`,
    [id, JSON.stringify(written)],
  );
}

/** Takes a file's rows out of the table, and the record of it. */
export async function removeFile(session: SqlSession, table: IngestTable, file: FileRecord): Promise<void> {
  await transaction(session, async () => {
    await session.query(
      `DELETE FROM ${table.relation} WHERE ${table.idColumn} IN
        (SELECT c.key::${table.idType} FROM ${chunks} c WHERE c.file = $1)`,
      [file.id],
    );
    await session.query(`DELETE FROM ${files} WHERE id = $1`, [file.id]);
  });
}
