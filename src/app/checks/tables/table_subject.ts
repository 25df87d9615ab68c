import { ownCommand, shellWord } from "../../../core/own_command.ts";
import { type Principal, readerFor } from "../../../core/principal.ts";
import type { Database } from "../../../postgres/database.ts";
import { quoteIdentifier, quoteParts } from "../../../postgres/sql_text.ts";
import { recordTables } from "../../../rag_server/ingest/record_schema.ts";
import { mayReadSql } from "../../../rag_server/keyword/find_keyword_index.ts";
import { type DocumentTable, rowsSql } from "../../../rag_server/search/document_table.ts";
import type { SearchedTableSettings } from "../../../rag_server/search/searched_table.ts";
import { readJson, readRows } from "../../../postgres/read/read_trusted.ts";
import { UntoldCallerError } from "../../../postgres/read/caller_settings.ts";
import { AppError } from "../../../core/app_error.ts";
import { belowBasesSql } from "../../../rag_server/search/vector_index.ts";

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

export interface ColumnFacts {
  readonly name: string;
  /** As SQL, with its modifier. */
  readonly type: string;
  /** The type's bare name, whatever its schema. */
  readonly typeName: string;
  readonly isText: boolean;
  /** Whether its type is a domain: another type with conditions. */
  readonly isDomain: boolean;
  readonly isReadable: boolean;
}

/** What the catalog says of a table or view. Names are quoted for SQL. */
export interface TableFacts {
  readonly oid: string;
  /** Qualified. */
  readonly relation: string;
  /** `pg_class.relkind` */
  readonly kind: string;
  readonly schema: string;
  readonly mayUseSchema: boolean;
  readonly role: string;
  readonly columns: readonly ColumnFacts[];
  readonly hasPrimaryKey: boolean;
  /** The table that holds the rows: of a view, the one below it. */
  readonly base: { readonly relation: string; readonly kind: string } | null;
  /** As `rowsSql` reckons. */
  readonly rows: number;
}

/** Facts of a table as it is configured, its name tried as it is written first; undefined where there is none. */
export async function readTableFacts(
  database: Database,
  table: string,
  signal: AbortSignal,
): Promise<TableFacts | undefined> {
  const exact = quoteParts(table);
  for (const candidate of table.includes('"') ? [table] : [exact, table]) {
    const facts = await readJson<TableFacts>(database, signal, factsSql, [candidate]).catch((thrown) => {
      if (isNoName(thrown)) return undefined;
      throw thrown;
    });
    if (facts !== undefined) return facts;
  }
  return undefined;
}

// 22023: it does not parse as a name
function isNoName(thrown: unknown): boolean {
  return thrown instanceof AppError && thrown.data?.["sqlState"] === "22023";
}

// by the catalog rather than to_regclass(), which fails for a schema that the role may not use
const factsSql = `WITH RECURSIVE given AS (SELECT parse_ident($1) AS parts), named AS (
  SELECT c.oid, c.relname, c.relkind, n.oid AS schema, n.nspname
  FROM given CROSS JOIN pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = parts[cardinality(parts)] AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND CASE cardinality(parts) WHEN 1 THEN pg_table_is_visible(c.oid) ELSE n.nspname = parts[1] AND cardinality(parts) = 2 END
), bases(oid) AS (
  SELECT oid FROM named
  UNION
  ${belowBasesSql}
), stored AS (
  SELECT c.*, n.nspname FROM bases JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'm')
)
SELECT json_build_object(
  'oid', c.oid::text, 'relation', format('%I.%I', c.nspname, c.relname), 'kind', c.relkind,
  'schema', quote_ident(c.nspname), 'mayUseSchema', has_schema_privilege(c.schema, 'USAGE'),
  'role', quote_ident(current_user),
  'hasPrimaryKey', EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary),
  'columns', (SELECT coalesce(json_agg(json_build_object(
      'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'typeName', t.typname,
      'isText', t.typcategory = 'S', 'isDomain', t.typtype = 'd',
      'isReadable', has_column_privilege(c.oid, a.attnum, 'SELECT')) ORDER BY a.attnum), '[]')
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  'base', (SELECT CASE WHEN count(*) = 1 THEN min(json_build_object(
      'relation', format('%I.%I', s.nspname, s.relname), 'kind', s.relkind)::text)::json END
    FROM stored s WHERE NOT s.relispartition OR s.oid = c.oid),
  'rows', (SELECT coalesce(ceil(sum(${rowsSql})), 0)::bigint FROM stored c WHERE c.relkind <> 'p'))
FROM named c LIMIT 1`;

/** A table's name for SQL, its schema as well where it has one. */
export interface RelationName {
  readonly relation: string;
  readonly schema?: string;
}

const part = /"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*/u.source;
const quoted = new RegExp(`^(?:(${part})\\.)?(${part})$`, "u");

/** A name as it is configured, quoted where it is not yet; undefined where it is the name of no table. */
export function relationName(table: string): RelationName | undefined {
  const parts = table.includes('"')
    ? quoted.exec(table)?.slice(1).filter((part) => part !== undefined)
    : table.split(".").map(quoteIdentifier);
  if (parts === undefined || parts.length > 2 || parts.includes('""')) return undefined;
  const [first = "", second] = parts;
  return second === undefined ? { relation: first } : { relation: `${first}.${second}`, schema: first };
}
