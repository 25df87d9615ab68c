import { defined } from "../../../core/defined.ts";
import { z } from "zod";
import { AppError } from "../../../core/app_error.ts";
import type { Database } from "../../../postgres/database.ts";
import { quoteIfNeeded } from "../../../postgres/sql_text.ts";
import { createFence } from "../../../text/fence.ts";
import { formatTsv } from "../../../text/tsv.ts";
import type { CallContext } from "../../call_context.ts";
import { databaseArgument, type DatabaseDirectory } from "../databases/database_directory.ts";
import { defineTool, type Tool } from "../tool.ts";
import { heldTableSql, readOwn, whyNoStatistics } from "./read_own.ts";
import {
  type HealthCheck,
  type HealthCheckName,
  healthCheckNames,
  type ServerFacts,
  severities,
} from "./health/health_check.ts";
import { blockingCheck, cacheCheck, connectionCheck, longTransactionsCheck } from "./health/load_checks.ts";
import { bloatCheck, vacuumCheck, wraparoundCheck } from "./health/vacuum_checks.ts";
import {
  constraintCheck,
  duplicateIndexesCheck,
  invalidIndexesCheck,
  sequenceCheck,
  unusedIndexesCheck,
} from "./health/object_checks.ts";
import { replicationCheck } from "./health/replication_check.ts";

/** Concerns of one check that are told; the rest is counted. */
const maxConcerns = 20;

const input = z.strictObject({
  checks: z.array(z.enum(healthCheckNames)).min(1).optional().describe("Default: all."),
  database: databaseArgument,
});

const concern = z.object({
  check: z.enum(healthCheckNames),
  severity: z.enum(severities),
  object: z.string(),
  figure: z.string(),
  advice: z.string(),
  sql: z.string().optional().describe("For a person to run."),
});

const checked = z.object({
  name: z.enum(healthCheckNames),
  status: z.enum(["ok", "concerns", "left_out", "failed"]),
  summary: z.string().describe("The figures at a glance, or why there are none."),
  unseen: z.string().optional().describe("What the role may not see, and the figures lack."),
});

const output = z.object({
  database: z.string(),
  concerns: z.array(concern),
  not_shown: z.int().describe("Concerns beyond those listed."),
  checks: z.array(checked),
});

type ToldConcern = z.infer<typeof concern>;
type Checked = z.infer<typeof checked>;

export function analyzeHealth({ directory, patience }: {
  readonly directory: DatabaseDirectory;
  /** Of transactions, as a part of what it is elsewhere. Optional; the default is 1. */
  readonly patience?: number;
}): Tool {
  const checks: Readonly<Record<HealthCheckName, HealthCheck>> = {
    cache: cacheCheck,
    bloat: bloatCheck,
    unused_indexes: unusedIndexesCheck,
    duplicate_indexes: duplicateIndexesCheck,
    invalid_indexes: invalidIndexesCheck,
    constraints: constraintCheck,
    wraparound: wraparoundCheck,
    long_transactions: longTransactionsCheck(patience),
    blocking: blockingCheck,
    replication: replicationCheck,
    sequences: sequenceCheck,
    connections: connectionCheck,
    vacuum: vacuumCheck,
  };
  return defineTool({
    name: "analyze_health",
    title: "Analyze a database's health",
    description:
      "Look for what is wrong with the database server itself: cache, bloat, indexes, locks, replication, " +
      "vacuum and more, with what to do next. Use it when the database is slow or at risk, not for questions about data. " +
      "Show the SQL that it proposes to a person; it is not run.",
    input,
    output,
    untrusted: ["concerns", "checks"],
    annotations: { idempotentHint: true },
    async run({ checks: wanted = healthCheckNames, database: name }, context) {
      const database = directory.resolve(context.principal, name);
      const facts = await readFacts(database, context);
      const concerns: ToldConcern[] = [];
      const told: Checked[] = [];
      let notShown = 0;
      for (const name of healthCheckNames.filter((name) => wanted.includes(name))) {
        const check = checks[name];
        const whyNot = whyLeftOut(check, facts);
        if (whyNot !== undefined) {
          told.push({ name, status: "left_out", summary: whyNot });
          continue;
        }
        const rows = await readOwn(database, context, check.sql(facts));
        if (!rows.ok) {
          told.push({ name, status: "failed", summary: rows.reason });
          continue;
        }
        const { summary, concerns: found, unseen } = check.examine(
          rows.rows.map(([json]) => json ?? "null"),
          facts,
        );
        notShown += Math.max(0, found.length - maxConcerns);
        concerns.push(...found.slice(0, maxConcerns).map((each) => ({ check: name, ...each })));
        told.push({
          name,
          status: found.length === 0 ? "ok" : "concerns",
          summary,
          ...defined({ unseen }),
        });
      }
      concerns.sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity));
      return {
        text: `Database: ${database.name}\n\n${headline(concerns, notShown)}\n` +
          `${createFence().wrap(`${concernsTable(concerns)}${checksTable(told)}`)}` +
          (concerns.some(({ sql }) => sql !== undefined) ? `\n${forPeople}` : ""),
        data: { database: database.name, concerns, not_shown: notShown, checks: told },
      };
    },
  });
}

const forPeople = "None of the SQL was run. Show it to a person who may run it, with what it locks.";

/** Why a check is not made for the role; undefined where it is. */
function whyLeftOut(check: HealthCheck, { role, readsAllStats, heldTable }: ServerFacts): string | undefined {
  if (check.needsAllStats && !readsAllStats) {
    return `needs the rights of pg_monitor: GRANT pg_monitor TO ${quoteIfNeeded(role)};`;
  }
  return check.measuresTables && heldTable !== null ? whyNoStatistics(heldTable) : undefined;
}

function headline(concerns: readonly ToldConcern[], notShown: number): string {
  const counts = severities.map((severity) =>
    `${concerns.filter((each) => each.severity === severity).length} ${severity}`
  );
  return `Concerns: ${counts.join(", ")}${notShown === 0 ? "" : `; ${notShown} more not shown`}`;
}

function concernsTable(concerns: readonly ToldConcern[]): string {
  if (concerns.length === 0) return "";
  const rows = concerns.map((
    { severity, check, object, figure, advice, sql = "" },
  ) => [severity, check, object, figure, advice, sql]);
  return `${formatTsv(["severity", "check", "object", "figure", "what to do", "sql"], rows)}\n\n`;
}

function checksTable(checks: readonly Checked[]): string {
  return formatTsv(
    ["check", "status", "summary"],
    checks.map(({ name, status, summary, unseen }) => [
      name,
      status,
      unseen === undefined ? summary : `${summary}; not in it: ${unseen}`,
    ]),
  );
}

const factsSql = `
select json_build_object(
  'version', current_setting('server_version_num')::int,
  'role', current_user,
  'readsAllStats', pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
  'heldTable', ${heldTableSql},
  'isStandby', pg_is_in_recovery(),
  'statsSince', coalesce(to_char(d.stats_reset at time zone 'UTC', 'YYYY-MM-DD'), ''),
  'statsDays', extract(epoch from clock_timestamp() - d.stats_reset)::float8 / 86400)
from pg_stat_database d where d.datname = current_database()`;

/** @throws {AppError} `upstream` where the server does not tell */
async function readFacts(database: Database, context: CallContext): Promise<ServerFacts> {
  const result = await readOwn(database, context, factsSql);
  const json = result.ok ? result.rows[0]?.[0] : undefined;
  if (typeof json === "string") return JSON.parse(json);
  const reason = result.ok ? "its statistics are not there" : result.reason;
  throw new AppError("upstream", `Cannot look after database "${database.name}": ${reason}`);
}
