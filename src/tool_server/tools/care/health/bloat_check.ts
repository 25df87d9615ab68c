import { sizeText } from "../../../../core/size_text.ts";
import { type Concern, count, defineHealthCheck, objectName, percent } from "./health_check.ts";

interface Row {
  readonly kind: "table" | "index";
  readonly schema: string;
  readonly name: string;
  readonly table_name: string;
  readonly bytes: number;
  readonly wasted: number;
  /** Tables and indexes that could not be estimated: the role may not read their statistics, or they have none. */
  readonly unknown: number;
}

/** Less is not worth anybody's time. */
const smallBytes = 10 * 1_048_576;
const largeShare = 0.3;
const hugeShare = 0.6;

// Estimates from the planner's statistics: rows times their average width with the headers of rows (23 bytes and one bit
// for each column where there are NULLs, aligned to 8, and a line pointer of 4) and of pages (24), against the pages that
// there are. Source: PostgreSQL manual, "Database Page Layout". pg_relation_size() would wait for a table that is locked.
const sql = `
with user_relations as (
  select c.oid, c.relkind, n.nspname, c.relname, c.reltuples::float8 as tuples, c.relpages::float8 as pages,
    current_setting('block_size')::float8 as page_bytes, c.reloptions
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and c.relkind in ('r', 'm', 'i')
    and c.relpersistence <> 't'
), fill as (
  select r.oid, coalesce(max(o.option_value::float8) filter (where o.option_name = 'fillfactor'),
    case when r.relkind = 'i' then 90 else 100 end) as factor
  from user_relations r left join lateral pg_options_to_table(r.reloptions) o on true
  group by r.oid, r.relkind
), table_rows as (
  select r.oid, count(*) as columns, count(s.attname) as known, coalesce(bool_or(s.null_frac > 0), false) as has_nulls,
    coalesce(sum((1 - s.null_frac) * s.avg_width), 0) as width
  from user_relations r
  join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  left join pg_stats s on s.schemaname = r.nspname and s.tablename = r.relname and s.attname = a.attname
    and not s.inherited
  where r.relkind in ('r', 'm')
  group by r.oid
), tables as (
  select 'table' as kind, r.nspname, r.relname, r.relname as table_name, r.pages, r.page_bytes,
    t.known = t.columns and r.tuples >= 0 as is_known,
    ceil(r.tuples * (ceil((23 + case when t.has_nulls then (t.columns + 7) / 8 else 0 end) / 8.0) * 8
      + ceil(t.width / 8) * 8 + 4) / ((r.page_bytes - 24) * f.factor / 100)) as needed
  from user_relations r join table_rows t on t.oid = r.oid join fill f on f.oid = r.oid
), index_rows as (
  select r.oid, o.relname as table_name, count(*) as columns, count(s.attname) as known,
    coalesce(bool_or(s.null_frac > 0), false) as has_nulls,
    coalesce(sum((1 - s.null_frac) * s.avg_width), 0) as width
  from user_relations r
  join pg_index i on i.indexrelid = r.oid and i.indpred is null
  join pg_class c on c.oid = r.oid
  join pg_am m on m.oid = c.relam and m.amname = 'btree'
  join pg_class o on o.oid = i.indrelid
  cross join lateral unnest(i.indkey::int2[]) with ordinality as k(attnum, place)
  left join pg_attribute a on a.attrelid = case when k.attnum = 0 then r.oid else i.indrelid end
    and a.attnum = case when k.attnum = 0 then k.place else k.attnum end
  left join pg_stats s on s.schemaname = r.nspname
    and s.tablename = case when k.attnum = 0 then r.relname else o.relname end and s.attname = a.attname
    and not s.inherited
  group by r.oid, o.relname
), indexes as (
  select 'index' as kind, r.nspname, r.relname, t.table_name, r.pages, r.page_bytes,
    t.known = t.columns and r.tuples >= 0 as is_known,
    1 + ceil(r.tuples * (8 + case when t.has_nulls then 8 else 0 end + ceil(t.width / 8) * 8 + 4)
      / ((r.page_bytes - 24 - 16) * f.factor / 100)) as needed
  from user_relations r join index_rows t on t.oid = r.oid join fill f on f.oid = r.oid
), estimates as (
  select * from tables union all select * from indexes
)
(select kind, nspname as schema, relname as name, table_name, pages * page_bytes as bytes,
  (pages - needed) * page_bytes as wasted, 0 as unknown
from estimates
where is_known and (pages - needed) * page_bytes >= ${smallBytes} and pages - needed >= ${largeShare} * pages
order by pages - needed desc
limit 200)
union all
select '', '', '', '', 0, 0, count(*) from estimates where not is_known and pages * page_bytes >= ${smallBytes}`;

/** Room that tables and indexes take on disk and do not use, as far as the planner's statistics tell. */
export const bloatCheck = defineHealthCheck<Row>({
  name: "bloat",
  measuresTables: true,
  sql,
  examine(rows) {
    const found = rows.filter((row) => row.name !== "");
    const unknown = rows.find((row) => row.name === "")?.unknown ?? 0;
    const wasted = found.reduce((sum, row) => sum + row.wasted, 0);
    return {
      summary: found.length === 0
        ? `nothing wastes ${sizeText(smallBytes)} or more`
        : `about ${sizeText(wasted)} in ${count(found.length)} tables and indexes`,
      concerns: found.map((row): Concern => {
        const object = objectName(row.schema, row.name);
        const share = row.wasted / row.bytes;
        return {
          severity: share >= hugeShare ? "warning" : "info",
          object,
          figure:
            `about ${sizeText(row.wasted)} of ${sizeText(row.bytes)} unused (${percent(share)}, estimated)` +
            (row.kind === "index" ? ` on ${objectName(row.schema, row.table_name)}` : ""),
          ...(row.kind === "index"
            ? { advice: "Build it anew while others work", sql: `REINDEX INDEX CONCURRENTLY ${object};` }
            : {
              advice:
                "New rows fill the room again. To give it back, rewrite the table when nobody needs it " +
                "(VACUUM FULL locks it), or use pg_repack; see why autovacuum was late",
              sql: `VACUUM (FULL, ANALYZE, VERBOSE) ${object};`,
            }),
        };
      }),
      ...(unknown > 0 && {
        unseen:
          `${count(unknown)} tables and indexes of ${sizeText(smallBytes)} or more could not be estimated: ` +
          "they were never analyzed, or the role may not read them",
      }),
    };
  },
});
