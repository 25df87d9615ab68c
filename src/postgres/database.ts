import { AppError } from "../core/app_error.ts";
import { createServerMetrics, type StatementMetrics } from "../core/metrics/server_metrics.ts";
import type { Quotas } from "../core/quotas/quotas.ts";
import { type Principal, principalKey, serverItself } from "../core/principal.ts";
import { errorType, type Span } from "../core/tracing.ts";
import type { Asker } from "./guard/check_scheduler.ts";
import { createFunctionGuard } from "./guard/function_guard.ts";
import type { ExplainOptions, GuardResult } from "./guard/statement_guard.ts";
import type { StatementNames } from "./guard/statement_names.ts";
import { createIndexTrials, type IndexTrialsOptions } from "./index_trials.ts";
import { type HostReport, isSpread } from "./pool/host_choice.ts";
import type { Row } from "./read/portal.ts";
import { beginReadOnly, inReadOnlyTransaction } from "./read/read_only_transaction.ts";
import { answerExplain, figuresRefusal, heldSql, tellsFigures } from "./read/plan_figures.ts";
import { callerRights, callerSettings } from "./read/caller_settings.ts";
import { type Answer, boundsOf, readBoundedAnswer } from "./read/row_and_byte_bounds.ts";
import {
  isConnectionLost,
  lostError,
  refusedError,
  sentBytesOf,
  type StatementError,
  statementErrorOf,
  withoutPrefix,
} from "./read/statement_error.ts";
import { beginStatement, databaseAttributes, endStatement, withTraceComment } from "./read/statement_span.ts";
import { cancelledError, untilStopped } from "./read/stop_statement.ts";
import type { Lease } from "./pool/principal_pool.ts";
import type { Parameter } from "./sql_text.ts";

/** One configured database, as callers read it. */
export type Database = ReturnType<typeof createDatabase>;

export interface ReadRequest extends Omit<Asker, "parameters"> {
  readonly sql: string;
  readonly parameters?: readonly Parameter[];
  /** At most the database's own `maxRows`, which is the default; of our own statements, 1,000,000 where absent. */
  readonly maxRows?: number;
  /** Rows to leave out first. */
  readonly offset?: number;
  /**
   * Our own SQL, never a caller's: it runs in the same transaction, but is not guarded, and neither the database's
   * `maxRows` and `maxBytes` nor its statement timeout bound it where it has bounds of its own.
   */
  readonly trusted?: boolean;
  /** Names in it that a caller chose, only where `trusted`: it is refused where they lead to what callers may not run. */
  readonly names?: StatementNames;
  /** Whether it counts towards the principal's limits all the same; only where `trusted`. */
  readonly isCounted?: boolean;
  /** PostgreSQL settings that hold for this statement, by name; only where `trusted`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Bytes of the rows that are kept, at most, only where `trusted`. Optional; the default is 256 MiB. */
  readonly maxBytes?: number;
  /** Whether connections keep the statement parsed for the next time; only where `trusted`. */
  readonly isKept?: boolean;
  /** Only where `trusted`. Optional; the default is the database's statement timeout. */
  readonly timeoutMs?: number;
}

export type ReadResult =
  /** `hidesFigures`: row-level security holds the caller, so EXPLAIN tells no figures, and did not run the statement. */
  | Answer & { readonly ok: true; readonly hidesFigures?: true }
  | { readonly ok: false; readonly error: StatementError };

interface CreateDatabaseOptions extends Omit<IndexTrialsOptions, "functionGuard" | "onStop"> {
  /** Optional; omit to disable counting. */
  readonly metrics?: StatementMetrics;
  /** Counts callers' statements. Optional: without it, nothing does. */
  readonly quotas?: Pick<Quotas, "isOn" | "beginStatement" | "read"> | undefined;
}

export function createDatabase({ options, pools, guard, ...rest }: CreateDatabaseOptions) {
  const { name } = options;
  const metrics = rest.metrics ?? createServerMetrics().ofDatabase("tool_server", name);
  const logger = rest.logger.with({ database: name });
  const { quotas } = rest;
  const functionGuard = createFunctionGuard({ allowedFunctions: options.allowedFunctions });
  const described = databaseAttributes(options);
  let reachedListener: (() => void) | undefined;

  function reached(): void {
    const listener = reachedListener;
    reachedListener = undefined;
    listener?.();
  }

  // each connection that was idle may turn out to be dead
  const mostRetries = isSpread(options) ? options.poolMaxConns : 0;

  async function read(request: ReadRequest, retries = mostRetries): Promise<ReadResult> {
    const { principal, sql, signal } = request;
    const checked: GuardResult = request.trusted
      ? { ok: true, kind: "select", names: request.names ?? [], sleepMs: 0 }
      : await guard.check(sql, request);
    if (signal.aborted) return { ok: false, error: cancelledError(signal) };
    if (!checked.ok) return { ok: false, error: refusedError(sql, checked) };
    if (checked.sleepMs > options.statementTimeoutMs) {
      const seconds = options.statementTimeoutMs / 1_000;
      return refusal(`pg_sleep() may not wait longer than the statement timeout of ${seconds} s`);
    }
    const askedAt = performance.now();
    const queue = request.span?.begin("queue", "internal", { "postern.database": name });
    const lease = await pools.acquire(options, principal, signal).catch((error) => {
      metrics.queue.observe(performance.now() - askedAt);
      queue?.end(signal.aborted ? "cancelled" : errorType(error));
      if (signal.aborted) return undefined;
      throw error;
    });
    if (lease === undefined) return { ok: false, error: cancelledError(signal) };
    const lentAt = performance.now();
    metrics.queue.observe(lentAt - askedAt);
    queue?.end();
    const timeoutMs = (request.trusted ? request.timeoutMs : undefined) ?? options.statementTimeoutMs;
    const span = beginStatement(request.span, request, checked.kind.toUpperCase(), described);
    try {
      const result = await untilStopped(
        lease,
        { timeoutMs, signal, onStop: metrics.stopped.add, logger },
        (isStopped) => run(lease, request, { ...checked, timeoutMs, isStopped, span, mayRetry: retries > 0 }),
      );
      if (result !== undefined) {
        endStatement(span, result);
        return result;
      }
      span?.end("unavailable");
    } catch (error) {
      span?.end(errorType(error));
      throw error;
    } finally {
      metrics.postgresql.observe(performance.now() - lentAt);
    }
    return await read(request, retries - 1);
  }

  function isCounted(request: ReadRequest): boolean {
    return quotas?.isOn === true && (request.trusted !== true || request.isCounted === true);
  }

  function checkCaller(principal: Principal): void {
    callerSettings(options, principal);
  }

  async function readAndCount(request: ReadRequest): Promise<ReadResult> {
    const ended = metrics.ended[request.trusted ? "own" : "caller"];
    try {
      checkCaller(request.principal);
    } catch (error) {
      ended.refused.add();
      throw error;
    }
    if (isCounted(request)) quotas?.beginStatement(request.principal);
    try {
      const result = await read(request);
      if (result.ok) {
        reached();
        ended.rows.add();
        metrics.rows.add(result.rows.length);
        metrics.rowBytes.add(result.bytes);
        if (isCounted(request)) quotas?.read(request.principal, result.rows.length, result.bytes);
      } else ended[result.error.kind].add();
      return result;
    } catch (error) {
      const isOverloaded = error instanceof AppError && error.code === "overloaded";
      ended[isOverloaded ? "overloaded" : "unavailable"].add();
      throw error;
    }
  }

  /** @returns undefined where the connection was dead before the statement began, and it may be tried on another */
  async function run(
    lease: Lease,
    request: ReadRequest,
    { names, explain: explainOptions, timeoutMs, isStopped, span, mayRetry }: {
      readonly names: StatementNames;
      readonly explain?: ExplainOptions | undefined;
      readonly timeoutMs: number;
      readonly isStopped: () => boolean;
      readonly span: Span | undefined;
      readonly mayRetry: boolean;
    },
  ): Promise<ReadResult | undefined> {
    const { principal, sql, signal, parameters = [], offset = 0 } = request;
    let running = sql;
    let hasBegun = false;
    const onBegun = mayRetry ? () => void (hasBegun = true) : undefined;
    try {
      const { holdsSettings } = lease;
      const planning = request.trusted ? request.settings : {};
      const begin = beginReadOnly({ database: options, principal, holdsSettings, timeoutMs, planning });
      return await inReadOnlyTransaction(lease.client, begin, async (transaction) => {
        const reason = await functionGuard.check(
          names,
          `${principalKey(principal)} ${callerRights(options, principal)}`,
          (text, parameters) => transaction.rows(text, parameters, false),
        );
        if (reason !== undefined) return refusal(reason);
        if (isStopped()) return { ok: false, error: cancelledError(signal) };
        const isExplain = explainOptions !== undefined && tellsFigures(explainOptions);
        const bounds = {
          ...boundsOf(request, options),
          offset,
          deadlineMs: timeoutMs,
          isFollowed: isExplain,
        };
        // with a comment of its own the statement would be kept for nobody
        const isKept = request.trusted === true && request.isKept === true && holdsSettings &&
          span === undefined;
        const answer = async (sql: string) => {
          running = sql;
          const text = span === undefined ? sql : withTraceComment(sql, span);
          const answer = await readBoundedAnswer(
            lease,
            transaction,
            { sql: text, parameters, isKept },
            bounds,
          );
          return { ok: true as const, ...answer };
        };
        if (!isExplain) return await answer(sql);
        const explained = await answerExplain({
          sql,
          options: explainOptions,
          answer,
          isHeld: async () => (await transaction.rows(heldSql, [], false))[0]?.[0] === "true",
          optionsOf: async (text) => {
            const result = await guard.check(text, request);
            return result.ok ? result.explain : undefined;
          },
        });
        return explained ?? refusal(figuresRefusal);
      }, onBegun);
    } catch (error) {
      // not where it had begun: it may be what ended the server
      if (mayRetry && !hasBegun && !(error instanceof AppError) && isConnectionLost(error)) return undefined;
      // an error's words may hold what rows hold, of many rows as well as of one
      const bytes = sentBytesOf(error);
      if (bytes > 0 && isCounted(request)) quotas?.read(principal, 1, bytes);
      return { ok: false, error: withoutPrefix(explain(error, running), running, sql) };
    }
  }

  function explain(error: unknown, sql: string): StatementError {
    if (error instanceof AppError) {
      const hint = error.data?.["hint"];
      const kind = error.code === "timeout" ? "timeout" : "failed";
      return { kind, message: error.message, ...(typeof hint === "string" && { hint }) };
    }
    if (isConnectionLost(error)) throw lostError(name, error);
    return statementErrorOf(error, sql) ?? { kind: "failed", message: "the statement failed" };
  }

  async function readOwn(sql: string, signal: AbortSignal): Promise<readonly Row[]> {
    const result = await readAndCount({ principal: serverItself, sql, signal, trusted: true });
    if (result.ok) return result.rows;
    throw new AppError("unavailable", `Cannot read from database "${name}": ${result.error.message}`);
  }

  return {
    name,
    /** How long a statement may run unless it has a bound of its own. */
    statementTimeoutMs: options.statementTimeoutMs,
    /**
     * Tells principals apart whose rights, row-level security or settings may differ in this database: equal for those
     * that read as the same role with the same settings.
     */
    rightsKey: (principal: Principal): string => callerRights(options, principal),
    /**
     * Nothing is sent.
     * @throws {UntoldCallerError} where `read` would refuse the principal
     */
    checkCaller,
    /**
     * Runs one statement in a read-only transaction that is rolled back.
     *
     * @throws {UntoldCallerError} before anything else where the database cannot be told who asks
     * @throws {AppError} `unavailable` where there is no connection, or it is lost on the way; `overloaded` where the
     * admission refuses the call; `quota_exceeded` where the caller has used up a limit
     */
    read: readAndCount,
    /**
     * Whether its server answers; no caller waits for a place because of it.
     *
     * @throws {AppError} `unavailable`; the signal's reason where that aborts
     */
    async ping(signal: AbortSignal): Promise<void> {
      await pools.probe(options, signal);
      reached();
    },
    /** What is known of its hosts where callers are spread over standbys, while it is in use; else none. */
    hosts: (): readonly HostReport[] => pools.hosts(options),
    /** Plans callers' queries as if there were indexes that are not. */
    tryIndexes: createIndexTrials({
      options,
      pools,
      guard,
      functionGuard,
      onStop: metrics.stopped.add,
      logger,
    }),
    /** Rights of the role that a reader need not have, one sentence each, with what to do about it. */
    warnings: async (signal: AbortSignal): Promise<string[]> =>
      warningsOf(name, await readOwn(privilegeQuery, signal)),
    /** Calls the listener at the next sign that the database answers, and then no more; it takes the place of one before. */
    onceReached: (listener: () => void): void => void (reachedListener = listener),
  };
}

function refusal(message: string): ReadResult {
  return { ok: false, error: { kind: "refused", message } };
}

/** One row: the role, then whether it has each of the privileges that `warningsOf` names, in that order. */
const privilegeQuery = `
SELECT current_user,
  (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
  EXISTS (
    SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
      AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')),
  EXISTS (
    SELECT FROM pg_namespace
    WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'CREATE')),
  EXISTS (
    SELECT FROM pg_roles
    WHERE rolname IN ('pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program',
      'pg_signal_backend', 'pg_signal_autovacuum_worker', 'pg_maintain', 'pg_checkpoint', 'pg_create_subscription')
      AND pg_has_role(oid, 'MEMBER')),
  (SELECT rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls FROM pg_roles WHERE rolname = current_user)`;

const advice = "give Postern a role that may only SELECT";

/** Tells rights of a database's role that a reader need not have. */
export function warningsOf(database: string, rows: readonly Row[]): string[] {
  const [role, isSuperuser, mayWrite, mayCreate, hasServerRole, hasAttribute] = rows[0] ?? [];
  const who = `Role "${role}" of database "${database}"`;
  if (isSuperuser === "t") return [`${who} is a superuser: ${advice}`];
  return [
    mayWrite === "t" ? `${who} may write to tables: ${advice}` : undefined,
    mayCreate === "t" ? `${who} may create objects in a schema: revoke CREATE on it` : undefined,
    hasServerRole === "t"
      ? `${who} is a member of a pg_ role that reaches files, programs or all data: revoke it`
      : undefined,
    hasAttribute === "t"
      ? `${who} has CREATEROLE, CREATEDB, REPLICATION or BYPASSRLS: remove it with ALTER ROLE`
      : undefined,
  ].filter((text) => text !== undefined);
}
