import { AppError } from "../core/app_error.ts";
import { startTimer } from "../core/async/deadline.ts";
import { whyEnded } from "../core/async/abort.ts";
import type { Logger } from "../core/logger.ts";
import { type Principal, principalKey, principalName } from "../core/principal.ts";
import { readBoundedAnswer } from "./read/bounded_answer.ts";
import type { ConnectionPools, Lease } from "./pool/connection_pools.ts";
import type { DatabaseOptions } from "./database_options.ts";
import { createObjectGuard } from "./guard/object_guard.ts";
import { openPortal, type Row } from "./read/portal.ts";
import { beginReadOnly, inReadOnlyTransaction } from "./read/read_only.ts";
import {
  isConnectionLost,
  placeOf,
  sqlStateData,
  type StatementError,
  statementErrorOf,
} from "./read/statement_error.ts";
import type { StatementChecks } from "./guard/statement_checks.ts";
import type { StatementNames } from "./guard/statement_names.ts";
import { privilegeQuery, warningsOf } from "./role_warnings.ts";

export type { StatementError } from "./read/statement_error.ts";

/** One configured database, as callers read it. */
export interface Database {
  readonly name: string;
  /**
   * Tells principals apart whose rights, row-level security or settings may differ in this database: equal for those
   * that read as the same role with the same settings.
   */
  rightsKey(principal: Principal): string;
  /**
   * Runs one statement in a read-only transaction that is rolled back.
   *
   * @throws {AppError} `unavailable` where there is no connection, or it is lost on the way
   */
  read(request: ReadRequest): Promise<ReadResult>;
  /**
   * Connects and runs a statement.
   *
   * @throws {AppError} `unavailable`
   */
  ping(signal: AbortSignal): Promise<void>;
  /** What the role may do that a reader need not, one sentence each, with what to do about it. */
  warnings(signal: AbortSignal): Promise<string[]>;
  close(): Promise<void>;
}

export interface ReadRequest {
  readonly principal: Principal;
  readonly sql: string;
  readonly parameters?: readonly (string | null)[];
  /** Aborting cancels the statement in the server. */
  readonly signal: AbortSignal;
  /** At most the database's own `maxRows`, which is the default; of our own statements, 1,000,000 where absent. */
  readonly maxRows?: number;
  /** Rows to leave out first. */
  readonly offset?: number;
  /**
   * Our own SQL, never a caller's: it runs in the same transaction, but is not guarded, and neither the database's
   * `maxRows` and `maxBytes` nor its statement timeout bound it where it has bounds of its own.
   */
  readonly trusted?: boolean;
  /** What of it a caller chooses, only where `trusted`: it is refused where that leads to what callers may not run. */
  readonly names?: StatementNames;
  /** PostgreSQL settings that hold for this statement, by name; only where `trusted`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Of the rows that are kept, only where `trusted`; 256 MiB where absent. */
  readonly maxBytes?: number;
  /** Only where `trusted`; the database's statement timeout where absent. */
  readonly timeoutMs?: number;
}

export type ReadResult =
  | {
    readonly ok: true;
    readonly columns: readonly { readonly name: string; readonly typeOid: number }[];
    /** Values in PostgreSQL's own text format. */
    readonly rows: readonly Row[];
    /** What there was more of than `maxRows` or the database's `maxBytes` lets through. */
    readonly truncatedBy?: "rows" | "bytes";
    readonly elapsedMs: number;
  }
  | { readonly ok: false; readonly error: StatementError };

interface CreateDatabaseOptions {
  readonly options: DatabaseOptions;
  readonly pools: ConnectionPools;
  readonly guard: Pick<StatementChecks, "check">;
  readonly logger: Logger;
}

const maxTrustedRows = 1_000_000;
const maxTrustedBytes = 256 * 1_048_576;

/** How much longer than its timeout a statement may run before its connection is given up. */
const graceMs = 5_000;

export function createDatabase({ options, pools, guard, logger }: CreateDatabaseOptions): Database {
  const objectGuard = createObjectGuard({ allowedFunctions: options.allowedFunctions });

  async function read(request: ReadRequest): Promise<ReadResult> {
    const { signal } = request;
    const verdict = request.trusted
      ? { ok: true as const, names: request.names ?? [], sleepMs: 0 }
      : await guard.check(request.sql, request);
    if (signal.aborted) return cancelled(request);
    if (!verdict.ok) {
      const { reason, sqlState, position } = verdict;
      return refusal(sqlState === undefined ? "refused" : "failed", reason, request.sql, sqlState, position);
    }
    if (verdict.sleepMs > options.statementTimeoutMs) {
      const seconds = options.statementTimeoutMs / 1_000;
      return refusal(
        "refused",
        `pg_sleep() may not wait longer than the statement timeout of ${seconds} s`,
        request.sql,
      );
    }
    const lease = await pools.acquire(options, request.principal, signal).catch((error) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    return lease === undefined
      ? cancelled(request)
      : await untilStopped(lease, request, (isStopped) => run(lease, request, verdict.names, isStopped));
  }

  async function run(
    lease: Lease,
    request: ReadRequest,
    names: StatementNames,
    isStopped: () => boolean,
  ): Promise<ReadResult> {
    const { principal, sql } = request;
    const { statementTimeoutMs, maxRows, maxBytes } = boundsOf(request, options);
    try {
      const planning = request.trusted ? request.settings : {};
      const begin = beginReadOnly({ ...options, statementTimeoutMs }, principal, planning);
      return await inReadOnlyTransaction(lease.client, begin, async () => {
        const reason = await objectGuard.check(
          names,
          principalKey(principal),
          (text, parameters) => lookUp(lease, text, parameters),
        );
        if (reason !== undefined) return refusal("refused", reason, sql);
        if (isStopped()) return cancelled(request);
        const startedAt = performance.now();
        const answer = await readBoundedAnswer(lease, sql, request.parameters ?? [], {
          maxRows,
          maxBytes,
          offset: request.offset ?? 0,
          deadlineMs: statementTimeoutMs,
        });
        return { ok: true, ...answer, elapsedMs: performance.now() - startedAt };
      });
    } catch (error) {
      return { ok: false, error: explain(error, sql) };
    }
  }

  function explain(error: unknown, sql: string): StatementError {
    if (error instanceof AppError) {
      const hint = error.data?.["hint"];
      const kind = error.code === "timeout" ? "timeout" : "failed";
      return { kind, message: error.message, ...(typeof hint === "string" && { hint }) };
    }
    if (isConnectionLost(error)) {
      throw new AppError(
        "unavailable",
        `Cannot read from database "${options.name}": the connection was lost`,
        { cause: error, ...sqlStateData(error) },
      );
    }
    return statementErrorOf(error, sql) ?? { kind: "failed", message: "the statement failed" };
  }

  /** Ends the wait when the caller aborts or the server does not keep to its timeout, and gives the lease back once. */
  async function untilStopped(
    lease: Lease,
    request: ReadRequest,
    work: (isStopped: () => boolean) => Promise<ReadResult>,
  ): Promise<ReadResult> {
    const stopped = Promise.withResolvers<ReadResult>();
    let isStopped = false;
    const stop = async (outcome: ReadResult) => {
      if (isStopped) return;
      isStopped = true;
      logger.debug("a statement is stopped", { database: options.name, timedOut: outcome === overdue });
      await lease.cancelUntil(working);
      lease.discard();
      stopped.resolve(outcome);
    };
    const abort = () => void stop(cancelled(request));
    const { statementTimeoutMs } = boundsOf(request, options);
    const stopTimer = startTimer(statementTimeoutMs + graceMs, () => void stop(overdue));
    const working = work(() => isStopped);
    request.signal.addEventListener("abort", abort, { once: true });
    if (request.signal.aborted) abort();
    try {
      const outcome = await Promise.race([working, stopped.promise]);
      return isStopped ? await stopped.promise : outcome;
    } catch (error) {
      if (isStopped) return await stopped.promise;
      throw error;
    } finally {
      stopTimer();
      request.signal.removeEventListener("abort", abort);
      if (!isStopped) lease.release();
    }
  }

  async function readOwn(sql: string, signal: AbortSignal): Promise<readonly Row[]> {
    const outcome = await read({ principal: { kind: "local" }, sql, signal, trusted: true });
    if (outcome.ok) return outcome.rows;
    throw new AppError(
      "unavailable",
      `Cannot read from database "${options.name}": ${outcome.error.message}`,
    );
  }

  return {
    name: options.name,
    rightsKey: (principal) => rightsKey(options, principal),
    read,
    ping: async (signal) => void await readOwn("SELECT 1", signal),
    warnings: async (signal) => warningsOf(options.name, await readOwn(privilegeQuery, signal)),
    // the pools are shared, and whoever made them closes them
    close: () => Promise.resolve(),
  };
}

type Bounds = Pick<DatabaseOptions, "statementTimeoutMs" | "maxRows" | "maxBytes">;

function boundsOf(request: ReadRequest, options: Bounds): Bounds {
  const { statementTimeoutMs, maxRows, maxBytes } = options;
  if (!request.trusted) {
    return { statementTimeoutMs, maxRows: Math.min(request.maxRows ?? maxRows, maxRows), maxBytes };
  }
  return {
    statementTimeoutMs: request.timeoutMs ?? statementTimeoutMs,
    maxRows: request.maxRows ?? maxTrustedRows,
    maxBytes: request.maxBytes ?? maxTrustedBytes,
  };
}

function rightsKey({ roleFromUser, sessionSettings }: DatabaseOptions, principal: Principal): string {
  const isPersonal = roleFromUser ||
    Object.values(sessionSettings).some((value) => value.includes("{username}"));
  if (!isPersonal) return "";
  // the local caller has no role of its own, unlike a user who happens to have its name
  return principal.kind === "local" ? "local" : `user:${principalName(principal)}`;
}

function cancelled({ signal }: ReadRequest): ReadResult {
  const message = `the statement was cancelled because ${whyEnded(signal)}`;
  return { ok: false, error: { kind: "cancelled", message } };
}

const overdue: ReadResult = {
  ok: false,
  error: { kind: "timeout", message: "the statement was stopped: it ran past the statement timeout" },
};

function refusal(
  kind: "refused" | "failed",
  message: string,
  sql: string,
  sqlState?: string,
  position?: number,
): ReadResult {
  const error = { kind, message, ...(sqlState !== undefined && { sqlState }), ...placeOf(sql, position) };
  return { ok: false, error };
}

async function lookUp(lease: Lease, sql: string, parameters: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  await openPortal(lease.client, {
    sql,
    parameters,
    rows: 0,
    onColumns: () => {},
    onRow: (row) => rows.push(row),
  });
  return rows;
}
