import { lockingTransaction, type SqlSession } from "../../postgres/sql_session.ts";

/**
 * The tables that say which rows came from which file. They have a schema of their own, so the table may be anyone's.
 *
 * `sources`: folders by name. `files`: by their source and their path below its folder; of files without a source, which an
 * earlier version ingested, `former_path` is the absolute path. `chunks`: the rows of each file.
 */
export const recordTables = {
  sources: "postern.ingested_sources",
  files: "postern.ingested_files",
  chunks: "postern.ingested_chunks",
} as const;

const { sources, files, chunks } = recordTables;

const sourcesSql = `CREATE TABLE ${sources} (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  target regclass NOT NULL,
  name text NOT NULL,
  folder text NOT NULL,
  is_whole boolean NOT NULL,
  UNIQUE (target, name))`;

const newSql = [
  "CREATE SCHEMA IF NOT EXISTS postern",
  sourcesSql,
  `CREATE TABLE ${files} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    target regclass NOT NULL,
    source_id bigint REFERENCES ${sources} ON DELETE CASCADE,
    path text NOT NULL,
    former_path text,
    hash text NOT NULL,
    ingested_at timestamptz NOT NULL,
    UNIQUE (source_id, path))`,
];

/** An earlier version then stops at its first look, before it embeds anything: it knows no other column names. */
const migrationSql = [
  sourcesSql,
  `ALTER TABLE ${files} RENAME COLUMN path TO former_path`,
  `ALTER TABLE ${files} RENAME COLUMN source TO path`,
  `ALTER TABLE ${files} DROP CONSTRAINT IF EXISTS ingested_files_target_path_key,
    ALTER COLUMN former_path DROP NOT NULL,
    ADD COLUMN source_id bigint REFERENCES ${sources} ON DELETE CASCADE,
    ADD UNIQUE (source_id, path)`,
];

const chunksSql = `CREATE TABLE IF NOT EXISTS ${chunks} (
  file bigint NOT NULL REFERENCES ${files} ON DELETE CASCADE,
  position int NOT NULL,
  key text NOT NULL,
  hash text NOT NULL,
  PRIMARY KEY (file, position))`;

/** `former`: as an earlier version made it, which knew files by their absolute paths. */
export type RecordSchema = "none" | "former" | "current";

export async function findRecordSchema(session: SqlSession): Promise<RecordSchema> {
  const { hasSources, hasFiles, hasChunks } = await lookForTables(session);
  if (!hasFiles || !hasChunks) return "none";
  return hasSources ? "current" : "former";
}

async function lookForTables(session: SqlSession) {
  const [row] = await session.query(
    `SELECT to_regclass('${sources}') IS NOT NULL, to_regclass('${files}') IS NOT NULL,
      to_regclass('${chunks}') IS NOT NULL`,
  );
  const [hasSources, hasFiles, hasChunks] = row?.map((value) => value === "t") ?? [];
  return { hasSources, hasFiles, hasChunks };
}

/**
 * Makes the tables, or those of an earlier version into these, and forgets the files of tables that were dropped. Readers
 * of the tables wait for a moment at most.
 */
export async function openRecords(session: SqlSession, signal: AbortSignal): Promise<void> {
  if (await findRecordSchema(session) !== "current") {
    await lockingTransaction(session, signal, () => makeTables(session));
  }
  for (const table of [sources, files]) {
    await session.query(
      `DELETE FROM ${table} f WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = f.target)`,
    );
  }
}

async function makeTables(session: SqlSession): Promise<void> {
  // of two runs, the second one finds the tables made
  await session.query("SELECT pg_advisory_xact_lock(hashtextextended('postern ingest records', 0))");
  const { hasSources, hasFiles } = await lookForTables(session);
  const statements = hasSources ? [] : hasFiles ? migrationSql : newSql;
  for (const statement of [...statements, chunksSql]) await session.query(statement);
}
