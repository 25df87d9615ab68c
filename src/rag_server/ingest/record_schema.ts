import { AppError } from "../../core/app_error.ts";
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

/**
 * The number for the layout of the tables, which stands in the comment on the table of files: a comment can be read without
 * any right. Tables without one have layout 2, or 1 where there is no table of sources.
 */
const recordLayout = 2;

const layoutComment = `Postern: which rows came from which file. Layout ${recordLayout}`;

/** `former`: as an earlier version made it, which knew files by their absolute paths. */
export type RecordSchema = "none" | "former" | "current";

/** @throws {AppError} `conflict` where a newer version made the tables */
export async function findRecordSchema(session: SqlSession): Promise<RecordSchema> {
  const { hasSources, hasFiles, hasChunks } = await lookForTables(session);
  if (!hasFiles || !hasChunks) return "none";
  return hasSources ? "current" : "former";
}

async function lookForTables(session: SqlSession) {
  const [row] = await session.query(
    `SELECT to_regclass('${sources}') IS NOT NULL, to_regclass('${files}') IS NOT NULL,
      to_regclass('${chunks}') IS NOT NULL,
      substring(obj_description(to_regclass('${files}'), 'pg_class') FROM 'Layout (\\d{1,9})$'),
      (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('${files}'))`,
  );
  const [layout, isOwner] = row?.slice(3) ?? [];
  if (Number(layout ?? 0) > recordLayout) {
    throw new AppError(
      "conflict",
      `Cannot use the table ${files}: a newer version of Postern made it (layout ${layout}; this version knows up to ` +
        `${recordLayout}); ingest with that version`,
    );
  }
  const [hasSources, hasFiles, hasChunks] = row?.slice(0, 3).map((value) => value === "t") ?? [];
  return { hasSources, hasFiles, hasChunks, isMarked: Boolean(layout), isOwner: isOwner === "t" };
}

/**
 * Makes the tables, or those of an earlier version into these, and forgets the files of tables that were dropped. Readers
 * of the tables wait for a moment at most.
 */
export async function openRecords(session: SqlSession, signal: AbortSignal): Promise<void> {
  if (await findRecordSchema(session) !== "current") {
    await lockingTransaction(session, signal, () => makeTables(session));
  }
  const { isMarked, isOwner } = await lookForTables(session);
  // a role that may only write leaves that to the next run of the owner's
  if (!isMarked && isOwner) await session.query(`COMMENT ON TABLE ${files} IS '${layoutComment}'`);
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
