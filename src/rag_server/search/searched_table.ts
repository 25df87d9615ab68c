import { AppError } from "../../core/app_error.ts";
import { serverItself } from "../../core/principal.ts";
import type { Database } from "../../postgres/database.ts";
import { nameInMessage, renderSql, sql, type SqlText } from "../../postgres/sql_text.ts";
import { findKeywordIndex, type KeywordIndex, mayReadSql } from "../keyword/find_keyword_index.ts";
import {
  isScannedSql,
  keywordSearch,
  lackOfWords,
  longestScan,
  type SearchByWords,
} from "../keyword/keyword_search.ts";
import { type DocumentTable, readTable, type TableSettings } from "./document_table.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import { readRows } from "../../postgres/read/read_trusted.ts";
import { recordTables } from "../ingest/record_schema.ts";

export interface SearchedTableSettings extends TableSettings {
  /** The text search configuration of the text, or the column that holds each row's. Optional; the default is `english`. */
  readonly textSearchConfig?: string;
  /** Whether the keyword index has parts of words. Optional; the default depends on the configuration. */
  readonly wordParts?: boolean;
}

/** A table that is searched. */
export interface SearchedTable {
  readonly table: DocumentTable;
  /** The kind of its index over words. Optional: none where it has none. */
  readonly keywordIndex?: KeywordIndex["kind"];
  /** Optional: none where its words are not searched. */
  readonly keywordSearch?: SearchByWords;
  /** Optional, as the search. */
  readonly lackOfWords?: (words: readonly string[]) => SqlText;
  /**
   * Whether each question needs a plan of its own: extensions look at the question when they plan, and some give no scores,
   * or no rows, by a plan that was made for every question.
   */
  readonly isPlannedAnew?: boolean;
  /** Why its words are not searched, or not for every caller; for the log. Optional: none where they are. */
  readonly lackText?: string;
  /** Whether a question reads so many texts for want of one that it is felt. */
  readonly readsTexts?: boolean;
}

/** What ranks with PostgreSQL's own means. */
const ranksByCore: readonly KeywordIndex["kind"][] = ["postern", "tsvector"];
/** Rows up to which their words are ranked without an index in no time that anyone would notice. */
export const fewTexts = 1_000;

/** There is too much to read for a query without an index. */
const needsKeywordIndex =
  "A table is not searched by keywords: it is too large without a keyword index; build one with -index-pipeline";

const needsWordsColumn =
  `Callers who may see more than ${longestScan.text} of a table's texts are answered by meaning alone, not by words; ` +
  "give the table a tsvector column with a GIN index: -doctor has the SQL";

/**
 * A table with the best means that the database has to search it by words.
 *
 * @throws {AppError} as `readTable` and `findKeywordIndex` do
 */
export async function openSearchedTable(
  database: Database,
  settings: SearchedTableSettings,
  signal: AbortSignal,
): Promise<SearchedTable> {
  const found = await readTable(database, settings, signal);
  const table: DocumentTable = isOfCallers(database, found) ? { ...found, isExact: true } : found;
  const fault = encodingFault(table);
  if (fault !== undefined) return { table, lackText: fault.message };
  const index = await keywordIndexOf(database, table, settings, signal);
  const keyed = table.key.name === "ctid" ? { ...index, idColumn: "ctid" } : index;
  const searched: SearchedTable = {
    table,
    keywordSearch: (search) => keywordSearch(keyed, search),
    lackOfWords: (words) => lackOfWords(keyed, words),
    ...(!ranksByCore.includes(index.kind) && { isPlannedAnew: true }),
  };
  if (index.kind !== "tsvector" || index.vector !== undefined) {
    return { ...searched, keywordIndex: index.kind };
  }
  const { rows } = table;
  const areMany = rows > longestScan.rows;
  // what others have does not decide how a caller is answered: the search counts what that caller may see
  if (index.isOfCallers) return { ...searched, ...(areMany && { lackText: needsWordsColumn }) };
  // the pipeline's filter may take long
  const isScanned = !areMany && await holds(database, isScannedSql(index, undefined), signal);
  if (!isScanned) return { table, lackText: needsKeywordIndex };
  return { ...searched, ...(rows > fewTexts && { readsTexts: true }) };
}

async function holds(database: Database, condition: SqlText, signal: AbortSignal): Promise<boolean> {
  const result = await database.read({
    principal: serverItself,
    trusted: true,
    signal,
    ...renderSql(sql`SELECT ${condition}`),
  });
  return result.ok && result.rows[0]?.[0] === "t";
}

/**
 * Whether callers have rows of their own in a table. Then nothing that knows of all rows may answer: an index over vectors
 * comes back short where the rows of others are nearer, and a keyword index weighs words by the texts of all.
 */
export function isOfCallers(database: Database, { mayHideRows }: DocumentTable): boolean {
  return mayHideRows && database.rightsKey(serverItself) !== "";
}

/** What keeps words from being searched: other encodings lack letters that are looked for, or know no letters. */
export function encodingFault({ name, encoding }: DocumentTable): AppError | undefined {
  if (encoding === "UTF8") return undefined;
  return new AppError(
    "invalid",
    `Cannot search the words of ${
      nameInMessage(name)
    }: its database has the encoding ${encoding}; expected UTF8: ` +
      "restore a dump of it into a database that is made WITH TEMPLATE template0 ENCODING 'UTF8'",
  );
}

/**
 * The means to rank a table's rows by words.
 *
 * @throws {AppError} `invalid` for a database's encoding, and as `findKeywordIndex` does
 */
export async function keywordIndexOf(
  database: Database,
  table: DocumentTable,
  { textColumn, textSearchConfig }: SearchedTableSettings,
  signal: AbortSignal,
): Promise<KeywordIndex> {
  const fault = encodingFault(table);
  if (fault !== undefined) throw fault;
  const isColumn = textSearchConfig !== undefined && table.columns.has(textSearchConfig);
  return await findKeywordIndex(database, {
    table: table.relation,
    textColumn,
    // an index cannot have ctid as a column
    idColumn: table.key.name === "ctid" ? textColumn : table.key.name,
    ...(textSearchConfig !== undefined && !isColumn && { config: textSearchConfig }),
    isOfCallers: isOfCallers(database, table),
    signal,
  });
}

/** A pipeline's table as `/v1/health` tells of it. */
export type TableState = ReturnType<typeof stateOf>;

const longestReadMs = 5_000;

/** Reads when a table's latest file was read into it, in milliseconds since 1970. */
const latestSql =
  `SELECT floor(extract(epoch FROM max(ingested_at)) * 1000) FROM ${recordTables.files} WHERE target = to_regclass($1)`;

/**
 * Tells of a pipeline's tables what the last look at them found, and when files were last read into them, which it reads
 * once for each look. Resolves with undefined where the database does not tell.
 *
 * @param look resolves with what the last look found, the same object until the next look
 */
export function createTableReader(
  database: Database,
  look: (signal: AbortSignal) => Promise<readonly SearchedTable[]>,
): () => Promise<readonly TableState[] | undefined> {
  let told: readonly TableState[] = [];
  let toldOf: readonly SearchedTable[] | undefined;

  async function read(signal: AbortSignal): Promise<readonly TableState[]> {
    const tables = await look(signal);
    if (toldOf === tables) return told;
    const value = async (sql: string, parameters?: string[]) =>
      (await readRows(database, signal, sql, parameters))[0]?.[0];
    const mayKnow = await value(mayReadSql(recordTables.files)) === "t";
    told = await Promise.all(
      tables.map(async (searched) =>
        stateOf(searched, mayKnow ? await value(latestSql, [searched.table.relation]) : null)
      ),
    );
    toldOf = tables;
    return told;
  }

  return () => withDeadline(longestReadMs, undefined, read).catch(() => undefined);
}

function stateOf({ table, keywordIndex }: SearchedTable, latest: string | null | undefined) {
  return {
    name: table.name,
    rows: table.rows || undefined,
    keyword_index: keywordIndex ?? false as const,
    vector_index: table.vector.indexes[0]?.method ?? false as const,
    ingested_at: latest ? new Date(Number(latest)).toISOString() : undefined,
  };
}
