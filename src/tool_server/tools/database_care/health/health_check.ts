import { quoteIfNeeded } from "../../../../postgres/sql_text.ts";

/** What `analyze_health` looks at, in the order of its answer. */
export const healthCheckNames = [
  "cache",
  "bloat",
  "unused_indexes",
  "duplicate_indexes",
  "invalid_indexes",
  "constraints",
  "wraparound",
  "long_transactions",
  "blocking",
  "replication",
  "sequences",
  "connections",
  "vacuum",
] as const;

export type HealthCheckName = (typeof healthCheckNames)[number];

/** `critical`: the database stops working, or has; `warning`: it costs more than it should; `info`: worth a look. */
export const severities = ["critical", "warning", "info"] as const;

export type Severity = (typeof severities)[number];

export interface Concern {
  readonly severity: Severity;
  /** What it is about, as SQL names it. */
  readonly object: string;
  readonly figure: string;
  /** What to do next. */
  readonly advice: string;
  /** For a person to run; Postern never runs it. */
  readonly sql?: string;
}

/** What a server and a role are, as far as checks differ by it. */
export interface ServerFacts {
  /** `server_version_num`, as in 150004. */
  readonly version: number;
  /** The role that statements run as. */
  readonly role: string;
  /** Whether the role sees what other roles' sessions do: it has the rights of `pg_read_all_stats`. */
  readonly readsAllStats: boolean;
  /** A table in which row-level security holds the role; null where it sees all rows of what it reads. */
  readonly heldTable: string | null;
  readonly isStandby: boolean;
  /** Since when the database's statistics count; empty where they were never reset. */
  readonly statsSince: string;
  /** How many days that is; null where they were never reset. */
  readonly statsDays: number | null;
}

interface Examination {
  /** The figures at a glance, whether or not something is wrong. */
  readonly summary: string;
  /** The worst first. */
  readonly concerns: readonly Concern[];
  /** What the role may not see, and so is not in the figures. */
  readonly unseen?: string | undefined;
}

/** One look at a database: a statement of ours and what its rows mean. */
export interface HealthCheck {
  /** What the check cannot do without: then it is left out rather than half told. */
  readonly needsAllStats: boolean;
  /** Whether it tells how much tables hold: then it is left out for a role that row-level security holds. */
  readonly measuresTables: boolean;
  /** It runs with a search_path of `pg_catalog`, and gives one row of JSON each. */
  sql(facts: ServerFacts): string;
  examine(rows: readonly string[], facts: ServerFacts): Examination;
}

/** A check whose rows have a type; the SQL's columns are its fields. */
export function defineHealthCheck<Row>(check: {
  readonly needsAllStats?: boolean;
  readonly measuresTables?: boolean;
  readonly sql: string | ((facts: ServerFacts) => string);
  readonly examine: (rows: readonly Row[], facts: ServerFacts) => Examination;
}): HealthCheck {
  const { needsAllStats = false, measuresTables = false, sql, examine } = check;
  return {
    needsAllStats,
    measuresTables,
    sql: (facts) => `select to_json(found) from (${typeof sql === "string" ? sql : sql(facts)}) found`,
    examine: (rows, facts) => examine(rows.map((row): Row => JSON.parse(row)), facts),
  };
}

/** A name with its schema, as SQL takes it. */
export function objectName(schema: string, name: string): string {
  return `${quoteIfNeeded(schema)}.${quoteIfNeeded(name)}`;
}

/** `12.5 %` of 0.125. */
export function percent(share: number): string {
  return `${Math.round(share * 1_000) / 10} %`;
}

/** A number with its thousands apart. */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** `1 table`, `12 tables`. */
export function some(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** `3 h 5 min` of so many seconds. */
export function spanText(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
}
