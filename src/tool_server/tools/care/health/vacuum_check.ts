import { type Concern, count, defineHealthCheck, objectName, percent, some } from "./health_check.ts";

interface Row {
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
export const vacuumCheck = defineHealthCheck<Row>({
  name: "vacuum",
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

function tableConcerns(row: Row): Concern[] {
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
