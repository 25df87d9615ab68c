import { type SqlSession, transaction } from "../../postgres/sql_session.ts";
import type { IngestTable } from "./ingest_table.ts";

const files = "postern.ingested_files";
const chunks = "postern.ingested_chunks";

/** Which rows of a table came from which file: in a schema of Postern's own, so the table may be anyone's. */
const schemaSql = [
  "CREATE SCHEMA IF NOT EXISTS postern",
  `CREATE TABLE IF NOT EXISTS ${files} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    target regclass NOT NULL,
    path text NOT NULL,
    source text NOT NULL,
    hash text NOT NULL,
    ingested_at timestamptz NOT NULL,
    UNIQUE (target, path))`,
  `CREATE TABLE IF NOT EXISTS ${chunks} (
    file bigint NOT NULL REFERENCES ${files} ON DELETE CASCADE,
    position int NOT NULL,
    key text NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (file, position))`,
];

export interface FileRecord {
  readonly id: string;
  readonly path: string;
  readonly source: string;
  /** Of the file's bytes and of all that its chunks depend on besides. */
  readonly hash: string;
  /** Whether all of its rows are still in the table. */
  readonly isWhole: boolean;
}

export interface RecordedChunk {
  /** The row's id, as text. */
  readonly key: string;
  readonly hash: string;
}

/** Makes the tables that the others of this file need, and forgets the files of tables that were dropped. */
export async function openRecords(session: SqlSession): Promise<void> {
  const [exists] = await session.query("SELECT to_regclass($1)", [chunks]);
  if (!exists?.[0]) {
    for (const statement of schemaSql) await session.query(statement);
  }
  await session.query(
    `DELETE FROM ${files} f WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = f.target)`,
  );
}

/** The files that were ingested into a table, by path. */
export async function readRecords(
  session: SqlSession,
  table: IngestTable,
): Promise<ReadonlyMap<string, FileRecord>> {
  const rows = await session.query(
    `SELECT f.id, f.path, f.source, f.hash, (count(t.${table.idColumn}) = count(c.key))::int FROM ${files} f
      LEFT JOIN ${chunks} c ON c.file = f.id
      LEFT JOIN ${table.relation} t ON t.${table.idColumn} = c.key::${table.idType}
      WHERE f.target = $1::oid GROUP BY f.id`,
    [table.oid],
  );
  const records = rows.map(([id, path, source, hash, isWhole]): FileRecord => ({
    id: id ?? "",
    path: path ?? "",
    source: source ?? "",
    hash: hash ?? "",
    isWhole: isWhole === "1",
  }));
  return new Map(records.map((record) => [record.path, record]));
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

/** Notes what a file's chunks are now, in the caller's transaction. */
export async function saveRecord(
  session: SqlSession,
  table: IngestTable,
  file: { readonly path: string; readonly source: string; readonly hash: string },
  written: readonly RecordedChunk[],
): Promise<void> {
  const [row] = await session.query(
    `INSERT INTO ${files} (target, path, source, hash, ingested_at) VALUES ($1::oid, $2, $3, $4, now())
      ON CONFLICT (target, path) DO UPDATE
        SET source = excluded.source, hash = excluded.hash, ingested_at = excluded.ingested_at
      RETURNING id`,
    [table.oid, file.path, file.source, file.hash],
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
