import { quoteIfNeeded } from "../../../../postgres/sql_text.ts";
import {
  type Concern,
  count,
  defineHealthCheck,
  objectName,
  percent,
  type Severity,
  some,
} from "./health_check.ts";
import { sizeText } from "../../../../core/text/units.ts";

interface VacuumRow {
  readonly schema: string;
  readonly name: string;
  readonly live: number;
  readonly dead: number;
  readonly changed: number;
  readonly never_vacuumed: boolean;
  readonly never_analyzed: boolean;
  readonly is_switched_off: boolean;
  readonly is_off_everywhere: boolean;
}

/** Smaller tables cost nothing. */
const fewRows = 1_000;
const manyDead = 10_000;
const largeShare = 0.2;

const sql = `
with t as (
  select s.schemaname as schema, s.relname as name, s.n_live_tup as live, s.n_dead_tup as dead,
    s.n_mod_since_analyze as changed,
    s.last_vacuum is null and s.last_autovacuum is null as never_vacuumed,
    s.last_analyze is null and s.last_autoanalyze is null as never_analyzed,
    coalesce((select bool_or(lower(o.option_value) in ('false', 'off', 'no', '0', 'f', 'n'))
      from pg_options_to_table(c.reloptions) o where o.option_name = 'autovacuum_enabled'), false) as is_switched_off
  from pg_stat_user_tables s join pg_class c on c.oid = s.relid
  where c.relkind in ('r', 'm') and c.relpersistence <> 't'
)
select *, current_setting('autovacuum') = 'off' as is_off_everywhere
from t
where is_switched_off
  or never_analyzed and greatest(live, changed) >= ${fewRows}
  or never_vacuumed and dead >= ${fewRows}
  or changed >= ${manyDead} and changed >= ${largeShare} * live
  or dead >= ${manyDead} and dead >= ${largeShare} * (live + dead)
order by dead + changed desc, 1, 2
limit 200`;

/** Tables whose dead rows and statistics nobody looks after. */
export const vacuumCheck = defineHealthCheck<VacuumRow>({
  measuresTables: true,
  sql,
  examine(rows) {
    const concerns = rows.flatMap(tableConcerns);
    const everywhere: Concern[] = rows.some((row) => row.is_off_everywhere)
      ? [{
        severity: "critical",
        object: "autovacuum",
        figure: "off for the whole server",
        advice: "Switch it on: without it tables grow and plans go wrong",
        sql: "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();",
      }]
      : [];
    return {
      summary: rows.length === 0 ? "nothing is overdue" : `${some(rows.length, "table")} to look at`,
      concerns: [...everywhere, ...concerns],
    };
  },
});

function tableConcerns(row: VacuumRow): Concern[] {
  const table = objectName(row.schema, row.name);
  const all = row.live + row.dead;
  const needsVacuum = (row.never_vacuumed && row.dead >= fewRows) ||
    (row.dead >= manyDead && row.dead >= largeShare * all);
  const needsAnalyze = (row.never_analyzed && Math.max(row.live, row.changed) >= fewRows) ||
    (row.changed >= manyDead && row.changed >= largeShare * row.live);
  const concerns: Concern[] = [];
  if (row.is_switched_off) {
    concerns.push({
      severity: "warning",
      object: table,
      figure: "autovacuum is switched off for it",
      advice: "Switch it on, unless a job of your own vacuums and analyzes the table",
      sql: `ALTER TABLE ${table} RESET (autovacuum_enabled);`,
    });
  }
  if (needsVacuum) {
    concerns.push({
      severity: "warning",
      object: table,
      figure: `${count(row.dead)} dead rows (${percent(row.dead / Math.max(1, all))})${
        row.never_vacuumed ? ", never vacuumed" : ""
      }`,
      advice:
        "Vacuum it; if this comes back, lower autovacuum_vacuum_scale_factor for it, and see long_transactions",
      sql: `VACUUM (ANALYZE, VERBOSE) ${table};`,
    });
  } else if (needsAnalyze) {
    concerns.push({
      severity: row.never_analyzed ? "warning" : "info",
      object: table,
      figure: row.never_analyzed
        ? `never analyzed, about ${count(row.live)} rows`
        : `${count(row.changed)} changes since it was analyzed, about ${count(row.live)} rows`,
      advice: "Analyze it: the planner guesses without statistics",
      sql: `ANALYZE ${table};`,
    });
  }
  return concerns;
}

interface AgeRow {
  /** Null for a database. */
  readonly schema: string | null;
  readonly name: string;
  readonly xid_age: number;
  readonly multixact_age: number;
  readonly freeze_max_age: number;
  readonly multixact_freeze_max_age: number;
}

/** Ids in use at once; PostgreSQL refuses to give out more some millions before. */
const allIds = 2 ** 31;
/** `vacuum_failsafe_age` as PostgreSQL has it: from there on vacuum hurries. */
const lateAge = 1_600_000_000;
/** How far past its own limit autovacuum is late: it needs some time for a large table. */
const lateness = 1.1;

const settings = `current_setting('autovacuum_freeze_max_age')::bigint as freeze_max_age,
  current_setting('autovacuum_multixact_freeze_max_age')::bigint as multixact_freeze_max_age`;

/** How close the server is to running out of numbers for transactions and groups of row locks. */
export const wraparoundCheck = defineHealthCheck<AgeRow>({
  sql: `
(select null as schema, datname as name, age(datfrozenxid) as xid_age, mxid_age(datminmxid) as multixact_age, ${settings}
from pg_database where datallowconn or age(datfrozenxid) > 0
order by age(datfrozenxid) desc limit 100)
union all
(select n.nspname, c.relname, age(c.relfrozenxid), mxid_age(c.relminmxid), ${settings}
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'm', 't') and c.relpersistence <> 't'
  and (age(c.relfrozenxid) > ${lateness} * current_setting('autovacuum_freeze_max_age')::bigint
    or mxid_age(c.relminmxid) > ${lateness} * current_setting('autovacuum_multixact_freeze_max_age')::bigint)
order by age(c.relfrozenxid) desc limit 20)`,
  examine(rows) {
    const databases = rows.filter((row) => row.schema === null);
    const oldest = Math.max(0, ...databases.map((row) => row.xid_age));
    const oldestMultixact = Math.max(0, ...databases.map((row) => row.multixact_age));
    return {
      summary: `${percent(oldest / allIds)} of transaction ids and ${percent(oldestMultixact / allIds)} of ` +
        "multixact ids in use",
      concerns: rows.flatMap(findLate),
    };
  },
});

function findLate(row: AgeRow): Concern[] {
  const object = row.schema === null
    ? `database ${quoteIfNeeded(row.name)}`
    : objectName(row.schema, row.name);
  return [
    ["transaction", row.xid_age, row.freeze_max_age] as const,
    ["multixact", row.multixact_age, row.multixact_freeze_max_age] as const,
  ].flatMap(([what, age, limit]): Concern[] => {
    if (age <= lateness * limit) return [];
    const severity: Severity = age >= Math.max(lateAge, limit) ? "critical" : "warning";
    return [{
      severity,
      object,
      figure: `its oldest ${what} id is ${count(age)} old, ${percent(age / allIds)} of what there is; ` +
        `autovacuum acts from ${count(limit)}`,
      advice:
        "Vacuum could not catch up: end what holds old rows (long_transactions, prepared transactions, " +
        "replication slots), then vacuum",
      sql: row.schema === null
        ? `VACUUM (FREEZE, VERBOSE); -- in database ${quoteIfNeeded(row.name)}`
        : `VACUUM (FREEZE, VERBOSE) ${object};`,
    }];
  });
}

interface BloatRow {
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
const bloatedShare = 0.3;
const hugeShare = 0.6;

// Estimates from the planner's statistics: rows times their average width with the headers of rows (23 bytes and one bit
// for each column where there are NULLs, aligned to 8, and a line pointer of 4) and of pages (24), against the pages that
// there are. Source: PostgreSQL manual, "Database Page Layout". pg_relation_size() would wait for a table that is locked.
const bloatSql = `
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
where is_known and (pages - needed) * page_bytes >= ${smallBytes} and pages - needed >= ${bloatedShare} * pages
order by pages - needed desc
limit 200)
union all
select '', '', '', '', 0, 0, count(*) from estimates where not is_known and pages * page_bytes >= ${smallBytes}`;

/** Room that tables and indexes take on disk and do not use, as far as the planner's statistics tell. */
export const bloatCheck = defineHealthCheck<BloatRow>({
  measuresTables: true,
  sql: bloatSql,
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
