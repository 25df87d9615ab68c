import type { Catalog, CatalogTable } from "../core/catalog.ts";
import type { Principal } from "../core/principal.ts";
import { AppError } from "../core/app_error.ts";
import type { Database } from "./database.ts";

export interface CatalogFilter {
  readonly schema?: string;
  readonly table?: string;
  /** Only tables with a pgvector column. */
  readonly vectorTablesOnly?: boolean;
}

/**
 * Reads the tables, views and columns that the caller's role may select from, system schemas and partitions left out.
 * @throws {AppError} `unavailable` where the database cannot be reached, `upstream` where the catalog cannot be read.
 */
export async function readCatalog(
  database: Database,
  request: { principal: Principal; signal: AbortSignal; filter?: CatalogFilter },
): Promise<Catalog> {
  const { principal, signal, filter = {} } = request;
  const outcome = await database.read({
    principal,
    signal,
    sql: catalogSql,
    parameters: [filter.schema ?? null, filter.table ?? null, String(filter.vectorTablesOnly ?? false)],
    trusted: true,
  });
  if (!outcome.ok) {
    throw new AppError(
      outcome.error.kind === "timeout" ? "timeout" : "upstream",
      `Cannot read the catalog of database "${database.name}": ${outcome.error.message}`,
    );
  }
  return { tables: outcome.rows.map((row) => JSON.parse(row[0] ?? "null") as CatalogTable) };
}

// One row a table, as JSON in the shape of CatalogTable: PostgreSQL assembles it, so a catalog of thousands of
// tables costs one round trip. The names in pg_catalog are qualified, as a caller's search_path may hold anything.
const catalogSql = `
with tables as (
  select c.oid, n.nspname, c.relname, c.relkind, c.reltuples
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'v', 'm', 'f', 'p')
    and not c.relispartition
    and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
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
  cross join lateral pg_catalog.unnest(i.indkey::pg_catalog.int2[]) as k(attnum)
  where i.indrelid in (select oid from tables) and i.indisvalid and k.attnum > 0
  group by i.indrelid, k.attnum
), refs as (
  select distinct on (f.conrelid, k.attnum) f.conrelid, k.attnum,
    n.nspname || '.' || c.relname || '.' || a.attname as target
  from pg_catalog.pg_constraint f
  cross join lateral rows from (pg_catalog.unnest(f.conkey), pg_catalog.unnest(f.confkey)) as k(attnum, target)
  join pg_catalog.pg_class c on c.oid = f.confrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute a on a.attrelid = f.confrelid and a.attnum = k.target
  where f.contype = 'f' and f.conrelid in (select oid from tables)
  order by f.conrelid, k.attnum, f.oid
), columns as (
  select a.attrelid, pg_catalog.json_agg(pg_catalog.json_strip_nulls(pg_catalog.json_build_object(
    'name', a.attname,
    'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
    'nullable', not a.attnotnull,
    'comment', coalesce(pg_catalog.col_description(a.attrelid, a.attnum), ''),
    'default', case when a.attgenerated = '' then coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), '') else '' end,
    'identity', a.attidentity,
    'isPrimaryKey', coalesce(k.is_primary, false),
    'isUnique', coalesce(k.is_unique, false),
    'isIndexed', k.attnum is not null,
    'reference', coalesce(r.target, ''),
    'labels', coalesce((select pg_catalog.json_agg(e.enumlabel order by e.enumsortorder)
      from pg_catalog.pg_enum e where e.enumtypid = a.atttypid), '[]'),
    'vectorDimensions', case when t.typname in ('vector', 'halfvec', 'sparsevec')
      then greatest(a.atttypmod, 0) end
  )) order by a.attnum) as list
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_type t on t.oid = a.atttypid
  left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  left join keys k on k.indrelid = a.attrelid and k.attnum = a.attnum
  left join refs r on r.conrelid = a.attrelid and r.attnum = a.attnum
  where a.attrelid in (select oid from tables) and a.attnum > 0 and not a.attisdropped
    and pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')
  group by a.attrelid
), indexes as (
  select i.indrelid, pg_catalog.json_agg(pg_catalog.json_build_object(
    'name', c.relname, 'definition', pg_catalog.pg_get_indexdef(i.indexrelid)) order by c.relname) as list
  from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
  where i.indrelid in (select oid from tables) and i.indisvalid
  group by i.indrelid
)
select pg_catalog.json_build_object(
  'schema', t.nspname,
  'name', t.relname,
  'kind', case t.relkind when 'r' then 'TABLE' when 'v' then 'VIEW' when 'm' then 'MATERIALIZED VIEW'
    when 'f' then 'FOREIGN TABLE' else 'PARTITIONED TABLE' end,
  'comment', coalesce(pg_catalog.obj_description(t.oid, 'pg_class'), ''),
  'estimatedRows', t.reltuples::pg_catalog.int8,
  'columns', coalesce(c.list, '[]'),
  'indexes', coalesce(i.list, '[]'))
from tables t
left join columns c on c.attrelid = t.oid
left join indexes i on i.indrelid = t.oid
order by t.nspname, t.relname`;
