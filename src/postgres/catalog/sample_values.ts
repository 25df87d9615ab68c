import type { Catalog, CatalogColumn, CatalogTable } from "./catalog.ts";
import { forEachInSlices } from "../../core/async/yield.ts";
import type { Database, ReadRequest } from "../database.ts";
import { createColumnRefusal } from "./private_columns.ts";
import { arrayText, quoteIdentifier } from "../sql_text.ts";

/** By {@linkcode tableKey}, then by column: the commonest values, that first. */
export type SampleValues = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/** The key of a table in {@linkcode SampleValues}. */
export function tableKey(schema: string, table: string): string {
  return JSON.stringify([schema, table]);
}

interface SampleRequest extends Pick<ReadRequest, "principal" | "signal"> {
  /** As the principal sees it. */
  readonly catalog: Catalog;
  /** As `createColumnRefusal` reads them; columns with private names are never sampled. */
  readonly excludedColumns: readonly string[];
}

const maxValues = 8;
const maxLength = 40;
/** A column with more different values than that is no list to choose from. */
const maxDistinct = 50;

const statisticsTimeoutMs = 10_000;
const maxScans = 20;
const scannedRows = 1_000;
const scanTimeoutMs = 500;
const scanBytes = 1_048_576;

/**
 * Common values of columns of text that have few different ones: at most 8 a column, of at most 40 characters each.
 * They come from PostgreSQL's statistics, which it shows for columns that the role may read and that no row-level
 * security hides from it; up to 20 tables that were never analyzed are looked at themselves, their first 1,000 rows,
 * for half a second each. Columns of enumerations or with a CHECK list are left out: the schema tells their values. What
 * cannot be read in time is left out too.
 *
 * @throws {AppError} `unavailable` where the database cannot be reached
 */
export async function readSampleValues(database: Database, request: SampleRequest): Promise<SampleValues> {
  const tables = await sampledTables(request);
  const samples = new Map<string, Map<string, readonly string[]>>();
  if (tables.size === 0) return samples;
  await addStatistics(database, request, tables, samples);
  for (const table of await findUnanalyzed(database, request, tables)) {
    if (request.signal.aborted) break;
    const found = await scan(database, request, table);
    if (found.size > 0) samples.set(tableKey(table.schema, table.name), found);
  }
  return samples;
}

interface SampledTable {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly string[];
}

async function sampledTables(
  { catalog, excludedColumns }: SampleRequest,
): Promise<Map<string, SampledTable>> {
  const isRefused = createColumnRefusal(excludedColumns);
  const tables = new Map<string, SampledTable>();
  await forEachInSlices(catalog.tables, (table) => {
    const columns = table.columns.filter((column) =>
      mayBeList(table, column) && !isRefused(table, column.name)
    );
    if (columns.length === 0) return;
    const { schema, name } = table;
    tables.set(tableKey(schema, name), { schema, name, columns: columns.map((column) => column.name) });
  });
  return tables;
}

function mayBeList({ kind }: CatalogTable, column: CatalogColumn): boolean {
  return kind !== "VIEW" && kind !== "FOREIGN TABLE" && !neverText.test(column.type) &&
    column.labels.length === 0 && column.allowedValues.length === 0 && !column.isPrimaryKey &&
    !column.isUnique;
}

// whether another type is text, a domain for one, is for the database to say
const neverText =
  /^(small|big)?int(eger)?\b|^(numeric|real|double|boolean|date|time|interval|uuid|json|bytea)|\[\]$/;

async function addStatistics(
  database: Database,
  { principal, signal }: SampleRequest,
  tables: ReadonlyMap<string, SampledTable>,
  samples: Map<string, Map<string, readonly string[]>>,
): Promise<void> {
  const result = await database.read({
    principal,
    signal,
    sql: statisticsSql,
    parameters: [arrayText([...new Set([...tables.values()].flatMap((table) => table.columns))])],
    trusted: true,
    timeoutMs: statisticsTimeoutMs,
  });
  if (!result.ok) return;
  await forEachInSlices(result.rows, ([schema, name, column, json]) => {
    const key = tableKey(schema ?? "", name ?? "");
    if (!tables.get(key)?.columns.includes(column ?? "")) return;
    const values: readonly string[] = JSON.parse(json ?? "[]");
    const kept = keptValues(values);
    if (kept.length === 0) return;
    const columns = samples.get(key) ?? new Map<string, readonly string[]>();
    samples.set(key, columns.set(column ?? "", kept));
  });
}

/** Those never analyzed, and that the role sees all rows of: of others, a sample would pass rows on past a policy. */
async function findUnanalyzed(
  database: Database,
  { principal, signal }: SampleRequest,
  tables: ReadonlyMap<string, SampledTable>,
): Promise<SampledTable[]> {
  const request = { principal, signal, sql: unanalyzedSql, trusted: true, timeoutMs: statisticsTimeoutMs };
  const result = await database.read(request);
  if (!result.ok) return [];
  const found = new Map<string, SampledTable>();
  for (const [schema, name, column] of result.rows) {
    const key = tableKey(schema ?? "", name ?? "");
    if (!tables.get(key)?.columns.includes(column ?? "")) continue;
    const columns = [...found.get(key)?.columns ?? [], column ?? ""];
    found.set(key, { schema: schema ?? "", name: name ?? "", columns });
    if (found.size > maxScans) break;
  }
  return [...found.values()].slice(0, maxScans);
}

async function scan(
  database: Database,
  { principal, signal }: SampleRequest,
  { schema, name, columns }: SampledTable,
): Promise<Map<string, readonly string[]>> {
  // one character more than is kept tells a value that is too long, and a long one is not fetched whole
  const list = columns.map((column) => `pg_catalog.left(${quoteIdentifier(column)}::text, ${maxLength + 1})`);
  const table = `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`;
  const result = await database.read({
    principal,
    signal,
    sql: `select ${list.join(", ")} from ${table} limit ${scannedRows}`,
    trusted: true,
    // a column's type may have a cast of its own
    names: [
      { kind: "relation", schema, name },
      { kind: "type", name: "text" },
      ...columns.map((column) => ({ kind: "column" as const, name: column })),
    ],
    timeoutMs: scanTimeoutMs,
    maxBytes: scanBytes,
  });
  const found = new Map<string, readonly string[]>();
  if (!result.ok) return found;
  columns.forEach((column, index) => {
    const values = keptValues(commonValues(result.rows.map((row) => row[index] ?? null)));
    if (values.length > 0) found.set(column, values);
  });
  return found;
}

/** The commonest first; none where a value hardly ever comes twice, since such a column is no list to choose from. */
function commonValues(values: readonly (string | null)[]): string[] {
  const counts = new Map<string, number>();
  for (const value of values) {
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const common = [...counts].filter(([, count]) => count > 1).sort(([, a], [, b]) => b - a);
  const isList = counts.size <= maxDistinct && common.length * 2 >= counts.size;
  return isList ? common.map(([value]) => value) : [];
}

function keptValues(values: readonly string[]): string[] {
  return values
    .filter((value) => value.trim() !== "" && Array.from(value).length <= maxLength)
    .slice(0, maxValues);
}

// columns of text, domains over it included, whose type is not one of the system's own
const isText = `t.typcategory = 'S'`;

// pg_stats asks for each column whether the role may read it before it looks at any other condition, save one on names
const statisticsSql = `
select s.schemaname, s.tablename, s.attname,
  pg_catalog.to_json((s.most_common_vals::pg_catalog.text::pg_catalog.text[])[1:${maxValues * 2}])
from pg_catalog.pg_stats s
join pg_catalog.pg_namespace n on n.nspname = s.schemaname
join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = s.tablename
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = s.attname
join pg_catalog.pg_type t on t.oid = a.atttypid
where s.attname = any ($1::pg_catalog.name[]) and ${isText} and s.most_common_vals is not null
  and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and not c.relispartition
  and case when s.n_distinct < 0 then -s.n_distinct * c.reltuples else s.n_distinct end between 1 and ${maxDistinct}
order by s.schemaname, s.tablename, s.attname, s.inherited`;

const unanalyzedSql = `
select n.nspname, c.relname, a.attname
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
join pg_catalog.pg_type t on t.oid = a.atttypid
where c.relkind in ('r', 'm', 'p') and c.reltuples < 0 and c.relispopulated and not c.relispartition
  and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  and pg_catalog.has_schema_privilege(n.oid, 'USAGE')
  and pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')
  and not pg_catalog.row_security_active(c.oid)
  and ${isText}
order by n.nspname, c.relname, a.attnum`;
