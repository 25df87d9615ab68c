import { AppError } from "../core/app_error.ts";
import type { Logger } from "../core/logger.ts";
import { type Principal, principalKey } from "../core/principal.ts";
import type { DatabaseOptions } from "./database_options.ts";
import type { CheckScheduler } from "./guard/check_scheduler.ts";
import type { createFunctionGuard } from "./guard/function_guard.ts";
import type { ConnectionPools } from "./pool/connection_pools.ts";
import type { OwnStatement, Row } from "./read/portal.ts";
import { callerRights } from "./read/caller_settings.ts";
import { heldSql } from "./read/plan_figures.ts";
import { beginReadOnly, inReadOnlyTransaction } from "./read/read_only_transaction.ts";
import { isConnectionLost, lostError, statementErrorOf } from "./read/statement_error.ts";
import { untilStopped } from "./read/stop_statement.ts";
import { quoteIdentifier } from "./sql_text.ts";
import type { Lease } from "./pool/principal_pool.ts";

/** A B-tree that is not there, by names of the catalog. */
interface TriedIndex {
  readonly schema: string;
  readonly table: string;
  readonly columns: readonly string[];
}

/** What PostgreSQL would do if indexes were there that are not. */
export interface IndexTrial {
  /**
   * The planner's cost of a caller's query, which is guarded as any other; `$1` and on stand for values that nobody knows,
   * as many as `parameters`.
   */
  cost(
    sql: string,
    parameters: number,
  ): Promise<{ readonly ok: true; readonly cost: number } | { readonly ok: false; readonly reason: string }>;
  /** Pretends that an index is there; undefined where PostgreSQL does not take it. */
  create(index: TriedIndex): Promise<{ readonly id: string; readonly bytes: number } | undefined>;
  /** Ends the pretence of one index. */
  drop(id: string): Promise<void>;
}

type TrialResult<T> =
  | { readonly ok: true; readonly value: T }
  /** `missing`: the extension hypopg is not in the database; `pooler`: a session is not one's own. */
  | { readonly ok: false; readonly why: "missing" | "pooler" | "failed"; readonly reason: string };

export interface IndexTrialsOptions {
  readonly options: DatabaseOptions;
  readonly pools: ConnectionPools;
  readonly guard: Pick<CheckScheduler, "check">;
  readonly functionGuard: ReturnType<typeof createFunctionGuard>;
  readonly onStop: () => void;
  readonly logger: Logger;
}

/** Plans are a few kilobytes each. */
const maxPlanBytes = 16 * 1_048_576;

const extensionSql = `select n.nspname from pg_catalog.pg_extension e
join pg_catalog.pg_namespace n on n.oid = e.extnamespace where e.extname = 'hypopg'`;

/**
 * Lets `work` try indexes with the extension hypopg, whose indexes exist for one session's planner alone. The session is on
 * a connection of the principal's that is closed afterwards. hypopg's functions are VOLATILE, so callers may not call them:
 * the statements here are fixed, with names of the catalog in them, and callers' queries are only explained, once the guard
 * has passed them.
 *
 * @throws {AppError} as `Database.read`
 */
export function createIndexTrials({ options, pools, guard, functionGuard, ...rest }: IndexTrialsOptions) {
  return async function tryIndexes<T>(
    { principal, signal, timeoutMs }: {
      readonly principal: Principal;
      readonly signal: AbortSignal;
      /** For all of it. */
      readonly timeoutMs: number;
    },
    work: (trial: IndexTrial) => Promise<T>,
  ): Promise<TrialResult<T>> {
    if (options.pooler === "transaction") {
      const reason =
        "a pooler stands before the database, and hypothetical indexes need a session of their own";
      return { ok: false, why: "pooler", reason };
    }
    const lease = await pools.acquire(options, principal, signal);
    const stopped = await untilStopped(lease, { ...rest, timeoutMs, signal }, async (isStopped) => {
      try {
        const run = runner(lease, isStopped);
        const schema = (await run(extensionSql))[0]?.[0];
        if (typeof schema !== "string") {
          const reason = "the extension hypopg is not in this database";
          return { ok: false as const, why: "missing" as const, reason };
        }
        return { ok: true as const, value: await work(trial(run, quoteIdentifier(schema), lease)) };
      } finally {
        // its hypothetical indexes would change the plans of whoever comes next
        lease.discard();
      }
    });
    if (stopped.ok || "why" in stopped) return stopped;
    return { ok: false, why: "failed", reason: stopped.error.message };

    function runner(lease: Lease, isStopped: () => boolean) {
      const begin = beginReadOnly({
        database: options,
        principal,
        holdsSettings: lease.holdsSettings,
        // a plan for whatever value may come, as for a statement that is prepared once
        planning: { plan_cache_mode: "force_generic_plan" },
      });
      return async (
        sql: string,
        parameters: readonly string[] = [],
        first: readonly OwnStatement[] = [],
        last?: string,
      ): Promise<Row[]> => {
        if (isStopped()) throw new AppError("timeout", "Cannot try indexes: the time is over");
        lease.limitBytes(maxPlanBytes);
        const before = [["DEALLOCATE ALL"] as const, ...begin, ...first];
        return await inReadOnlyTransaction(lease.client, before, async (transaction) => {
          const rows = await transaction.rows(sql, parameters, last === undefined);
          return last === undefined ? rows : [...rows, ...await transaction.rows(last, [], true)];
        });
      };
    }

    type Run = ReturnType<typeof runner>;

    function trial(run: Run, schema: string, lease: Lease): IndexTrial {
      /** Why a statement must not be planned; each is looked at once. */
      const checked = new Map<string, string | undefined>();

      async function whyRefused(sql: string, parameters: number): Promise<string | undefined> {
        const result = await guard.check(sql, { principal, signal, parameters: { length: parameters } });
        if (!result.ok) return result.reason;
        if (result.kind !== "select") return "it is no query";
        // what a name means hangs on the role and the settings that the caller's claims give
        const cacheKey = `${principalKey(principal)} ${callerRights(options, principal)}`;
        return await functionGuard.check(result.names, cacheKey, run);
      }

      async function orReason<R>(call: () => Promise<R>, sql: string): Promise<R | { reason: string }> {
        try {
          return await call();
        } catch (error) {
          if (isConnectionLost(error)) throw lostError(options.name, error);
          const failed = statementErrorOf(error, sql);
          if (failed === undefined) throw error;
          return { reason: failed.message };
        }
      }

      return {
        async cost(sql, parameters) {
          const key = `${parameters} ${sql}`;
          if (!checked.has(key)) checked.set(key, await whyRefused(sql, parameters));
          const refused = checked.get(key);
          if (refused !== undefined) return { ok: false, reason: refused };
          const nulls = Array.from({ length: parameters }, () => "NULL").join(", ");
          const [text, first]: [string, OwnStatement[]] = parameters === 0
            ? [`EXPLAIN (FORMAT JSON) ${sql}`, []]
            : [`EXPLAIN (FORMAT JSON) EXECUTE postern_trial (${nulls})`, [[
              `PREPARE postern_trial AS ${sql}`,
            ]]];
          const explained = await orReason(() => run(text, [], first, heldSql), sql);
          if (!Array.isArray(explained)) return { ok: false, reason: explained.reason };
          const [isHeld] = explained.pop() ?? [];
          if (isHeld !== "false") {
            return { ok: false, reason: "row-level security holds you in what it reads" };
          }
          const plan: readonly { readonly Plan?: { readonly "Total Cost": number } }[] = JSON.parse(
            explained.map((row: Row) => row[0] ?? "").join("\n") || "[]",
          );
          const cost = plan[0]?.Plan?.["Total Cost"];
          return cost === undefined
            ? { ok: false, reason: "PostgreSQL's plan cannot be read" }
            : { ok: true, cost };
        },
        async create({ schema: tableSchema, table, columns }) {
          const sql = `CREATE INDEX ON ${quoteIdentifier(tableSchema)}.${quoteIdentifier(table)} ` +
            `(${columns.map(quoteIdentifier).join(", ")})`;
          const created = await orReason(
            () => run(`select indexrelid from ${schema}.hypopg_create_index($1::pg_catalog.text)`, [sql]),
            sql,
          );
          const id = Array.isArray(created) ? created[0]?.[0] : undefined;
          if (typeof id !== "string") return undefined;
          const size = await run(`select ${schema}.hypopg_relation_size($1::pg_catalog.oid)`, [id]);
          return { id, bytes: Number(size[0]?.[0] ?? 0) };
        },
        async drop(id) {
          await run(`select ${schema}.hypopg_drop_index($1::pg_catalog.oid)`, [id]);
          lease.limitBytes(undefined);
        },
      };
    }
  };
}
