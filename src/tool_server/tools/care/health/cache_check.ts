import { type Concern, count, defineHealthCheck, objectName, percent } from "./health_check.ts";

interface Row {
  /** Null for the sum of all tables. */
  readonly schema: string | null;
  readonly name: string | null;
  readonly hits: number;
  readonly reads: number;
  readonly index_hits: number;
  readonly index_reads: number;
  readonly shared_buffers: string;
}

/** Blocks below which a rate says little. */
const fewBlocks = 10_000;
const goodRate = 0.9;

const sql = `
with t as (
  select schemaname, relname, coalesce(heap_blks_hit, 0) + coalesce(toast_blks_hit, 0) as hits,
    coalesce(heap_blks_read, 0) + coalesce(toast_blks_read, 0) as reads,
    coalesce(idx_blks_hit, 0) as index_hits, coalesce(idx_blks_read, 0) as index_reads
  from pg_statio_user_tables
)
select null as schema, null as name, coalesce(sum(hits), 0) as hits, coalesce(sum(reads), 0) as reads,
  coalesce(sum(index_hits), 0) as index_hits, coalesce(sum(index_reads), 0) as index_reads,
  current_setting('shared_buffers') as shared_buffers
from t
union all (
  select schemaname, relname, hits, reads, index_hits, index_reads, ''
  from t
  where hits + reads >= ${fewBlocks} and hits < ${goodRate} * (hits + reads)
  order by reads desc, schemaname, relname
  limit 100
)`;

/** How much of what is read is found in PostgreSQL's own memory. */
export const cacheCheck = defineHealthCheck<Row>({
  name: "cache",
  measuresTables: true,
  sql,
  examine([total, ...tables]) {
    if (total === undefined) return { summary: "no tables", concerns: [] };
    const rates = [
      ["tables", total.hits, total.reads],
      ["indexes", total.index_hits, total.index_reads],
    ] as const;
    const concerns = rates.flatMap(([what, hits, reads]): Concern[] => {
      if (hits + reads < fewBlocks || hits >= goodRate * (hits + reads)) return [];
      return [{
        severity: "warning",
        object: `all ${what}`,
        figure: `${percent(hits / (hits + reads))} of ${count(hits + reads)} blocks were in the cache`,
        advice: `Find the statements that read most (top_queries with order_by=io) first; then see whether ` +
          `shared_buffers (now ${total.shared_buffers}) may grow to a quarter of the machine's memory`,
        sql: "SHOW shared_buffers;",
      }];
    });
    return {
      summary: rates.map(([what, hits, reads]) =>
        `${what} ${hits + reads === 0 ? "not read yet" : percent(hits / (hits + reads))}`
      ).join(", "),
      concerns: [
        ...concerns,
        ...tables.map(({ schema, name, hits, reads }): Concern => ({
          severity: "info",
          object: objectName(schema ?? "", name ?? ""),
          figure: `${percent(hits / (hits + reads))} of ${count(hits + reads)} blocks were in the cache`,
          advice: "Its scans read more than the cache keeps: look for an index that would spare them " +
            "(recommend_indexes), or for rows that need not be kept",
        })),
      ],
    };
  },
});
