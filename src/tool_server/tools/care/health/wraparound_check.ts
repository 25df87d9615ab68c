import { quoteIfNeeded } from "../../../../postgres/sql_text.ts";
import {
  type Concern,
  count,
  defineHealthCheck,
  objectName,
  percent,
  type Severity,
} from "./health_check.ts";

interface Row {
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
export const wraparoundCheck = defineHealthCheck<Row>({
  name: "wraparound",
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

function findLate(row: Row): Concern[] {
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
