import { quoteIfNeeded, quoteLiteral } from "../../../../postgres/sql_text.ts";
import {
  type Concern,
  count,
  defineHealthCheck,
  objectName,
  percent,
  type ServerFacts,
  spanText,
} from "./health_check.ts";

interface TransactionRow {
  readonly pid: number | null;
  /** Of a prepared transaction. */
  readonly gid: string | null;
  readonly role: string | null;
  readonly application: string | null;
  readonly state: string | null;
  readonly age: number;
  readonly idle: number | null;
}

const oldSeconds = 5 * 60;
const veryOldSeconds = 60 * 60;
const idleSeconds = 60;

/**
 * Transactions that keep vacuum from removing rows, and those that are open with nobody at work in them.
 *
 * @param patience how many times longer than in a test's they may be
 */
export function longTransactionsCheck(patience = 1) {
  return defineHealthCheck<TransactionRow>({
    needsAllStats: true,
    // without the statements' texts, which hold what their authors wrote into them
    sql: `
(select a.pid, null as gid, a.usename as role, a.application_name as application, a.state,
  extract(epoch from clock_timestamp() - a.xact_start)::float8 as age,
  case when a.state like 'idle in transaction%' then extract(epoch from clock_timestamp() - a.state_change)::float8 end
    as idle
from pg_stat_activity a
where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type = 'client backend'
  and (clock_timestamp() - a.xact_start > make_interval(secs => ${oldSeconds * patience})
    or a.state like 'idle in transaction%'
      and clock_timestamp() - a.state_change > make_interval(secs => ${idleSeconds * patience}))
order by a.xact_start
limit 200)
union all
(select null, p.gid, p.owner, null, 'prepared', extract(epoch from clock_timestamp() - p.prepared)::float8, null
from pg_prepared_xacts p
where p.database = current_database()
  and clock_timestamp() - p.prepared > make_interval(secs => ${oldSeconds * patience})
order by p.prepared
limit 200)`,
    examine: (rows) => ({
      summary: rows.length === 0
        ? "none"
        : `${count(rows.length)}, the oldest ${spanText(Math.max(...rows.map((row) => row.age)))}`,
      concerns: rows.map(longTransaction),
    }),
  });
}

function longTransaction(row: TransactionRow): Concern {
  const severity = row.age > veryOldSeconds ? "critical" : "warning";
  if (row.gid !== null) {
    return {
      severity,
      object: `prepared transaction ${quoteLiteral(row.gid)}`,
      figure: `of role ${quoteIfNeeded(row.role ?? "?")}, ${spanText(row.age)} old`,
      advice: "It holds its locks and old rows until somebody ends it: commit it or roll it back",
      sql: `ROLLBACK PREPARED ${quoteLiteral(row.gid)};`,
    };
  }
  const idle = row.idle === null ? "" : `, idle for ${spanText(row.idle)}`;
  return {
    severity,
    object: sessionName(row.pid, row.role, row.application),
    figure: `${row.state ?? "unknown state"}, its transaction is ${spanText(row.age)} old${idle}`,
    advice: row.idle === null
      ? "See what it runs; until it ends, vacuum removes no row that died since it began"
      : "Its program forgot to end the transaction: mend that, set idle_in_transaction_session_timeout, or end it",
    sql: row.idle === null
      ? `SELECT query FROM pg_stat_activity WHERE pid = ${row.pid};`
      : `SELECT pg_terminate_backend(${row.pid});`,
  };
}

interface BlockedRow {
  readonly pid: number;
  readonly role: string | null;
  readonly application: string | null;
  readonly waits: number;
  readonly lock: string | null;
  readonly schema: string | null;
  readonly relation: string | null;
  readonly blockers: readonly {
    readonly pid: number;
    readonly role: string | null;
    readonly application: string | null;
    readonly state: string | null;
    readonly age: number | null;
    /** Whether it waits for another one itself. */
    readonly waits: boolean;
  }[];
}

const longWaitSeconds = 60;

/** Sessions that wait for a lock, and those that hold it. */
export const blockingCheck = defineHealthCheck<BlockedRow>({
  needsAllStats: true,
  sql: `
select a.pid, a.usename as role, a.application_name as application,
  extract(epoch from clock_timestamp() - a.state_change)::float8 as waits, l.locktype as lock,
  n.nspname as schema, c.relname as relation,
  (select json_agg(json_build_object('pid', b.pid, 'role', o.usename, 'application', o.application_name,
      'state', coalesce(o.state, 'prepared transaction'), 'waits', coalesce(o.wait_event_type = 'Lock', false),
      'age', extract(epoch from clock_timestamp() - o.xact_start)::float8))
    from (select distinct pid from unnest(pg_blocking_pids(a.pid)) as p(pid)) b
    left join pg_stat_activity o on o.pid = b.pid) as blockers
from pg_stat_activity a
left join lateral (
  select l.locktype, l.relation from pg_locks l where l.pid = a.pid and not l.granted limit 1
) l on true
left join pg_class c on c.oid = l.relation
left join pg_namespace n on n.oid = c.relnamespace
where a.datname = current_database() and a.wait_event_type = 'Lock' and cardinality(pg_blocking_pids(a.pid)) > 0
order by a.state_change
limit 200`,
  examine: (rows) => ({
    summary: rows.length === 0
      ? "nobody waits for a lock"
      : `${count(rows.length)} wait, the longest for ${spanText(Math.max(...rows.map((row) => row.waits)))}`,
    concerns: rows.map((row): Concern => {
      const holders = row.blockers.map(({ pid, role, application, state, age }) =>
        `${sessionName(pid, role, application)} (${state}${
          age === null ? "" : `, its transaction is ${spanText(age)} old`
        })`
      );
      const ends = row.blockers.filter(({ waits, pid }) => !waits && pid > 0);
      const what = row.relation === null
        ? `a lock of kind ${row.lock ?? "unknown"}`
        : `a lock on ${objectName(row.schema ?? "", row.relation)}`;
      return {
        severity: row.waits > longWaitSeconds ? "critical" : "warning",
        object: sessionName(row.pid, row.role, row.application),
        figure:
          `waits for ${what} that ${holders.join(" and ")} ${holders.length === 1 ? "holds" : "hold"}; ` +
          `${spanText(row.waits)} so far`,
        advice: ends.length === 0
          ? "Its holder waits itself: see who holds that one up"
          : "Wait for the holder, or end its statement; where it is idle in transaction, end the session",
        ...(ends.length > 0 && {
          sql: ends.map(({ pid, state }) => `SELECT ${signalFor(state)}(${pid});`).join(" "),
        }),
      };
    }),
  }),
});

function signalFor(state: string | null): string {
  return state?.startsWith("idle") ? "pg_terminate_backend" : "pg_cancel_backend";
}

function sessionName(pid: number | null, role: string | null, application: string | null): string {
  const program = application === null || application === "" ? "" : `, ${JSON.stringify(application)}`;
  return pid === 0 ? "a prepared transaction" : `session ${pid} (${quoteIfNeeded(role ?? "?")}${program})`;
}

interface ConnectionRow {
  readonly used: number;
  /** For roles without a privilege to the reserved places. */
  readonly places: number;
  readonly idle: number;
  readonly idle_in_transaction: number;
}

const nearLimit = 0.8;
const atLimit = 0.95;

/** How many of the server's places for sessions are taken. */
export const connectionCheck = defineHealthCheck<ConnectionRow>({
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

function statesText(row: ConnectionRow, { readsAllStats }: ServerFacts): string {
  return readsAllStats
    ? `, ${count(row.idle)} of them idle and ${count(row.idle_in_transaction)} idle in transaction`
    : "";
}

interface CacheRow {
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
export const cacheCheck = defineHealthCheck<CacheRow>({
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
