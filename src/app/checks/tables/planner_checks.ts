import {
  nameOf,
  quoteIdentifier,
  renderSql,
  sql,
  type SqlText,
  verbatim,
} from "../../../postgres/sql_text.ts";
import { basesSql } from "../../../rag_server/search/vector_index.ts";
import { readJson, readRows } from "../../../postgres/read/read_trusted.ts";
import { type Check, type CheckResult, createCheck, warning } from "../check.ts";
import { createIndexOn, rowsText, rowsWithoutIndex, type TableSubject } from "./table_subject.ts";

/** A filter that lets through more than this share gains nothing from an index. */
const selectiveBelow = 0.2;

/** Whether the configured filter of a large table finds its rows by an index where it is worth one. */
export function filterCheck(subject: TableSubject): Check {
  const { settings, database, facts, table: { columns, filter } } = subject;
  return createCheck(`filter of ${settings.table}`, async (signal) => {
    if (filter === undefined || facts.rows < rowsWithoutIndex) return [];
    if (!await scansForFew(subject, filter, signal)) return [];
    const indexed = await readJson<string[]>(database, signal, leadingSql, [facts.oid]) ?? [];
    const bare = namedColumns(settings.filter, [...columns.keys()])
      // what lies in JSON or in an array needs an index that only its owner can choose
      .filter((name) => !["json", "array", "other"].includes(columns.get(name)?.kind ?? "other"))
      .filter((name) => !indexed.includes(name));
    return bare.map((name) =>
      warning(
        `The filter selects few of ${
          rowsText(facts.rows)
        } by "${name}", and no index begins with that column`,
        `${createIndexOn(facts)} (${quoteIdentifier(name)});`,
      )
    );
  });
}

const leadingSql = `${basesSql("$1")}
  SELECT json_agg(DISTINCT a.attname) FROM bases JOIN pg_index i ON i.indrelid = bases.oid AND i.indisvalid
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]`;

/** Whether PostgreSQL would read the whole table for few of its rows. */
async function scansForFew({ database, table, facts }: TableSubject, filter: SqlText, signal: AbortSignal) {
  const { sql: text, parameters } = renderSql(
    sql`EXPLAIN (FORMAT JSON) SELECT 1 FROM ${verbatim(table.relation)} AS source WHERE ${filter}`,
  );
  const [row] = await readRows(database, signal, text, parameters);
  const plan = row?.[0] ?? "[]";
  const [explained]: { Plan?: { "Plan Rows"?: number } }[] = JSON.parse(plan);
  const rows = explained?.Plan?.["Plan Rows"] ?? Infinity;
  return plan.includes('"Seq Scan"') && rows < selectiveBelow * facts.rows;
}

/** The columns that a filter names. For SQL text: every column whose name is a word of the text outside of literals. */
function namedColumns(filter: TableSubject["settings"]["filter"], columns: readonly string[]): string[] {
  if (filter === undefined) return [];
  if (typeof filter !== "string") {
    return columns.filter((name) => filter.conditions.some(({ column }) => column === name));
  }
  const text = filter.replace(/'(?:[^']|'')*'/g, " ");
  const words = new Set(text.match(/"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*/gu)?.map(nameOf));
  return columns.filter((name) => words.has(name));
}

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
  return createCheck(`statistics of ${settings.table}`, async (signal) => {
    const tables = await readJson<Activity[]>(database, signal, activitySql, [facts.oid]) ?? [];
    return tables.flatMap(activityResults);
  });
}

const activitySql = `${basesSql("$1")}
  SELECT json_agg(json_build_object('relation', format('%I.%I', n.nspname, c.relname), 'isAnalyzed', c.reltuples >= 0,
    'live', pg_stat_get_live_tuples(c.oid), 'changed', pg_stat_get_mod_since_analyze(c.oid),
    'dead', pg_stat_get_dead_tuples(c.oid)) ORDER BY n.nspname, c.relname)
  FROM bases JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'm') AND pg_relation_size(c.oid) > 0`;

function activityResults({ relation, isAnalyzed, live, changed, dead }: Activity): CheckResult[] {
  const isMany = (rows: number) => rows > fewChanges && rows > manyShare * live;
  // dead rows also fill an hnsw index, whose searches walk over them
  if (isMany(dead)) {
    return [warning(
      `${
        dead.toLocaleString("en-US")
      } dead rows are left in ${relation} and its indexes, and searches have to skip them`,
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
