import { ownSchemaSql } from "../../postgres/own_schema.ts";
import { AppError } from "../../core/app_error.ts";
import { type SqlSession, transaction } from "../../postgres/sql_session.ts";
import type { IndexSource, KeywordIndexRequest } from "./index_source.ts";

/** The schema that holds whatever Postern keeps in a user's database. */
export const ownSchema = "postern";

/** The table with one row for each keyword index of a database. */
export const indexTable = `${ownSchema}.keyword_indexes`;

/** The number for the layout of an index's tables and for the words that are in them. */
export const indexFormat = 2;

/** The documents that are kept for a word that many have: those of highest impact. */
export const listLength = 16_384;

/** @throws {AppError} `conflict` for an index of a newer version, whose tables this one does not know */
export function refuseNewerIndex(format: number, doing: string): void {
  if (format <= indexFormat) return;
  throw new AppError(
    "conflict",
    `Cannot ${doing}: a newer version of Postern made it (format ${format} in ${indexTable}; this version knows up to ` +
      `${indexFormat}); do that with that version`,
  );
}

/** The names of what belongs to an index, as SQL. They hold its number, so any table and column name will do. */
export interface IndexObjects {
  /** A row for each row of the source: `doc`, `key` (the source's id), `length`, `terms`. */
  readonly documents: string;
  /**
   * A row for each word, made by a refresh: `term`, `df` (how many documents had it), `entries` (those of highest
   * impact, highest first) and `floor` (the least impact that got in; 0 where all did).
   */
  readonly lists: string;
  /** A row for each word of a document that came after the refresh, from its list's floor on: `term`, `entry`. */
  readonly recent: string;
  readonly triggerFunction: string;
  /** A prefix; not qualified, as triggers belong to their table. */
  readonly trigger: string;
}

export function indexObjects(id: number): IndexObjects {
  return {
    documents: `${ownSchema}.keyword_${id}_documents`,
    lists: `${ownSchema}.keyword_${id}_lists`,
    recent: `${ownSchema}.keyword_${id}_recent`,
    triggerFunction: `${ownSchema}.keyword_${id}_maintain`,
    trigger: `postern_keyword_${id}`,
  };
}

/** How far the making of an index has come; a broken one no longer follows its source. */
type IndexState = "new" | "documents" | "lists" | "ready" | "broken";

/** The row of {@linkcode indexTable} that an index is known by. */
export interface IndexRecord {
  readonly id: number;
  readonly state: IndexState;
  readonly format: number;
  /** The last id that was read, or the number of the next slice of terms; undefined at a state's beginning. */
  readonly cursor?: string | undefined;
  /** The average length that impacts were computed with; 0 until it is known. */
  readonly baseLength: number;
  /** Whether parts of words are among the terms. */
  readonly grams: boolean;
  readonly objects: IndexObjects;
}

export const schemaSql = [
  ...ownSchemaSql,
  `CREATE TABLE IF NOT EXISTS ${indexTable} (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    format int NOT NULL,
    source regclass NOT NULL,
    text_column text NOT NULL,
    id_column text NOT NULL,
    config text NOT NULL,
    config_column text,
    configs text[] NOT NULL,
    base_length float8 NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'new',
    cursor text,
    documents bigint NOT NULL DEFAULT 0,
    average_length float8 NOT NULL DEFAULT 1,
    refreshed_at timestamptz,
    grams bool NOT NULL,
    UNIQUE (source, text_column))`,
];

/** The record of an index on a column, of any format; undefined where there is none. */
export async function findRecord(
  session: SqlSession,
  oid: number,
  textColumn: string,
): Promise<IndexRecord | undefined> {
  if (!await hasIndexTable(session)) return undefined;
  const [row] = await session.query(
    `SELECT json_strip_nulls(json_build_object('id', id, 'state', state, 'format', format, 'cursor', cursor,
        'baseLength', base_length, 'grams', grams))
      FROM ${indexTable} WHERE source = $1::oid AND text_column = $2`,
    [oid, textColumn],
  );
  if (row === undefined) return undefined;
  const found: Omit<IndexRecord, "objects"> = JSON.parse(row[0] ?? "");
  return { ...found, objects: indexObjects(found.id) };
}

/** Whether the database has, or had, an index of Postern's. */
export async function hasIndexTable(session: SqlSession): Promise<boolean> {
  const [row] = await session.query("SELECT to_regclass($1)", [indexTable]);
  return Boolean(row?.[0]);
}

/** Makes the record and the index's empty tables. */
export async function createRecord(
  session: SqlSession,
  request: KeywordIndexRequest,
  source: IndexSource,
): Promise<void> {
  await transaction(session, async () => {
    const [row] = await session.query(
      `INSERT INTO ${indexTable} (format, source, text_column, id_column, config, config_column, configs, grams)
      VALUES ($1, $2::oid, $3, $4, $5, $6, ARRAY[$5], $7) RETURNING id`,
      [
        indexFormat,
        source.oid,
        request.textColumn,
        request.idColumn,
        source.config,
        request.configColumn ?? null,
        String(source.grams),
      ],
    );
    for (const statement of tableSql(indexObjects(Number(row?.[0])), source)) {
      await session.query(statement);
    }
  });
}

function tableSql(objects: IndexObjects, source: IndexSource): string[] {
  const { documents, lists, recent } = objects;
  return [
    // from the source, for the id's type and collation
    `CREATE TABLE ${documents} AS SELECT s.${source.idColumn} AS key FROM ${source.table} s WITH NO DATA`,
    `ALTER TABLE ${documents} ADD doc bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      ADD length int NOT NULL, ADD terms bigint[] NOT NULL, ALTER key SET NOT NULL, ADD UNIQUE (key)`,
    `CREATE TABLE ${lists} (term bigint PRIMARY KEY, df bigint NOT NULL, floor smallint NOT NULL,
      entries bigint[] NOT NULL)`,
    // hashes and numbers do not compress
    `ALTER TABLE ${lists} ALTER entries SET STORAGE EXTERNAL`,
    `ALTER TABLE ${documents} ALTER terms SET STORAGE EXTERNAL`,
    // the primary key is what questions read backwards, and what lets a publication carry the table
    `CREATE TABLE ${recent} (term bigint, entry bigint, PRIMARY KEY (term, entry))`,
  ];
}

/** Notes how far an index has come. */
export async function saveProgress(
  session: SqlSession,
  { id }: IndexRecord,
  state: IndexState,
  cursor: string | null,
): Promise<void> {
  await session.query(`UPDATE ${indexTable} SET state = $2, cursor = $3 WHERE id = $1`, [id, state, cursor]);
}

/** Notes that an index is all that it should be. */
export async function markReady(session: SqlSession, { id }: IndexRecord): Promise<void> {
  await session.query(
    `UPDATE ${indexTable} SET state = 'ready', cursor = NULL, format = ${indexFormat} WHERE id = $1`,
    [id],
  );
}
