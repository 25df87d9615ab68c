import { AppError } from "../../core/app_error.ts";
import { type SqlSession, transaction } from "../../postgres/sql_session.ts";

/**
 * The tables that say which rows came from which file. They have a schema of their own, so the table may be anyone's.
 *
 * `sources`: folders by name. `files`: by their source and their path below its folder. `chunks`: the rows of each file.
 */
export const recordTables = {
  sources: "postern.ingested_sources",
  files: "postern.ingested_files",
  chunks: "postern.ingested_chunks",
} as const;

const { sources, files, chunks } = recordTables;

/** The number for the layout of the tables. It stands in a comment, which can be read without any right. */
const recordLayout = 1;

const tablesSql = [
  "CREATE SCHEMA IF NOT EXISTS postern",
  `CREATE TABLE IF NOT EXISTS ${sources} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    target regclass NOT NULL,
    name text NOT NULL,
    folder text NOT NULL,
    is_whole boolean NOT NULL,
    UNIQUE (target, name))`,
  `CREATE TABLE IF NOT EXISTS ${files} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    target regclass NOT NULL,
    source_id bigint NOT NULL REFERENCES ${sources} ON DELETE CASCADE,
    path text NOT NULL,
    hash text NOT NULL,
    ingested_at timestamptz NOT NULL,
    UNIQUE (source_id, path))`,
  `CREATE TABLE IF NOT EXISTS ${chunks} (
    file bigint NOT NULL REFERENCES ${files} ON DELETE CASCADE,
    position int NOT NULL,
    key text NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (file, position))`,
  `COMMENT ON TABLE ${files} IS 'Postern: which rows came from which file. Layout ${recordLayout}'`,
];

/** @throws {AppError} `conflict` where a newer version made the tables */
export async function hasRecords(session: SqlSession): Promise<boolean> {
  const [row] = await session.query(
    `SELECT to_regclass('${sources}') IS NOT NULL AND to_regclass('${files}') IS NOT NULL
        AND to_regclass('${chunks}') IS NOT NULL,
      substring(obj_description(to_regclass('${files}'), 'pg_class') FROM 'Layout (\\d{1,9})$')`,
  );
  const [hasAll, layout] = row ?? [];
  if (Number(layout ?? 0) > recordLayout) {
    throw new AppError(
      "conflict",
      `Cannot use the table ${files}: a newer version of Postern made it (layout ${layout}; this version knows up to ` +
        `${recordLayout}); ingest with that version`,
    );
  }
  return hasAll === "t";
}

/** Makes the tables where they are not there, and forgets the files of tables that were dropped. */
export async function openRecords(session: SqlSession): Promise<void> {
  if (!await hasRecords(session)) {
    await transaction(session, async () => {
      // of two runs, the second one finds the tables made
      await session.query("SELECT pg_advisory_xact_lock(hashtextextended('postern ingest records', 0))");
      for (const statement of tablesSql) await session.query(statement);
    });
  }
  // their files and chunks go with them
  await session.query(
    `DELETE FROM ${sources} s WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = s.target)`,
  );
}
