import { defined } from "../../core/defined.ts";
import { serverItself } from "../../core/principal.ts";
import { AppError } from "../../core/app_error.ts";
import type { Database } from "../../postgres/database.ts";
import { type Read, readRows } from "../../postgres/read/read_trusted.ts";
import { sqlStateOf } from "../../postgres/sql_session.ts";
import {
  nameInMessage,
  quoteParts,
  renderSql,
  sql,
  type SqlText,
  verbatim,
} from "../../postgres/sql_text.ts";
import { compileFilter, type FilterColumn, requestColumns } from "../filter/compile_filter.ts";
import type { Filter } from "../query.ts";
import { type ColumnType, columnTypeOf, readColumns } from "./column_type.ts";
import { basesSql, findVectorIndexes, type VectorColumn, type VectorTable } from "./vector_index.ts";

/** A pipeline's table as it is configured. */
export interface TableSettings {
  /** `documents`, `app.documents`, or quoted as SQL needs it; a bare name is tried as it is written first. */
  readonly table: string;
  readonly textColumn: string;
  readonly vectorColumn: string;
  /** The column of a primary key where it is absent; where there is none either, a document is known by its text. */
  readonly idColumn?: string;
  /** SQL over the table's columns, or conditions. */
  readonly filter?: string | Filter;
  /** The columns that requests may filter by, as conditions name them. Optional; the default is every column. */
  readonly filterColumns?: readonly string[];
  /** The columns that sources are told with, by their bare names. Optional; omit for none. */
  readonly metadataColumns?: readonly string[];
}

/** A table or view of documents, as the database has it. */
export interface DocumentTable extends VectorTable {
  /** All of them, by name. */
  readonly columns: ReadonlyMap<string, ColumnType>;
  /** Those that a request's filter may name. */
  readonly requestColumns: ReadonlyMap<string, FilterColumn>;
  /** Quoted. */
  readonly textColumn: string;
  readonly key: RowKey;
  /** The column that has a document's title, not quoted. Optional; the default is `title`. */
  readonly titleColumn?: string;
  /** Those that its documents are told with, besides what `DocumentDetails` names; not quoted. */
  readonly metadataColumns?: readonly string[];
  /** At the look, in it or in the tables below it where it is a view or has partitions: a guess, 0 where nothing is known. */
  readonly rows: number;
  /** So many of them are in the largest of these tables, each of which has an index of its own. */
  readonly largestRows: number;
  /** Of its database, as PostgreSQL calls it. */
  readonly encoding: string;
  /** Whether the condition of a view or a row-level policy may hide rows from every question. */
  readonly mayHideRows: boolean;
  /** Whether an index finds rows by their `source` and `position`. */
  readonly isOrdered?: boolean;
  /** Whether each row that a caller may see is compared, since an index could tell of the rows of others. */
  readonly isExact?: boolean;
  /** Which rows take part, whatever a client asks; refers to columns by their bare names. */
  readonly filter?: SqlText;
}

/** Tells the rows of a table apart within one statement. */
interface RowKey {
  /** The column's, not quoted; `ctid` for a row's place. */
  readonly name: string;
  /** As SQL. */
  readonly type: string;
  /** Whether it means anything to a client: it is the table's id. */
  readonly isId: boolean;
}

/**
 * Looks at a table once, so that a query need not.
 *
 * @throws {AppError} `invalid` where the table, one of its columns or pgvector is missing, has the wrong type, or the
 * filter does not fit, naming it; `unavailable` where the database cannot be read
 */
export async function readTable(
  database: Database,
  settings: TableSettings,
  signal: AbortSignal,
): Promise<DocumentTable> {
  const fail = (reason: string) =>
    new AppError("invalid", `Cannot search table ${nameInMessage(settings.table)}: ${reason}`);
  const read: Read = (...statement) => readRows(database, signal, ...statement);
  const found = await findRelation(read, settings.table);
  if (found === undefined) throw fail("there is no such table or view");
  const { oid, relation, kind } = found;

  const columns = await readColumns(read, oid);
  const find = (name: string) => {
    const column = columns.get(name);
    if (column === undefined) throw fail(`it has no column "${name}"`);
    return { ...column, type: columnTypeOf(column.type) };
  };
  const text = find(settings.textColumn);
  if (text.type.kind !== "text") {
    throw fail(`column "${text.name}" has type ${text.type.sqlType}; expected text`);
  }
  const [version, schema] = (await read(extensionSql))[0] ?? [];
  if (!version || !schema) throw fail("the database does not have the extension vector");
  const embedding = find(settings.vectorColumn);
  if (!vectorTypes.includes(embedding.typeName)) {
    throw fail(
      `column "${embedding.name}" has type ${embedding.type.sqlType}; expected vector, halfvec or sparsevec`,
    );
  }
  const vector: Omit<VectorColumn, "indexes"> = {
    column: embedding.quoted,
    type: embedding.qualifiedType,
    ...(embedding.modifier > 0 && { dimensions: embedding.modifier }),
  };
  const indexes = await findVectorIndexes(read, oid, vector, kind === "v");
  const idColumn = settings.idColumn ?? (await read(primaryKeySql, [oid]))[0]?.[0] ?? undefined;
  const id = idColumn === undefined ? undefined : find(idColumn);
  const [[rows, largestRows, encoding, mayHideRows, isOrdered] = []] = await read(sizeSql, [oid]);
  // of a table without an id, the place of a row will do within a statement; other relations have no such place
  const hasPlaces = kind === "r" || kind === "m";
  const key: RowKey = id === undefined && hasPlaces
    ? { name: "ctid", type: "tid", isId: false }
    : { name: (id ?? text).name, type: (id ?? text).type.sqlType, isId: id !== undefined };
  const types = new Map(Array.from(columns.values(), ({ name, type }) => [name, columnTypeOf(type)]));
  const table: DocumentTable = {
    name: settings.table,
    relation,
    columns: types,
    requestColumns: requestColumns(types, settings.filterColumns, fail),
    textColumn: text.quoted,
    vector: { ...vector, indexes },
    extension: { schema, isIterative: isIterative(version) },
    key,
    rows: Number(rows),
    largestRows: Number(largestRows),
    encoding: encoding ?? "",
    mayHideRows: mayHideRows === "t",
    isOrdered: isOrdered === "t",
    ...defined({ metadataColumns: settings.metadataColumns?.map((name) => find(name).name) }),
  };
  const filter = await ownFilter(database, table, settings.filter, signal);
  return filter === undefined ? table : { ...table, filter };
}

const vectorTypes = ["vector", "halfvec", "sparsevec"];

/** Whether a version of pgvector continues an index scan where a filter left too few rows. */
export function isIterative(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 0 || minor >= 8;
}

/** A table by its name as it is configured, which is tried as it is written first. */
export async function findRelation(
  read: Read,
  table: string,
): Promise<{ oid: string; relation: string; kind: string } | undefined> {
  const exact = quoteParts(table);
  const isSimple = /^[\w$.]+$/.test(table);
  const candidates = table.includes('"') ? [table] : isSimple ? [exact, table] : [exact];
  for (const candidate of candidates) {
    const [row] = await read(relationSql, [candidate]).catch((error) => {
      if (noRelationsName.includes(sqlStateOf(error))) return [];
      throw error;
    });
    const [oid, relation, kind] = row ?? [];
    if (oid && relation && kind) return { oid, relation, kind };
  }
  return undefined;
}

/** PostgreSQL's answers to a name that no relation could have: bad syntax, too many parts, another database. */
const noRelationsName: readonly unknown[] = ["42601", "42602", "0A000"];

/** Reads of a relation, by its name as SQL: oid, qualified name, kind. */
const relationSql = `
  SELECT c.oid, format('%I.%I', n.nspname, c.relname), c.relkind
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.oid = to_regclass($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`;

/** The column of a primary key that has one only. */
export const primaryKeySql = `
  SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
  WHERE i.indrelid = $1::oid AND i.indisprimary AND i.indnkeyatts = 1`;

/** Reads pgvector's version and schema. */
export const extensionSql = `
  SELECT e.extversion, quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector'`;

/**
 * How many rows a table has, as SQL over its row `c` of pg_class: as many as the last ANALYZE counted, and as many more as
 * the table has grown by since. If a table was never analysed, they are as many as the activity statistics count, or else
 * a guess by its size. Those statistics may count twice what one session wrote and analysed.
 */
export const rowsSql = `CASE WHEN c.relpages > 0 AND c.reltuples >= 0
  THEN c.reltuples / c.relpages * pg_relation_size(c.oid) / current_setting('block_size')::int
  ELSE greatest(pg_stat_get_live_tuples(c.oid), pg_relation_size(c.oid) / 2048) END`;

/**
 * Reads of a relation, by its oid: rows, its database's encoding, whether a view or a row-level policy may hide some of the
 * rows, and whether an index finds them by `source` and `position`.
 */
const sizeSql = `${basesSql("$1")}
  SELECT coalesce(ceil(sum(${rowsSql})), 0)::bigint, coalesce(ceil(max(${rowsSql})), 0)::bigint, getdatabaseencoding(),
    (SELECT bool_or(c.relkind = 'v' OR row_security_active(c.oid)) FROM bases JOIN pg_class c USING (oid)),
    EXISTS (SELECT FROM pg_index i WHERE i.indrelid = $1::oid AND i.indisvalid AND i.indpred IS NULL
      AND pg_get_indexdef(i.indexrelid, 1, false) = 'source'
      AND pg_get_indexdef(i.indexrelid, 2, false) = '"position"')
  FROM bases JOIN pg_class c USING (oid) WHERE c.relkind IN ('r', 'm')`;

/** The filter that is configured, once PostgreSQL has planned a statement with it, which runs nothing. */
async function ownFilter(
  database: Database,
  table: DocumentTable,
  given: string | Filter | undefined,
  signal: AbortSignal,
): Promise<SqlText | undefined> {
  if (given === undefined || (typeof given === "string" && given.trim() === "")) return undefined;
  if (typeof given !== "string") {
    const { condition } = compileFilter(
      given,
      table.columns,
      `the filter of table ${nameInMessage(table.name)}`,
    );
    await planWith(database, table, condition, signal);
    return condition;
  }
  // the line ends keep a comment at the text's end from taking the parenthesis with it
  const filter = verbatim(`(\n${given}\n)`);
  // also without the parentheses: a text that closes them and opens others would escape them
  for (const condition of [filter, verbatim(`\n${given}\n`)]) {
    await planWith(database, table, condition, signal);
  }
  return filter;
}

async function planWith(
  database: Database,
  table: DocumentTable,
  filter: SqlText,
  signal: AbortSignal,
): Promise<void> {
  const fail = (reason: string) =>
    new AppError("invalid", `Cannot search table ${nameInMessage(table.name)}: its filter fails: ${reason}`);
  const result = await database.read({
    principal: serverItself,
    trusted: true,
    signal,
    ...renderSql(sql`EXPLAIN SELECT FROM ${verbatim(table.relation)} AS source WHERE ${filter}`),
  }).catch((error: unknown) => {
    throw hasTooFewValues(error) ? fail("it has a parameter such as $1") : error;
  });
  if (result.ok) return;
  signal.throwIfAborted();
  throw fail(result.error.message);
}

/** A statement with more parameters than it is given values is a violation of the protocol to PostgreSQL. */
function hasTooFewValues(error: unknown): boolean {
  const cause = error instanceof AppError ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "08P01";
}
