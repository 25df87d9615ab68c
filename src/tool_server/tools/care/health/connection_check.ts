import { type Concern, count, defineHealthCheck, percent, type ServerFacts } from "./health_check.ts";

interface Row {
  readonly used: number;
  /** For roles without a privilege to the reserved places. */
  readonly places: number;
  readonly idle: number;
  readonly idle_in_transaction: number;
}

const nearLimit = 0.8;
const atLimit = 0.95;

/** How many of the server's places for sessions are taken. */
export const connectionCheck = defineHealthCheck<Row>({
  name: "connections",
  // the number of sessions of each database is open to all, what they do is not
  sql: `
select (select coalesce(sum(numbackends), 0) from pg_stat_database) as used,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
    - coalesce(current_setting('reserved_connections', true)::int, 0) as places,
  (select count(*) from pg_stat_activity where state = 'idle') as idle,
  (select count(*) from pg_stat_activity where state like 'idle in transaction%') as idle_in_transaction`,
  examine([row], facts) {
    if (row === undefined) return { summary: "unknown", concerns: [] };
    const share = row.used / Math.max(1, row.places);
    const figure = `${count(row.used)} of ${count(row.places)} places taken (${percent(share)})${
      statesText(row, facts)
    }`;
    const concerns: Concern[] = share < nearLimit ? [] : [{
      severity: share >= atLimit ? "critical" : "warning",
      object: "connections",
      figure,
      advice: "Soon nobody gets in: close idle sessions, put a pooler such as PgBouncer in front, " +
        "or raise max_connections, which needs a restart and memory",
      sql:
        "SELECT usename, application_name, state, count(*) FROM pg_stat_activity GROUP BY 1, 2, 3 ORDER BY 4 DESC;",
    }];
    return {
      summary: figure,
      concerns,
      ...(!facts.readsAllStats && { unseen: "what other roles' sessions do" }),
    };
  },
});

function statesText(row: Row, { readsAllStats }: ServerFacts): string {
  return readsAllStats
    ? `, ${count(row.idle)} of them idle and ${count(row.idle_in_transaction)} idle in transaction`
    : "";
}
