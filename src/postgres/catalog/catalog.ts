import { stateSchema } from "../own_schema.ts";
import { AppError } from "../../core/app_error.ts";
import { forEachInSlices } from "../../core/async/yield.ts";
import type { Database, ReadRequest } from "../database.ts";
import type { Row } from "../read/portal.ts";
import { allowedValues } from "./allowed_values.ts";
import { fingerprintSql } from "./catalog_fingerprint.ts";

/** A database's tables, as a principal sees them. */
export interface Catalog {
  /** In order of schema and name; only what the principal's role may read. */
  readonly tables: readonly CatalogTable[];
}

type TableKind = "TABLE" | "VIEW" | "MATERIALIZED VIEW" | "FOREIGN TABLE" | "PARTITIONED TABLE";

export interface CatalogTable {
  readonly schema: string;
  readonly name: string;
  readonly kind: TableKind;
  readonly comment: string;
  /** The planner's estimate; -1 where the table was never analyzed, or row-level security holds the caller there. */
  readonly estimatedRows: number;
  /** In the table's order. */
  readonly columns: readonly CatalogColumn[];
  readonly indexes: readonly CatalogIndex[];
  readonly foreignKeys: readonly CatalogForeignKey[];
  /** How many partitions it has on all levels; 0 for what is no partitioned table. */
  readonly partitions?: number;
}

/** A foreign key: its columns refer, one by one, to those of the target. */
export interface CatalogForeignKey {
  readonly columns: readonly string[];
  readonly targetSchema: string;
  readonly targetTable: string;
  readonly targetColumns: readonly string[];
}

export interface CatalogColumn {
  readonly name: string;
  /** As PostgreSQL writes it: `numeric(12,2)`, `timestamp with time zone`, `text[]`. */
  readonly type: string;
  readonly nullable: boolean;
  readonly comment: string;
  /** The default's expression, or empty. */
  readonly default: string;
  /** `a` GENERATED ALWAYS, `d` BY DEFAULT, empty where the column is no identity. */
  readonly identity: "" | "a" | "d";
  readonly isPrimaryKey: boolean;
  /** Part of a unique constraint or index that is not the primary key. */
  readonly isUnique: boolean;
  readonly isIndexed: boolean;
  /** `schema.table.column` where a foreign key refers to it. */
  readonly reference: string;
  /** An enumeration's labels in order; empty for other types. */
  readonly labels: readonly string[];
  /** The values that a CHECK constraint lists for the column; empty where there is none. */
  readonly allowedValues: readonly string[];
  /** A pgvector column's dimensions, 0 where unbounded; undefined for other types. */
  readonly vectorDimensions?: number;
}

interface CatalogIndex {
  readonly name: string;
  readonly definition: string;
}

interface CatalogFilter {
  readonly schema?: string;
  readonly table?: string;
  /** Only tables with a pgvector column. */
  readonly vectorTablesOnly?: boolean;
  /** Partitions too; only the partitioned tables that they are of where absent. */
  readonly withPartitions?: boolean;
}

interface CatalogRequest extends Pick<ReadRequest, "principal" | "signal" | "span"> {
  readonly filter?: CatalogFilter;
}

/** What a statement's author needs to know of the server, and of the sessions in which the caller's statements run. */
export interface SessionFacts {
  /** The major one, as in `15`. */
  readonly version: string;
  /** The session's setting, as in `Europe/Berlin`. */
  readonly timeZone: string;
  /** East of Greenwich, at the time when it was read. */
  readonly utcOffsetSeconds: number;
}

/** A catalog with what tells whether it is still that of the database. */
interface CatalogState {
  readonly catalog: Catalog;
  /** As `readFingerprint` gives it, taken no later than the catalog. */
  readonly fingerprint: string;
  /** False where defaults, CHECK lists and indexes of a table were left out, as another transaction had it locked. */
  readonly isWhole: boolean;
  readonly session: SessionFacts;
}

/** The CHECK expressions of each column; null for one that was dropped just now. */
type Checks = Readonly<Record<string, readonly (string | null)[]>>;

/** The database's own statement timeout may be shorter than what thousands of tables take. */
const timeoutMs = 60_000;

/**
 * Reads the tables, views and columns that the caller's role may select from, system schemas left out, and partitions unless the
 * filter asks for them.
 * Of a table that another transaction has locked against reading, defaults, CHECK lists and indexes are left out.
 *
 * @throws {AppError} `unavailable` where the database cannot be reached, `timeout` where it takes longer than a minute,
 * `upstream` where it cannot be read or not in full
 */
export async function readCatalog(database: Database, request: CatalogRequest): Promise<Catalog> {
  return { tables: await parseTables(await readRows(database, request, false)) };
}

/** Reads the whole catalog as {@linkcode readCatalog} does, and its fingerprint with it. @throws {AppError} likewise */
export async function readCatalogState(
  database: Database,
  request: Omit<CatalogRequest, "filter">,
): Promise<CatalogState> {
  const rows = await readRows(database, request, true);
  const [, fingerprint, isWhole, session] = rows[0] ?? [];
  return {
    catalog: { tables: await parseTables(rows) },
    fingerprint: fingerprint ?? "",
    isWhole: isWhole === "t",
    session: JSON.parse(session ?? "{}"),
  };
}

async function readRows(
  database: Database,
  { principal, signal, span, filter = {} }: CatalogRequest,
  withFingerprint: boolean,
): Promise<readonly Row[]> {
  const result = await database.read({
    principal,
    signal,
    span,
    sql: catalogSql(withFingerprint),
    parameters: [
      filter.schema ?? null,
      filter.table ?? null,
      String(filter.vectorTablesOnly ?? false),
      String(filter.withPartitions ?? false),
    ],
    trusted: true,
    timeoutMs,
  });
  if (result.ok && result.truncatedBy === undefined) return result.rows;
  const [code, reason] = result.ok
    ? ["upstream", `it has more ${result.truncatedBy} than can be read`] as const
    : [result.error.kind === "timeout" ? "timeout" : "upstream", result.error.message] as const;
  const sqlState = result.ok ? undefined : result.error.sqlState;
  throw new AppError(code, `Cannot read the catalog of database "${database.name}": ${reason}`, {
    ...(sqlState === undefined ? {} : { data: { sqlState } }),
  });
}

async function parseTables(rows: readonly Row[]): Promise<CatalogTable[]> {
  const tables: CatalogTable[] = [];
  await forEachInSlices(rows, ([json]) => {
    if (json !== undefined && json !== null) tables.push(parseTable(json));
  });
  return tables;
}

function parseTable(json: string): CatalogTable {
  const parsed: CatalogTable & { checks: Checks | null } = JSON.parse(json);
  const { checks, ...table } = parsed;
  if (checks === null) return table;
  const listed = new Map(Object.entries(checks));
  const columns = table.columns.map((column) => {
    const expressions = listed.get(column.name);
    return expressions === undefined
      ? column
      : { ...column, allowedValues: allowedValues(expressions.filter((text) => text !== null)) };
  });
  return { ...table, columns };
}

/**
 * One row a table: it as JSON in the shape of CatalogTable, with the CHECK expressions of each column under `checks`;
 * the catalog's fingerprint; whether all of it could be read; and, as JSON, SessionFacts. A catalog without tables is one
 * row, its JSON NULL.
 * Parameters: a schema, a table, whether only tables with a vector column count, whether partitions do.
 */
function catalogSql(withFingerprint: boolean): string {
  // in one statement with what it stands for: another statement may reach another standby, which is further behind
  const fingerprint = withFingerprint ? `(${fingerprintSql})` : "null";
  return `${tableParts},
state as materialized (
  select ${fingerprint} as fingerprint, not exists (select from tables where is_locked) as is_whole,
    ${sessionJson} as session
)
select ${tableJson}, s.fingerprint, s.is_whole, s.session
from state s
left join tables t on true
left join columns c on c.attrelid = t.oid
left join indexes i on i.indrelid = t.oid
left join foreign_keys f on f.conrelid = t.oid
left join checks k on k.conrelid = t.oid
order by t.nspname, t.relname`;
}

// PostgreSQL assembles the JSON, so a catalog of thousands of tables costs one round trip. The names in pg_catalog are
// qualified, as a caller's search_path may hold anything. What names a column or table that the role may not read is
// left out whole: a foreign key, an index. pg_get_expr() and pg_get_indexdef() wait for the table's lock, which a
// REFRESH MATERIALIZED VIEW or VACUUM FULL holds for hours: a table that somebody else has locked goes without them. No
// condition may stand on what they give, or the planner calls them for the rows of other tables too.
const tableParts = `
with recursive locked as materialized (
  select l.relation as oid from pg_catalog.pg_locks l
  where l.locktype = 'relation' and l.mode = 'AccessExclusiveLock'
    and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
), tables as materialized (
  select c.oid, n.nspname, c.relname, c.relkind,
    -- whoever sees only some of the rows is not told how many there are
    case when c.relrowsecurity and pg_catalog.row_security_active(c.oid) then -1 else c.reltuples end as reltuples,
    pg_catalog.has_table_privilege(c.oid, 'SELECT') as may_read_all,
    c.oid in (select oid from locked) as is_locked
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'v', 'm', 'f', 'p')
    and ($4::pg_catalog.bool or not c.relispartition)
    and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', '${stateSchema}')
    and ($1::pg_catalog.text is null or n.nspname = $1)
    and ($2::pg_catalog.text is null or c.relname = $2)
    and pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    and (pg_catalog.has_table_privilege(c.oid, 'SELECT') or pg_catalog.has_any_column_privilege(c.oid, 'SELECT'))
    and (not $3::pg_catalog.bool or exists (
      select from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and t.typname in ('vector', 'halfvec', 'sparsevec')))
), keys as (
  select i.indrelid, k.attnum, bool_or(i.indisprimary) as is_primary,
    bool_or(i.indisunique and not i.indisprimary and i.indnkeyatts = 1 and i.indpred is null) as is_unique
  from pg_catalog.pg_index i
  cross join lateral pg_catalog.unnest(i.indkey::pg_catalog.int2[]) with ordinality as k(attnum, place)
  where i.indrelid in (select oid from tables) and i.indisvalid and k.attnum > 0 and k.place <= i.indnkeyatts
  group by i.indrelid, k.attnum
), own_references as materialized (
  select f.oid, f.conrelid, f.conkey, f.confrelid, f.confkey, n.nspname, c.relname,
    -- PostgreSQL before 18 has no such column
    coalesce((pg_catalog.to_jsonb(f) ->> 'conperiod')::pg_catalog.bool, false) as has_period
  from pg_catalog.pg_constraint f
  join tables t on t.oid = f.conrelid
  join pg_catalog.pg_class c on c.oid = f.confrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  -- PostgreSQL repeats the key of or to a partitioned table for each of its partitions
  where f.contype = 'f' and not c.relispartition
    and pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    and not exists (select from pg_catalog.unnest(f.confkey) k(attnum)
      where not pg_catalog.has_column_privilege(f.confrelid, k.attnum, 'SELECT'))
    and not exists (select from pg_catalog.unnest(f.conkey) k(attnum)
      where not pg_catalog.has_column_privilege(f.conrelid, k.attnum, 'SELECT'))
), reference_columns as (
  select f.oid, f.conrelid, k.attnum, k.place, f.nspname, f.relname, a.attname, b.attname as target
  from own_references f
  cross join lateral rows from (pg_catalog.unnest(f.conkey), pg_catalog.unnest(f.confkey))
    with ordinality as k(attnum, target, place)
  join pg_catalog.pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.attnum
  join pg_catalog.pg_attribute b on b.attrelid = f.confrelid and b.attnum = k.target
  -- a period, which comes last, lies within the others, and need not be equal to one
  where not (f.has_period and k.place = pg_catalog.cardinality(f.conkey))
), refs as (
  select distinct on (conrelid, attnum) conrelid, attnum, nspname || '.' || relname || '.' || target as target
  from reference_columns
  order by conrelid, attnum, oid
), foreign_keys as (
  select conrelid, pg_catalog.json_agg(pg_catalog.json_build_object('columns', names,
    'targetSchema', nspname, 'targetTable', relname, 'targetColumns', targets) order by oid) as list
  from (
    select conrelid, oid, nspname, relname, pg_catalog.json_agg(attname order by place) as names,
      pg_catalog.json_agg(target order by place) as targets
    from reference_columns group by conrelid, oid, nspname, relname
  ) one
  group by conrelid
), domain_steps(domain, step, base) as (
  select t.oid, t.oid, t.typbasetype from pg_catalog.pg_type t where t.typtype = 'd'
  union all
  select d.domain, t.oid, t.typbasetype
  from domain_steps d join pg_catalog.pg_type t on t.oid = d.base where t.typtype = 'd'
), column_checks as materialized (
  select f.conrelid, f.conkey[1] as attnum, pg_catalog.pg_get_expr(f.conbin, f.conrelid) as expression
  from pg_catalog.pg_constraint f
  join tables t on t.oid = f.conrelid
  where f.contype = 'c' and f.convalidated and pg_catalog.cardinality(f.conkey) = 1 and not t.is_locked
  union all
  select a.attrelid, a.attnum, pg_catalog.pg_get_expr(f.conbin, 0)
  from domain_steps d
  join pg_catalog.pg_constraint f on f.contypid = d.step and f.contype = 'c' and f.convalidated
  join pg_catalog.pg_attribute a on a.atttypid = d.domain and a.attnum > 0 and not a.attisdropped
  where a.attrelid in (select oid from tables)
), checks as (
  select conrelid, pg_catalog.json_object_agg(attname, list) as by_column
  from (
    select k.conrelid, a.attname, pg_catalog.json_agg(k.expression) as list
    from column_checks k
    join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.attnum
    group by k.conrelid, a.attname
  ) one
  group by conrelid
), columns as (
  select a.attrelid, pg_catalog.json_agg(pg_catalog.json_strip_nulls(pg_catalog.json_build_object(
    'name', a.attname,
    'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
    'nullable', not a.attnotnull,
    'comment', coalesce(pg_catalog.col_description(a.attrelid, a.attnum), ''),
    'default', case when a.attgenerated = '' and not o.is_locked
      then coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), '') else '' end,
    'identity', a.attidentity,
    'isPrimaryKey', coalesce(k.is_primary, false),
    'isUnique', coalesce(k.is_unique, false),
    'isIndexed', k.attnum is not null,
    'reference', coalesce(r.target, ''),
    'labels', coalesce((select pg_catalog.json_agg(e.enumlabel order by e.enumsortorder)
      from pg_catalog.pg_enum e where e.enumtypid = a.atttypid), '[]'),
    'allowedValues', '[]'::pg_catalog.json,
    'vectorDimensions', case when t.typname in ('vector', 'halfvec', 'sparsevec')
      then greatest(a.atttypmod, 0) end
  )) order by a.attnum) as list
  from tables o
  join pg_catalog.pg_attribute a on a.attrelid = o.oid
  join pg_catalog.pg_type t on t.oid = a.atttypid
  left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  left join keys k on k.indrelid = a.attrelid and k.attnum = a.attnum
  left join refs r on r.conrelid = a.attrelid and r.attnum = a.attnum
  where a.attnum > 0 and not a.attisdropped
    and (o.may_read_all or pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT'))
  group by a.attrelid
), indexes as (
  select i.indrelid, pg_catalog.json_agg(pg_catalog.json_build_object(
    'name', c.relname, 'definition', pg_catalog.pg_get_indexdef(i.indexrelid)) order by c.relname) as list
  from pg_catalog.pg_index i
  join pg_catalog.pg_class c on c.oid = i.indexrelid
  join tables t on t.oid = i.indrelid
  where i.indisvalid and not t.is_locked
    and (t.may_read_all or i.indexprs is null and i.indpred is null and not exists (
      select from pg_catalog.unnest(i.indkey::pg_catalog.int2[]) as k(attnum)
      where not pg_catalog.has_column_privilege(i.indrelid, k.attnum, 'SELECT')))
  group by i.indrelid
)`;

// the server's own rules for the offset, as its time zones may have names that only it knows
const sessionJson = `pg_catalog.json_build_object(
  'version', (pg_catalog.current_setting('server_version_num')::pg_catalog.int4 / 10000)::pg_catalog.text,
  'timeZone', pg_catalog.current_setting('TimeZone'),
  'utcOffsetSeconds', pg_catalog.date_part('timezone', pg_catalog.now())::pg_catalog.int4)`;

const tableJson = `case when t.oid is not null then pg_catalog.json_build_object(
  'schema', t.nspname,
  'name', t.relname,
  'kind', case t.relkind when 'r' then 'TABLE' when 'v' then 'VIEW' when 'm' then 'MATERIALIZED VIEW'
    when 'f' then 'FOREIGN TABLE' else 'PARTITIONED TABLE' end,
  'comment', coalesce(pg_catalog.obj_description(t.oid, 'pg_class'), ''),
  'estimatedRows', t.reltuples::pg_catalog.int8,
  'columns', coalesce(c.list, '[]'),
  'indexes', coalesce(i.list, '[]'),
  'foreignKeys', coalesce(f.list, '[]'),
  'partitions', case when t.relkind = 'p' then (
    with recursive below(oid) as (
      select i.inhrelid from pg_catalog.pg_inherits i where i.inhparent = t.oid
      union all
      select i.inhrelid from below b join pg_catalog.pg_inherits i on i.inhparent = b.oid
    ) select count(*) from below) else 0 end,
  'checks', k.by_column) end`;
