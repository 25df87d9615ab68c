import { shellWord } from "../../core/shell_word.ts";
import type { Database } from "../../postgres/database.ts";
import { quoteIdentifier } from "../../postgres/sql_text.ts";
import type { DocumentTable } from "../search/document_table.ts";
import type { SearchedTableSettings } from "../search/searched_table.ts";
import type { TableFacts } from "./table_facts.ts";

/** A table with what is known of it once it can be searched. */
export interface TableSubject {
  /** The pipeline's name. */
  readonly pipeline: string;
  /** Whether `-ingest` writes to it: it is the pipeline's first. */
  readonly isIngestTarget: boolean;
  readonly database: Database;
  readonly settings: SearchedTableSettings;
  readonly table: DocumentTable;
  readonly facts: TableFacts;
  /** One by the provider; undefined where it gives none. */
  readonly embedding: () => Promise<Float32Array | undefined>;
}

/** Rows up to which comparing all of them takes no longer than an index would save. */
export const fewRows = 10_000;

/** A number of rows for people. */
export function rowsText(rows: number): string {
  return `about ${rows.toLocaleString("en-US")} rows`;
}

/** The beginning of a statement that makes an index, as far as that can be done without stopping writers. */
export function createIndexOn({ base, relation }: TableFacts): string {
  // a partitioned table's indexes cannot be made CONCURRENTLY
  const how = base?.kind === "p" ? "" : "CONCURRENTLY ";
  return `CREATE INDEX ${how}ON ${base?.relation ?? relation}`;
}

/** The statement that shows which of the documents meet a condition. */
export function selectRows(
  { settings, table: { relation, key, textColumn } }: TableSubject,
  where: string,
): string {
  const column = key.isId ? quoteIdentifier(key.name) : textColumn;
  // the line ends keep a comment at the text's end from taking the parenthesis with it
  const own = typeof settings.filter === "string" ? ` AND (\n${settings.filter}\n)` : "";
  return `SELECT ${column} FROM ${relation} AS source WHERE ${where}${own};`;
}

export function ingestCommand({ pipeline }: TableSubject): string {
  return `server -ingest ${shellWord(pipeline)} FOLDER`;
}
