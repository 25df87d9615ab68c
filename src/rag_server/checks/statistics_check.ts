import { type Check, type Finding, warning } from "./check.ts";
import { readJson } from "./read_rows.ts";
import { basesSql } from "./table_facts.ts";
import type { TableSubject } from "./table_subject.ts";

interface Activity {
  /** Qualified and quoted. */
  readonly relation: string;
  readonly isAnalyzed: boolean;
  readonly live: number;
  readonly changed: number;
  readonly dead: number;
}

/** Changes that are too few to matter, whatever the share. */
const fewChanges = 1_000;
const manyShare = 0.2;

/** Whether the planner knows the tables as they are, and vacuum keeps up with what was deleted. */
export function statisticsCheck({ database, settings, facts }: TableSubject): Check {
  return {
    name: `statistics of ${settings.table}`,
    async run(signal) {
      const tables = await readJson<Activity[]>(database, signal, activitySql, [facts.oid]) ?? [];
      return { findings: tables.flatMap(findingOf) };
    },
  };
}

const activitySql = `${basesSql}
  SELECT json_agg(json_build_object('relation', format('%I.%I', n.nspname, c.relname), 'isAnalyzed', c.reltuples >= 0,
    'live', pg_stat_get_live_tuples(c.oid), 'changed', pg_stat_get_mod_since_analyze(c.oid),
    'dead', pg_stat_get_dead_tuples(c.oid)) ORDER BY n.nspname, c.relname)
  FROM bases JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'm') AND pg_relation_size(c.oid) > 0`;

function findingOf({ relation, isAnalyzed, live, changed, dead }: Activity): Finding[] {
  const isMany = (rows: number) => rows > fewChanges && rows > manyShare * live;
  // dead rows also fill an hnsw index, whose searches walk over them
  if (isMany(dead)) {
    return [warning(
      `${
        dead.toLocaleString("en-US")
      } dead rows are left in ${relation} and its indexes, and searches pass over them`,
      `VACUUM (ANALYZE) ${relation};`,
    )];
  }
  if (!isAnalyzed) {
    return [
      warning(
        `${relation} was never analyzed: PostgreSQL plans without knowing its size`,
        `ANALYZE ${relation};`,
      ),
    ];
  }
  if (!isMany(changed)) return [];
  return [warning(
    `${changed.toLocaleString("en-US")} rows of ${relation} changed since it was last analyzed`,
    `ANALYZE ${relation};`,
  )];
}
