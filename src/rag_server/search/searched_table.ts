import { AppError } from "../../core/app_error.ts";
import { serverItself } from "../../core/principal.ts";
import type { Database } from "../../postgres/database.ts";
import { nameInMessage, renderSql, sql, type SqlText } from "../../postgres/sql_text.ts";
import { findKeywordIndex, type KeywordIndex } from "../keyword/find_keyword_index.ts";
import {
  isScannedSql,
  keywordSearch,
  lackOfWords,
  longestScan,
  type SearchByWords,
} from "../keyword/keyword_search.ts";
import { type DocumentTable, readTable, type TableSettings } from "./document_table.ts";

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
  /** Why its words are searched by no means at all. */
  readonly encodingFault?: AppError;
  /** Whether that is for want of a keyword index: there is too much to read for a query without one. */
  readonly needsKeywordIndex?: boolean;
  /** Whether callers who may see too much to read get no search by words, for want of a `tsvector` column. */
  readonly needsWordsColumn?: boolean;
  /** Whether a question reads so many texts for want of one that it is felt. */
  readonly readsTexts?: boolean;
}

/** What ranks with PostgreSQL's own means. */
const ranksByCore: readonly KeywordIndex["kind"][] = ["postern", "tsvector"];
/** Rows up to which their words are ranked without an index in no time that anyone would notice. */
export const fewTexts = 1_000;

/** For the log, of a table that `needsWordsColumn`. */
export const wordsColumnText =
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
  if (fault !== undefined) return { table, encodingFault: fault };
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
  if (index.isOfCallers) return { ...searched, ...(areMany && { needsWordsColumn: true }) };
  // the pipeline's filter may take long
  const isScanned = !areMany && await holds(database, isScannedSql(index, undefined), signal);
  if (!isScanned) return { table, needsKeywordIndex: true };
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
