import { defined } from "../../core/defined.ts";
import { type Attempt, createAdmission, noWaitBounds, type WaitBounds } from "../../core/admission.ts";
import { AppError } from "../../core/app_error.ts";
import { onAbort } from "../../core/async/abort.ts";
import { longestTimerMs, startTimer } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { bearerKey, callerKey, type Principal } from "../../core/principal.ts";
import { type AvailabilityLog, createAvailabilityLog } from "./availability_log.ts";
import type { DatabaseOptions } from "../database_options.ts";
import {
  type BorrowedConnection,
  type ConnectionCounts,
  createPrincipalPool,
  type Lease,
  PoolEndedError,
  type PrincipalPool,
  type Waiter,
} from "./principal_pool.ts";
import { createHostChoice, type HostChoice, type HostReport, isSpread } from "./host_choice.ts";
import { probeServer } from "./probe_server.ts";
import { createServerCapacities, isShortage } from "./server_capacity.ts";
import {
  closeLongestIdle,
  createLongWaitLog,
  createSpareConnections,
  hasAllPlaces,
  stuckRefusal,
} from "./waiting_calls.ts";
import { createStuckBackends } from "./stuck_backends.ts";

/**
 * Connections that are kept per principal and database, never handed to another principal.
 *
 * A connection is stuck where PostgreSQL does not end its statement. It keeps its place, so that there are never more such
 * statements than places. Its caller goes on with the places that are left, and is refused once there is none. A pool that
 * many callers share, the local principal's, may open one more connection for each stuck one, up to twice its places; a
 * caller with a stuck connection gets no more than the pool has places, the stuck ones included.
 */
export type ConnectionPools = ReturnType<typeof createConnectionPools>;

/** One pool's connections, and the callers who wait for one. */
interface PoolCounts {
  /** The database's name; several pools may have the same. */
  readonly database: string;
  readonly connections: ConnectionCounts;
  readonly waiting: number;
}

interface PoolsOptions {
  /** Over all pools, connections that are opening, closing or stuck included. */
  readonly maxConnections: number;
  /** Without bounds where absent. */
  readonly waitBounds?: WaitBounds;
  readonly logger: Logger;
  readonly now?: () => number;
  /**
   * How long a caller without a connection waits for a server that takes no more, in milliseconds; as long as a
   * statement of the database may take where absent.
   */
  readonly shortageWaitMs?: number;
  /** When to look at stuck backends, as createStuckBackends() takes it. */
  readonly lookAfterMs?: readonly number[];
}

/** Who opens a connection for a probe where none is open. */
const prober: Principal = { kind: "local" };

export function createConnectionPools(options: PoolsOptions) {
  const { maxConnections, waitBounds = noWaitBounds, logger, now = Date.now, shortageWaitMs, lookAfterMs } =
    options;
  const admission = createAdmission<Waiter>({ ...waitBounds, places: maxConnections });
  // by the options' identity too: after a reload, a database of the same name may be another one
  const poolsOf = new Map<string, Map<DatabaseOptions, PrincipalPool>>();
  const availabilities = new WeakMap<DatabaseOptions, AvailabilityLog>();
  const choices = new Map<DatabaseOptions, HostChoice>();
  const capacities = createServerCapacities({ now, logger });
  const logLongWait = createLongWaitLog(logger, now);
  // with those that ended and still have connections
  const pools = new Set<PrincipalPool>();
  const stuckBackends = createStuckBackends({ logger, now, lookAfterMs });
  let isClosed = false;
  let stopRetry = () => {};

  function poolFor(principal: Principal, database: DatabaseOptions): PrincipalPool {
    const key = bearerKey(principal);
    const ofPrincipal = poolsOf.get(key) ?? new Map<DatabaseOptions, PrincipalPool>();
    poolsOf.set(key, ofPrincipal);
    const known = ofPrincipal.get(database);
    if (known !== undefined) return known;
    const pool: PrincipalPool = createPrincipalPool({
      database,
      isShared: principal.kind === "local",
      calls: admission.createQueue(database.poolMaxConns),
      stuckBackends,
      capacity: capacities.of(database),
      availability: availabilityOf(database),
      logger,
      now,
      onChange: () => onChange(pool),
    });
    ofPrincipal.set(database, pool);
    pools.add(pool);
    return pool;
  }

  function availabilityOf(database: DatabaseOptions): AvailabilityLog {
    const known = availabilities.get(database) ??
      createAvailabilityLog(logger.with(defined({ database: database.name, host: database.hostName })), now);
    availabilities.set(database, known);
    return known;
  }

  /** Where callers are spread over a database's hosts, the choice between them; else undefined. */
  function choiceOf(database: DatabaseOptions): HostChoice | undefined {
    if (isClosed || !isSpread(database)) return undefined;
    const made = choices.get(database) ?? createHostChoice(database, logger, () => choices.delete(database));
    choices.set(database, made);
    return made;
  }

  const freeConnections = () => maxConnections - sum(pools, (pool) => pool.size());

  function onChange(pool: PrincipalPool): void {
    serve();
    dropIfUnused(pool);
  }

  /** Gives each call that waits, in the fair order, what it may have now: a refusal, an idle connection, or a new one. */
  function serve(): void {
    stopRetry();
    if (admission.isEmpty) return;
    let free = freeConnections();
    let closing = sum(pools, (pool) => pool.closingCount());
    const areStuck = !stuckBackends.isEmpty;
    // some may have to be refused
    const isEachTried = areStuck || capacities.isAnyShort();
    const isOneSpared = createSpareConnections(pools, now);

    function attempt(waiter: Waiter): Attempt {
      const { pool, caller } = waiter;
      const refusal = shortageOf(waiter) ??
        (areStuck ? stuckRefusal(waiter, { pools, maxConnections }) : undefined);
      if (refusal !== undefined) {
        waiter.reject(refusal);
        return "left";
      }
      if (areStuck && hasAllPlaces(waiter, pools)) return "waits";
      const lease = pool.takeIdle(caller);
      if (lease !== undefined) {
        waiter.resolve(lease);
        return "left";
      }
      if (!pool.hasRoom()) return isEachTried ? "waits" : "full";
      if (!pool.capacity.mayOpen(pool.hasOpen())) return isOneSpared(pool) ? "owed" : "waits";
      if (free > 0) {
        free--;
        void openFor(waiter);
        return "opens";
      }
      // who waits for the total bound is owed one connection that closes
      if (closing > 0) {
        closing--;
        return "owed";
      }
      if (closeLongestIdle(pools)) return "owed";
      return isEachTried ? "waits" : "all_full";
    }

    const wanted = [...pools].filter((pool) =>
      pool.calls.waiting.size > 0 && (isEachTried || pool.hasIdle() || pool.hasRoom())
    );
    admission.letIn(wanted.map(({ calls }) => calls), attempt);
    retryLater();
  }

  /** Serves again at the time when a server that took no more connections may be tried again. */
  function retryLater(): void {
    if (admission.isEmpty) return;
    const waits = [...pools].flatMap((pool) =>
      pool.calls.waiting.size > 0 && pool.hasRoom() ? pool.capacity.untilTryMs(pool.hasOpen()) ?? [] : []
    );
    if (waits.length > 0) stopRetry = startTimer(Math.min(...waits, longestTimerMs), serve);
  }

  /** Why a waiter whose pool has no connection need not wait any longer for a server that takes no more. */
  function shortageOf({ pool, since }: Waiter): AppError | undefined {
    const refusal = pool.capacity.refusal();
    if (refusal === undefined || pool.hasOpen()) return undefined;
    const isLate = now() - since >= (shortageWaitMs ?? (pool.database.statementTimeoutMs || Infinity));
    return isLate ? refusal : undefined;
  }

  async function waitFor(pool: PrincipalPool, caller: string, signal: AbortSignal): Promise<Lease> {
    const { calls } = pool;
    const { promise, resolve, reject } = Promise.withResolvers<Lease>();
    const waiter: Waiter = { pool, caller, signal, since: now(), resolve, reject };
    calls.add(waiter);
    serve();
    const abort = () => {
      if (calls.has(waiter)) logLongWait(waiter);
      calls.remove(waiter);
      if (admission.isEmpty) stopRetry();
      reject(signal.reason);
    };
    const refusal = calls.refusal(waiter, pool.hasRoom());
    if (refusal !== undefined && calls.remove(waiter)) reject(refusal);
    using _aborting = onAbort(signal, abort);
    try {
      return await promise;
    } finally {
      dropIfUnused(pool);
    }
  }

  async function openFor(waiter: Waiter): Promise<void> {
    const { pool, pool: { calls, database }, signal } = waiter;
    try {
      const lease = await pool.open(waiter.caller, signal);
      if (calls.remove(waiter)) waiter.resolve(lease);
      else lease.release();
    } catch (error) {
      if (isShortage(error) && !pool.hasEnded()) {
        // it may have been dropped, since nobody waited in it
        pools.add(pool);
        calls.putBack(waiter);
      } else {
        calls.remove(waiter);
        waiter.reject(pool.hasEnded() ? new PoolEndedError(database.name) : error);
        if (!signal.aborted && !pool.hasEnded()) {
          refuse(error, (other) => other.database === database && !other.hasOpen());
        }
      }
    }
    onChange(pool);
  }

  function refuse(reason: unknown, isMeant: (pool: PrincipalPool) => boolean): void {
    for (const pool of pools) {
      const { calls } = pool;
      if (!isMeant(pool)) continue;
      for (const waiter of [...calls.waiting.values()].flatMap((ofCaller) => [...ofCaller])) {
        calls.remove(waiter);
        waiter.reject(reason);
      }
    }
    if (admission.isEmpty) stopRetry();
  }

  function dropIfUnused(pool: PrincipalPool): void {
    if (pool.size() > 0 || pool.calls.waiting.size > 0) return;
    pools.delete(pool);
    for (const [key, ofPrincipal] of poolsOf) {
      if (ofPrincipal.get(pool.database) === pool) ofPrincipal.delete(pool.database);
      if (ofPrincipal.size === 0) poolsOf.delete(key);
    }
  }

  function borrowIdle(database: DatabaseOptions): BorrowedConnection | undefined {
    return pools.values().filter((pool) => pool.database === database)
      .map((pool) => pool.borrowIdle()).find((lease) => lease !== undefined);
  }

  /** A connection of the local principal's, which others may have closed for theirs; undefined where there is no room now. */
  function openPooled(database: DatabaseOptions, signal: AbortSignal): Promise<Lease> | undefined {
    const pool = poolFor(prober, database);
    const isFree = admission.isEmpty && freeConnections() > 0 && pool.hasRoom() &&
      pool.capacity.mayOpen(pool.hasOpen());
    if (isFree) return pool.open(callerKey(prober), signal).finally(() => onChange(pool));
    dropIfUnused(pool);
    return undefined;
  }

  async function end(ended: readonly PrincipalPool[], includeInUse: boolean): Promise<void> {
    for (const pool of ended) refuse(new PoolEndedError(pool.database.name), (other) => other === pool);
    await Promise.all(ended.map((pool) => pool.close({ includeInUse })));
  }

  async function close(): Promise<void> {
    isClosed = true;
    stopRetry();
    poolsOf.clear();
    stuckBackends[Symbol.dispose]();
    await Promise.all([...choices.values()].map((choice) => choice.close()));
    await end([...pools], true);
    admission[Symbol.dispose]();
  }

  return {
    /**
     * A connection of the principal's, an idle one where there is one. Callers who wait, for a place in their pool or for
     * the total bound, are served in the admission's fair order, and refused by its bounds. When a connection cannot be
     * opened, all who wait for that database and have none open get the same error: nobody waits for the others to fail one
     * by one.
     *
     * Where a server takes no more connections, callers wait: for one that is open, or one that another pool of the same
     * role gives up, since it has more of them or no use for it. Where a pool can have none at all, its callers are refused
     * after `shortageWaitMs`.
     *
     * Where callers are spread over a database's standbys, each host is as a database of its own, and the connection is one to
     * the caller's.
     *
     * @throws {AppError} `unavailable` where none can be opened, or all are stuck; `overloaded` where the admission refuses
     * the call; the signal's reason where that aborts
     */
    acquire(database: DatabaseOptions, principal: Principal, signal: AbortSignal): Promise<Lease> {
      const caller = callerKey(principal);
      const acquireFrom = async (host: DatabaseOptions) => {
        signal.throwIfAborted();
        if (isClosed) throw new PoolEndedError(host.name);
        const pool = poolFor(principal, host);
        // what is idle has been offered to all who wait
        const idle = stuckBackends.isEmpty ? pool.takeIdle(caller) : undefined;
        return idle ?? await waitFor(pool, caller, signal);
      };
      return choiceOf(database)?.use(caller, signal, acquireFrom) ?? acquireFrom(database);
    },
    /**
     * Finds out whether the database's server answers, without a place that a caller waits for.
     *
     * @throws {AppError} `unavailable`; the signal's reason where that aborts
     */
    probe(database: DatabaseOptions, signal: AbortSignal): Promise<void> {
      const probeHost = async (host: DatabaseOptions) => {
        if (isClosed) throw new PoolEndedError(host.name);
        await probeServer({
          database: host,
          availability: availabilityOf(host),
          borrowIdle: () => borrowIdle(host),
          openPooled: (soon) => openPooled(host, soon),
          logger: logger.with({ database: host.name }),
        }, signal);
      };
      return choiceOf(database)?.use(callerKey(prober), signal, probeHost) ?? probeHost(database);
    },
    /** What is known of the hosts where callers are spread over a database's standbys, while it is in use; else none. */
    hosts: (database: DatabaseOptions): readonly HostReport[] => choices.get(database)?.report() ?? [],
    /** Ends a principal's connections: idle ones now, those in use when given back. Its waiters are refused. */
    async closePrincipal(principal: Principal): Promise<void> {
      const key = bearerKey(principal);
      const ended = [...poolsOf.get(key)?.values() ?? []];
      poolsOf.delete(key);
      await end(ended, false);
    },
    /** Ends all connections and refuses what comes after; statements that still run are cancelled. */
    close,
    /** The pools of now. */
    *counts(): Iterable<PoolCounts> {
      for (const { database: { name }, calls, counts } of pools) {
        const waiting = sum(calls.waiting.values(), (ofCaller) => ofCaller.size);
        yield { database: name, connections: counts(), waiting };
      }
    },
    [Symbol.asyncDispose]: close,
  };
}

function sum<T>(all: Iterable<T>, count: (each: T) => number): number {
  let total = 0;
  for (const each of all) total += count(each);
  return total;
}
