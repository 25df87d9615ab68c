import type { Database } from "../../postgres/database.ts";
import { findKeywordIndex } from "../keyword/find_keyword_index.ts";
import { keywordSearch } from "../keyword/keyword_search.ts";
import { readTable, type TableSettings } from "./read_table.ts";
import type { SearchedTable } from "./retrieve.ts";
import { volumeSql } from "./table_sql.ts";

export interface SearchedTableSettings extends TableSettings {
  /** The text search configuration of the text, or the column that holds each row's; `english` where it is absent. */
  readonly textSearchConfig?: string;
}

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
  const table = await readTable(database, settings, signal);
  const { textColumn, textSearchConfig } = settings;
  const isColumn = textSearchConfig !== undefined && table.columns.has(textSearchConfig);
  const index = await findKeywordIndex(database, {
    table: table.relation,
    textColumn,
    // a row's place is no column that an index could know
    idColumn: table.key.name === "ctid" ? textColumn : table.key.name,
    ...(textSearchConfig !== undefined && !isColumn && { config: textSearchConfig }),
    principal: { kind: "local" },
    signal,
  });
  const isScanned = index.kind === "tsvector" && index.vector === undefined;
  const scanned = isScanned ? await volumeOf(database, table.relation, signal) : nothing;
  if (scanned.rows > maxScannedRows || scanned.bytes > maxScannedBytes) {
    return { table, needsKeywordIndex: true };
  }
  const keyed = table.key.name === "ctid" ? { ...index, idColumn: "ctid" } : index;
  return {
    table,
    ...(scanned.rows > fewTexts && { readsTexts: true }),
    keywordSearch: (search) => keywordSearch(keyed, search),
  };
}

/** What a query may have to read of texts that no index holds the words of: each is analysed anew. */
const maxScannedRows = 10_000;
const maxScannedBytes = 128 * 1_048_576;
/** Rows up to which that takes no time that anyone would notice. */
const fewTexts = 1_000;

interface Volume {
  readonly rows: number;
  readonly bytes: number;
}

const nothing: Volume = { rows: 0, bytes: 0 };

async function volumeOf(database: Database, relation: string, signal: AbortSignal): Promise<Volume> {
  const outcome = await database.read({
    principal: { kind: "local" },
    trusted: true,
    signal,
    sql: volumeSql,
    parameters: [relation],
  });
  signal.throwIfAborted();
  // what cannot be told is tried; a search that takes too long goes on without the words
  const [rows, bytes] = outcome.ok ? outcome.rows[0] ?? [] : [];
  return { rows: Number(rows ?? 0), bytes: Number(bytes ?? 0) };
}
