import { ownCommand, shellWord } from "../../../core/own_command.ts";
import { type Principal, readerFor } from "../../../core/principal.ts";
import type { Database } from "../../../postgres/database.ts";
import { quoteIdentifier } from "../../../postgres/sql_text.ts";
import { recordTables } from "../../../rag_server/ingest/record_schema.ts";
import { mayReadSql } from "../../../rag_server/keyword/find_keyword_index.ts";
import type { DocumentTable } from "../../../rag_server/search/document_table.ts";
import type { SearchedTableSettings } from "../../../rag_server/search/searched_table.ts";
import { readJson, readRows } from "../../../postgres/read/read_trusted.ts";
import type { TableFacts } from "./table_facts.ts";
import { UntoldCallerError } from "../../../postgres/read/caller_settings.ts";

export interface TableToCheck {
  /** The pipeline's name. */
  readonly pipeline: string;
  /** Whether `-ingest` writes to it: it is the pipeline's first. */
  readonly isIngestTarget: boolean;
  /** Whether the configuration says what `-ingest` reads. */
  readonly hasSources?: boolean;
  readonly database: Database;
  readonly settings: SearchedTableSettings;
  /** Whether its words are searched. */
  readonly isHybrid: boolean;
  /** Whom to search as, where rows depend on who asks. */
  readonly caller?: Principal | undefined;
  /** One by the provider; undefined where it gives none. */
  readonly embedding: () => Promise<Float32Array | undefined>;
}

/** Why nothing can be searched as the caller; undefined where it can. */
export function whyUntold({ database, caller }: TableToCheck): string | undefined {
  try {
    database.checkCaller(readerFor(caller));
    return undefined;
  } catch (error) {
    if (!(error instanceof UntoldCallerError)) throw error;
    return `${error.reason}; -claims gives -doctor a caller to try it as`;
  }
}

/** A table with what is known of it once it can be searched. */
export interface TableSubject extends TableToCheck {
  readonly table: DocumentTable;
  readonly facts: TableFacts;
}

/** Rows up to which comparing all of them takes no longer than an index would save. */
export const rowsWithoutIndex = 10_000;

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

export function ingestCommand({ pipeline, hasSources = false }: TableSubject): string {
  return `${ownCommand().name} -ingest ${shellWord(pipeline)}${hasSources ? "" : " FOLDER"}`;
}

/** SQL for a column that numbers the rows of a table, or words where only another relation can have it. */
export function addIdColumn({ relation, kind, hasPrimaryKey }: TableFacts, name: string): string {
  const column = quoteIdentifier(name);
  switch (kind) {
    case "r":
      return `ALTER TABLE ${relation} ADD COLUMN ${column} bigint GENERATED ALWAYS AS IDENTITY ${
        hasPrimaryKey ? "UNIQUE" : "PRIMARY KEY"
      };`;
    // before PostgreSQL 17 it takes no identity column, and an index on this column alone is not unique in any version
    case "p":
      return `ALTER TABLE ${relation} ADD COLUMN ${column} bigserial;\nCREATE INDEX ON ${relation} (${column});`;
    default:
      return `-- To add it, change what ${relation} reads`;
  }
}

/** Whether `-ingest` wrote rows of a table: that is on record, it is not, or the role may not read the record. */
export type IngestKnowledge = "known" | "unknown" | "unreadable";

/** What is on record of a table; nothing where `-ingest` writes to another table of the pipeline. */
export async function readIngestKnowledge(
  { database, facts, isIngestTarget }: TableSubject,
  signal: AbortSignal,
): Promise<IngestKnowledge> {
  if (!isIngestTarget || !isWritable(facts.kind)) return "unknown";
  const mayRead = await readJson<boolean>(
    database,
    signal,
    `SELECT to_json(bool_and(may)) FROM ((${mayReadSql(recordTables.files)})
      UNION ALL (${mayReadSql(recordTables.chunks)})) rights(may)`,
  );
  if (mayRead === undefined) return "unknown";
  if (!mayRead) return "unreadable";
  const [row] = await readRows(
    database,
    signal,
    `SELECT 1 FROM ${recordTables.files} WHERE target = $1::oid LIMIT 1`,
    [facts.oid],
  );
  return row === undefined ? "unknown" : "known";
}

/** Whether rows can be put into a relation of a kind, by `pg_class.relkind`. */
export function isWritable(kind: string): boolean {
  return kind === "r" || kind === "p";
}
