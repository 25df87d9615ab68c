import type { Database } from "../postgres/database.ts";
import { findKeywordIndex } from "./keyword/find_keyword_index.ts";
import { keywordArm } from "./keyword/keyword_arm.ts";
import { readTable, type TableSettings } from "./read_table.ts";
import type { SearchedTable } from "./retrieve.ts";

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
  const keyed = table.key.name === "ctid" ? { ...index, idColumn: "ctid" } : index;
  return {
    table,
    keywordArm: ({ question, limit, filter }) =>
      keywordArm(keyed, { question, limit, ...(filter !== undefined && { filter }) }),
  };
}
