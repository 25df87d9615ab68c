import type { Database } from "../../../../postgres/database.ts";
import type { CallContext } from "../../../call_context.ts";
import { readOwn } from "../read_own.ts";
import type { TableName } from "./table_uses.ts";

/** What the catalog tells of a table that indexes may be proposed for. */
export interface TableStatistics {
  /** As the statement names it. */
  readonly wantedSchema: string | null;
  readonly wantedName: string;
  readonly schema: string;
  readonly name: string;
  /** The planner's estimate; -1 where it was never analyzed. */
  readonly rows: number;
  /** Rows written since the statistics began; null where they are not counted. */
  readonly writes: number | null;
  readonly columns: readonly ColumnStatistics[];
  /** Key columns of its B-trees over all rows, in their order. */
  readonly indexes: readonly (readonly string[])[];
}

interface ColumnStatistics {
  readonly name: string;
  /** Different values, negative where it is a part of the rows; null where unknown. */
  readonly distinct: number | null;
  /** Whether a B-tree takes it. */
  readonly isSortable: boolean;
}

const sql = `
with wanted as (
  select w.schema, w.name from json_to_recordset($1::json) as w(schema text, name text)
), tables as (
  select distinct on (w.schema, w.name) w.schema as wanted_schema, w.name as wanted_name, c.oid, n.nspname, c.relname,
    c.reltuples
  from wanted w
  join pg_class c on c.relname = w.name
  join pg_namespace n on n.oid = c.relnamespace
  left join json_array_elements_text($2::json) with ordinality as p(schema, place) on p.schema = n.nspname
  where (w.schema = n.nspname or w.schema is null and p.place is not null) and c.relkind in ('r', 'm')
    and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and has_schema_privilege(n.oid, 'USAGE')
    and (has_table_privilege(c.oid, 'SELECT') or has_any_column_privilege(c.oid, 'SELECT'))
    and not row_security_active(c.oid)
  order by w.schema, w.name, p.place
)
select json_build_object(
  'wantedSchema', t.wanted_schema, 'wantedName', t.wanted_name, 'schema', t.nspname, 'name', t.relname,
  'rows', t.reltuples,
  'writes', (select s.n_tup_ins + s.n_tup_upd + s.n_tup_del from pg_stat_all_tables s where s.relid = t.oid),
  'columns', (
    select coalesce(json_agg(json_build_object('name', a.attname, 'distinct', s.n_distinct,
      'isSortable', y.typcategory in ('S', 'E', 'A', 'R') or exists (
        select from pg_opclass o join pg_am m on m.oid = o.opcmethod and m.amname = 'btree'
        where o.opcdefault and o.opcintype = coalesce(nullif(y.typbasetype, 0), y.oid)))), '[]')
    from pg_attribute a
    join pg_type y on y.oid = a.atttypid
    left join pg_stats s on s.schemaname = t.nspname and s.tablename = t.relname and s.attname = a.attname
      and not s.inherited
    where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
      and has_column_privilege(t.oid, a.attnum, 'SELECT')),
  'indexes', (
    select coalesce(json_agg(k.names), '[]')
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    join pg_am m on m.oid = c.relam and m.amname = 'btree'
    cross join lateral (
      select json_agg(a.attname order by k.place) as names
      from unnest(i.indkey::int2[]) with ordinality as k(attnum, place)
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
      where k.place <= i.indnkeyatts) k
    where i.indrelid = t.oid and i.indisvalid and i.indpred is null and i.indexprs is null))
from tables t`;

/** The tables of the database's own that the names mean for the caller, those left out that the caller may not read all rows of. */
export async function readTableStatistics(
  database: Database,
  context: Pick<CallContext, "principal" | "signal" | "span">,
  names: readonly TableName[],
): Promise<readonly TableStatistics[]> {
  const wanted = JSON.stringify(names.map(({ schema, table }) => ({ schema: schema ?? null, name: table })));
  const { principal, signal, span } = context;
  // the caller's own search path, so without ours
  const path = await database.read({
    principal,
    signal,
    span,
    sql: "select pg_catalog.to_json(pg_catalog.current_schemas(false))",
    trusted: true,
  });
  const schemas = path.ok ? path.rows[0]?.[0] ?? "[]" : "[]";
  const result = await readOwn(database, context, sql, [wanted, schemas]);
  return result.ok ? result.rows.map(([json]): TableStatistics => JSON.parse(json ?? "null")) : [];
}
