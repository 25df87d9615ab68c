import { serverItself } from "../../core/principal.ts";
import type { Database } from "../../postgres/database.ts";
import { renderSql, sql, type SqlText } from "../../postgres/sql_text.ts";
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
  /** Optional: none where its words are not searched. */
  readonly keywordSearch?: SearchByWords;
  /** Optional, as the search. */
  readonly lackOfWords?: (words: readonly string[]) => SqlText;
  /**
   * Whether each question needs a plan of its own: extensions look at the question when they plan, and some give no scores,
   * or no rows, by a plan that was made for every question.
   */
  readonly isPlannedAnew?: boolean;
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
  const index = await keywordIndexOf(database, table, settings, signal);
  const keyed = table.key.name === "ctid" ? { ...index, idColumn: "ctid" } : index;
  const searched: SearchedTable = {
    table,
    keywordSearch: (search) => keywordSearch(keyed, search),
    lackOfWords: (words) => lackOfWords(keyed, words),
    ...(!ranksByCore.includes(index.kind) && { isPlannedAnew: true }),
  };
  if (index.kind !== "tsvector" || index.vector !== undefined) return searched;
  const { rows } = table;
  const areMany = rows > longestScan.rows;
  // what others have does not decide how a caller is answered: the search counts what that caller may see
  if (index.isOfCallers) return { ...searched, ...(areMany && { needsWordsColumn: true }) };
  const isScanned = !areMany && await holds(database, isScannedSql(index, table.filter), signal);
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

/**
 * The means to rank a table's rows by words.
 *
 * @throws {AppError} as `findKeywordIndex` does
 */
export function keywordIndexOf(
  database: Database,
  table: DocumentTable,
  { textColumn, textSearchConfig }: SearchedTableSettings,
  signal: AbortSignal,
): Promise<KeywordIndex> {
  const isColumn = textSearchConfig !== undefined && table.columns.has(textSearchConfig);
  return findKeywordIndex(database, {
    table: table.relation,
    textColumn,
    // an index cannot have ctid as a column
    idColumn: table.key.name === "ctid" ? textColumn : table.key.name,
    ...(textSearchConfig !== undefined && !isColumn && { config: textSearchConfig }),
    isOfCallers: isOfCallers(database, table),
    signal,
  });
}
