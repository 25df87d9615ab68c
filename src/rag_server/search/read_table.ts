import { AppError } from "../../core/app_error.ts";
import type { Database } from "../../postgres/database.ts";
import type { Row } from "../../postgres/read/portal.ts";
import { quoteParts, renderSql, sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import { type CatalogType, type ColumnType, columnTypeOf } from "./column_type.ts";
import type { DocumentTable, RowKey, VectorColumn, VectorExtension } from "./document_table.ts";
import { compileFilter } from "../filter/compile_filter.ts";
import { findVectorIndexes } from "./find_vector_indexes.ts";
import type { Filter } from "../query.ts";
import { columnSql, extensionSql, primaryKeySql, relationSql } from "./table_sql.ts";

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
}

interface CatalogColumn {
  readonly name: string;
  readonly quoted: string;
  readonly modifier: number;
  /** The type's bare name, whatever its schema, and its qualified one. */
  readonly typeName: string;
  readonly qualifiedType: string;
  readonly type: ColumnType;
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
    new AppError("invalid", `Cannot search table "${settings.table}": ${reason}`);
  const read = (text: string, parameters: readonly string[] = []) =>
    readRows(database, text, parameters, signal);
  const found = await findRelation(read, settings.table);
  if (found === undefined) throw fail("there is no such table or view");
  const { oid, relation, kind } = found;

  const columns = new Map(
    (await read(columnSql, [oid])).map(readColumn).map((column) => [column.name, column]),
  );
  const find = (name: string) => {
    const column = columns.get(name);
    if (column === undefined) throw fail(`it has no column "${name}"`);
    return column;
  };
  const textColumn = find(settings.textColumn);
  if (textColumn.type.kind !== "text") {
    throw fail(`column "${textColumn.name}" has type ${textColumn.type.sqlType}; expected text`);
  }
  const extension = extensionOf((await read(extensionSql))[0]);
  if (extension === undefined) throw fail("the database does not have the extension vector");
  const vector = vectorOf(find(settings.vectorColumn), fail);
  const indexes = await findVectorIndexes(read, oid, vector, kind === "v");
  const idColumn = settings.idColumn ?? (await read(primaryKeySql, [oid]))[0]?.[0] ?? undefined;
  const table: DocumentTable = {
    name: settings.table,
    relation,
    columns: new Map(Array.from(columns.values(), ({ name, type }) => [name, type])),
    textColumn: textColumn.quoted,
    vector: { ...vector, indexes },
    extension,
    key: keyOf(idColumn === undefined ? undefined : find(idColumn), textColumn, kind),
  };
  const filter = ownFilter(settings.filter, table);
  if (filter === undefined) return table;
  // without the parentheses too: what closes them and opens others would be a filter of its own
  const bare = typeof settings.filter === "string" ? [verbatim(`\n${settings.filter}\n`)] : [];
  for (const condition of [filter, ...bare]) await checkFilter(database, table, condition, signal);
  return { ...table, filter };
}

async function findRelation(
  read: (text: string, parameters: readonly string[]) => Promise<readonly Row[]>,
  table: string,
): Promise<{ oid: string; relation: string; kind: string } | undefined> {
  const exact = quoteParts(table);
  const isSimple = /^[\w$.]+$/.test(table);
  const candidates = table.includes('"') ? [table] : isSimple ? [exact, table] : [exact];
  for (const candidate of candidates) {
    const [row] = await read(relationSql, [candidate]);
    const [oid, relation, kind] = row ?? [];
    if (oid && relation && kind) return { oid, relation, kind };
  }
  return undefined;
}

function readColumn(row: Row): CatalogColumn {
  const [name, quoted, modifier, known, sqlType, qualifiedType, typeName, category, labels, ...element] = row;
  const [elementKnown, elementSqlType, elementCategory, elementLabels] = element;
  const type = catalogType(known, sqlType, category, labels);
  const ofElement = typeof elementSqlType !== "string"
    ? undefined
    : catalogType(elementKnown, elementSqlType, elementCategory, elementLabels);
  return {
    name: name ?? "",
    quoted: quoted ?? "",
    modifier: Number(modifier),
    typeName: typeName ?? "",
    qualifiedType: qualifiedType ?? "",
    type: columnTypeOf({ ...type, ...(ofElement !== undefined && { element: ofElement }) }),
  };
}

function catalogType(
  name: string | null | undefined,
  sqlType: string | null | undefined,
  category: string | null | undefined,
  labels: string | null | undefined,
): CatalogType {
  return {
    name: name ?? "",
    sqlType: sqlType ?? "",
    category: category ?? "",
    ...(typeof labels === "string" && { labels: JSON.parse(labels) as string[] }),
  };
}

function extensionOf(row: Row | undefined): VectorExtension | undefined {
  const [version, schema] = row ?? [];
  if (!version || !schema) return undefined;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return { schema, isIterative: major > 0 || minor >= 8 };
}

const vectorTypes = ["vector", "halfvec", "sparsevec"];

function vectorOf(column: CatalogColumn, fail: (reason: string) => AppError): Omit<VectorColumn, "indexes"> {
  if (!vectorTypes.includes(column.typeName)) {
    throw fail(
      `column "${column.name}" has type ${column.type.sqlType}; expected vector, halfvec or sparsevec`,
    );
  }
  return {
    column: column.quoted,
    type: column.qualifiedType,
    ...(column.modifier > 0 && { dimensions: column.modifier }),
  };
}

/** Of a table without an id, the place of a row will do within a statement; other relations have no such place. */
function keyOf(id: CatalogColumn | undefined, text: CatalogColumn, kind: string): RowKey {
  if (id !== undefined) return { name: id.name, type: id.type.sqlType, isId: true };
  if (kind === "r" || kind === "m") return { name: "ctid", type: "tid", isId: false };
  return { name: text.name, type: text.type.sqlType, isId: false };
}

function ownFilter(filter: string | Filter | undefined, table: DocumentTable): SqlText | undefined {
  if (filter === undefined || (typeof filter === "string" && filter.trim() === "")) return undefined;
  if (typeof filter !== "string") {
    return compileFilter(filter, table.columns, `the filter of table "${table.name}"`).condition;
  }
  // the line ends keep a comment at the text's end from taking the parenthesis with it
  return verbatim(`(\n${filter}\n)`);
}

/** Plans a statement with the filter, which runs nothing. */
async function checkFilter(
  database: Database,
  table: DocumentTable,
  filter: SqlText,
  signal: AbortSignal,
): Promise<void> {
  const statement = sql`EXPLAIN SELECT FROM ${verbatim(table.relation)} AS source WHERE ${filter}`;
  const fail = (reason: string) =>
    new AppError("invalid", `Cannot search table "${table.name}": its filter fails: ${reason}`);
  const outcome = await database.read({
    principal: { kind: "local" },
    trusted: true,
    signal,
    ...renderSql(statement),
  }).catch((error: unknown) => {
    throw isProtocolViolation(error) ? fail("it has a parameter such as $1") : error;
  });
  if (outcome.ok) return;
  signal.throwIfAborted();
  throw fail(outcome.error.message);
}

/** What PostgreSQL calls it when a statement has more parameters than it is given values. */
function isProtocolViolation(error: unknown): boolean {
  const cause = error instanceof AppError ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "08P01";
}

/** What PostgreSQL answers to a name that no relation could have: bad syntax, too many parts, another database. */
const noRelationsName = ["42601", "42602", "0A000"];

async function readRows(
  database: Database,
  text: string,
  parameters: readonly string[],
  signal: AbortSignal,
): Promise<readonly Row[]> {
  const outcome = await database.read({
    principal: { kind: "local" },
    trusted: true,
    signal,
    sql: text,
    parameters,
  });
  if (outcome.ok) return outcome.rows;
  signal.throwIfAborted();
  if (text === relationSql && noRelationsName.includes(outcome.error.sqlState ?? "")) return [];
  throw new AppError(
    "unavailable",
    `Cannot read the catalog of database "${database.name}": ${outcome.error.message}`,
  );
}
