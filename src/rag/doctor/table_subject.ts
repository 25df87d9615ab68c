import type { Database } from "../../postgres/database.ts";
import type { DocumentTable } from "../document_table.ts";
import type { SearchedTableSettings } from "../open_searched_table.ts";
import type { TableFacts } from "./table_facts.ts";

/** A table with what is known of it once it can be searched. */
export interface TableSubject {
  /** The pipeline's name. */
  readonly pipeline: string;
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

/** A setting of the command line, quoted where a shell would read more into it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
