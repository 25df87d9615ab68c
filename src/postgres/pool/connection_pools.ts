import { type Attempt, createAdmission, noWaitBounds, type WaitBounds } from "../../core/admission.ts";
import { AppError } from "../../core/app_error.ts";
import { longestTimerMs, startTimer } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { callerKey, type Principal, principalKey } from "../../core/principal.ts";
import { type AvailabilityLog, createAvailabilityLog } from "./availability_log.ts";
import type { DatabaseOptions } from "../database_options.ts";
import type { Lease } from "./lease.ts";
import {
  type BorrowedConnection,
  type ConnectionCounts,
  createPrincipalPool,
  type HeldPlace,
  poolEnded,
  type PrincipalPool,
  type Waiter,
} from "./principal_pool.ts";
import { probeServer } from "./probe_server.ts";
import { createServerCapacity, isShortage, type ServerCapacity } from "./server_capacity.ts";
import { createStuckBackends } from "./stuck_backends.ts";

/**
 * Connections that are kept per principal and database, never handed to another principal.
 *
 * A connection is stuck where PostgreSQL does not end its statement. It keeps its place, so that there are never more such
 * statements than places. Its caller goes on with the places that are left, and is refused once there is none. A pool that
 * many callers share, the local principal's, may open one more connection for each stuck one, up to twice its places; a
 * caller with a stuck connection gets no more than the pool has places, the stuck ones included.
 */
export interface ConnectionPools extends AsyncDisposable {
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
   * @throws {AppError} `unavailable` where none can be opened, or all are stuck; `overloaded` where the admission refuses
   * the call; the signal's reason where that aborts
   */
  acquire(database: DatabaseOptions, principal: Principal, signal: AbortSignal): Promise<Lease>;
  /**
   * Finds out whether the database's server answers, without a place that a caller waits for.
   *
   * @throws {AppError} `unavailable`; the signal's reason where that aborts
   */
  probe(database: DatabaseOptions, signal: AbortSignal): Promise<void>;
  /** Ends a principal's connections: idle ones now, those in use when given back. Its waiters are refused. */
  closePrincipal(principal: Principal): Promise<void>;
  /** Ends all connections and refuses what comes after; statements that still run are cancelled. */
  close(): Promise<void>;
  /** The pools of now. */
  counts(): Iterable<PoolCounts>;
}

/** One pool's connections, and the callers who wait for one. */
export interface PoolCounts {
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

/** Counts what earlier waiters have asked of the pools of their roles, so that nothing is promised twice. */
interface Asked {
  /** Connections that close and nobody before has counted on. */
  readonly closing: Map<ServerCapacity, number>;
  /** Waiters of a pool. */
  readonly waiting: Map<PrincipalPool, number>;
}

/** Who opens a connection for a probe where none is open. */
const prober: Principal = { kind: "local" };

/** A pool that has had nothing in use for so long can spare its connections. */
const unusedMs = 1_000;

/** If a call ends after so long a wait, the log says what it waited for. */
const longWaitMs = 1_000;
/** The log says so of one database once in this time. */
const longWaitToldMs = 60_000;

export function createConnectionPools(options: PoolsOptions): ConnectionPools {
  const { maxConnections, waitBounds = noWaitBounds, logger, now = Date.now, shortageWaitMs, lookAfterMs } =
    options;
  const admission = createAdmission<Waiter>({ ...waitBounds, places: maxConnections });
  // by the options' identity too: after a reload, a database of the same name may be another one
  const poolsOf = new Map<string, Map<DatabaseOptions, PrincipalPool>>();
  const availabilities = new WeakMap<DatabaseOptions, AvailabilityLog>();
  // by server and role
  const capacities = new Map<string, ServerCapacity>();
  const capacityOfOptions = new WeakMap<DatabaseOptions, ServerCapacity>();
  const longWaitToldAt = new WeakMap<DatabaseOptions, number>();
  // with those that ended and still have connections
  const pools = new Set<PrincipalPool>();
  const stuckBackends = createStuckBackends({
    logger,
    now,
    ...(lookAfterMs !== undefined && { lookAfterMs }),
  });
  let isClosed = false;
  let stopRetry = () => {};

  function poolFor(principal: Principal, database: DatabaseOptions): PrincipalPool {
    const key = principalKey(principal);
    const ofPrincipal = poolsOf.get(key) ?? new Map<DatabaseOptions, PrincipalPool>();
    poolsOf.set(key, ofPrincipal);
    const known = ofPrincipal.get(database);
    if (known !== undefined) return known;
    const pool: PrincipalPool = createPrincipalPool({
      database,
      isShared: principal.kind === "local",
      calls: admission.createQueue(database.poolMaxConns),
      stuckBackends,
      availability: availabilityOf(database),
      logger,
      now,
      onClosed: () => capacityOf(database).closed(),
      onChange: () => onChange(pool),
    });
    ofPrincipal.set(database, pool);
    pools.add(pool);
    return pool;
  }

  /** The capacity of one role on one server: pools of the same role share its limit. */
  function capacityOf(database: DatabaseOptions): ServerCapacity {
    const known = capacityOfOptions.get(database);
    if (known !== undefined) return known;
    const { hosts, user, openStream } = database;
    const key = JSON.stringify([hosts, user, openStream === undefined ? "" : database.name]);
    const capacity = capacities.get(key) ?? createServerCapacity({ now, logger });
    capacities.set(key, capacity);
    capacityOfOptions.set(database, capacity);
    return capacity;
  }

  function isAnyShort(): boolean {
    for (const capacity of capacities.values()) if (capacity.refusal() !== undefined) return true;
    return false;
  }

  function poolsOfRole(capacity: ServerCapacity): PrincipalPool[] {
    return [...pools].filter(({ database }) => capacityOf(database) === capacity);
  }

  function availabilityOf(database: DatabaseOptions): AvailabilityLog {
    const known = availabilities.get(database) ??
      createAvailabilityLog(logger.with({ database: database.name }), now);
    availabilities.set(database, known);
    return known;
  }

  function onChange(pool: PrincipalPool): void {
    serve();
    dropIfUnused(pool);
  }

  function serve(): void {
    stopRetry();
    if (admission.isEmpty) return;
    let free = maxConnections - sum(pools, (pool) => pool.size());
    let closing = sum(pools, (pool) => pool.closingCount());
    const areStuck = !stuckBackends.isEmpty;
    // some may have to be refused
    const isEachTried = areStuck || isAnyShort();
    const asked: Asked = { closing: new Map(), waiting: new Map() };

    function attempt(waiter: Waiter): Attempt {
      const { pool, caller } = waiter;
      const capacity = capacityOf(pool.database);
      const refusal = shortageOf(waiter) ?? (areStuck ? stuckRefusalOf(waiter) : undefined);
      if (refusal !== undefined) {
        waiter.reject(refusal);
        return "left";
      }
      if (areStuck && hasAllPlaces(waiter)) return "waits";
      const lease = pool.takeIdle(caller);
      if (lease !== undefined) {
        waiter.resolve(lease);
        return "left";
      }
      if (!pool.hasRoom()) return isEachTried ? "waits" : "full";
      if (!capacity.mayOpen(pool.hasOpen())) return takeFromOthers(pool, asked) ? "owed" : "waits";
      if (free > 0) {
        free--;
        void openFor(waiter);
        return "left";
      }
      // who waits for the total bound is owed one connection that closes
      if (closing > 0) {
        closing--;
        return "owed";
      }
      const longest = longestIdle(pools);
      if (longest === undefined) return isEachTried ? "waits" : "all_full";
      longest.closeOldestIdle();
      return "owed";
    }

    const wanted = [...pools].filter((pool) =>
      pool.calls.waiting.size > 0 && (isEachTried || pool.hasIdle() || pool.hasRoom())
    );
    admission.letIn(wanted.map(({ calls }) => calls), attempt);
    retryLater();
  }

  /**
   * Has another pool of the role close an idle connection, unless one closes already: any where the waiter's own has none,
   * else one that has at least two more, or has had no use for it for a while. So the pools of a role come to have about as
   * many each, and stay so.
   *
   * @returns whether one closes
   */
  function takeFromOthers(pool: PrincipalPool, asked: Asked): boolean {
    const capacity = capacityOf(pool.database);
    const ofRole = poolsOfRole(capacity);
    const closing = asked.closing.get(capacity) ?? sum(ofRole, (other) => other.closingCount());
    asked.closing.set(capacity, closing - 1);
    const before = asked.waiting.get(pool) ?? 0;
    asked.waiting.set(pool, before + 1);
    if (closing > 0) return true;
    const own = pool.size() + before;
    const mayTake = (other: PrincipalPool) =>
      own === 0 || other.size() > own + 1 || now() - (other.idleSince() ?? Infinity) > unusedMs;
    const longest = longestIdle(ofRole.filter((other) => other !== pool && mayTake(other)));
    longest?.closeOldestIdle();
    return longest !== undefined;
  }

  /** Serves again at the time when a server that took no more connections may be tried again. */
  function retryLater(): void {
    if (admission.isEmpty) return;
    const waits = [...pools].flatMap((pool) =>
      pool.calls.waiting.size > 0 && pool.hasRoom()
        ? capacityOf(pool.database).untilTryMs(pool.hasOpen()) ?? []
        : []
    );
    if (waits.length > 0) stopRetry = startTimer(Math.min(...waits, longestTimerMs), serve);
  }

  /** Why a waiter whose pool has no connection need not wait any longer for a server that takes no more. */
  function shortageOf({ pool, since }: Waiter): AppError | undefined {
    const refusal = capacityOf(pool.database).refusal();
    if (refusal === undefined || pool.hasOpen()) return undefined;
    const isLate = now() - since >= (shortageWaitMs ?? (pool.database.statementTimeoutMs || Infinity));
    return isLate ? refusal : undefined;
  }

  /** Why a waiter need not wait: nothing that it could get would come back. */
  function stuckRefusalOf({ pool, caller }: Waiter): AppError | undefined {
    const { name, poolMaxConns: places } = pool.database;
    const own = stuckOf(pool.database, caller);
    if (own.length >= places) return allStuck(name, `this caller's connections (${places})`, own);
    if (pool.isStuck()) {
      return allStuck(name, `the connections that these callers share (${pool.size()})`, pool.stuck());
    }
    const all = [...pools].flatMap((other) => other.stuck());
    return all.length < maxConnections
      ? undefined
      : allStuck(name, `the server's connections (${maxConnections})`, all);
  }

  /** Whether a caller with stuck connections has as many in this database, with those in use, as a pool has places. */
  function hasAllPlaces({ pool: { database }, caller }: Waiter): boolean {
    const stuck = stuckOf(database, caller).length;
    if (stuck === 0) return false;
    const inUse = sum(pools, (pool) => pool.database === database ? pool.inUseCount(caller) : 0);
    return stuck + inUse >= database.poolMaxConns;
  }

  function stuckOf(database: DatabaseOptions, caller: string): readonly HeldPlace[] {
    return [...pools].flatMap((pool) => pool.database === database ? pool.stuck() : [])
      .filter((place) => place.caller === caller);
  }

  async function waitFor(pool: PrincipalPool, caller: string, signal: AbortSignal): Promise<Lease> {
    const { calls } = pool;
    const { promise, resolve, reject } = Promise.withResolvers<Lease>();
    const waiter: Waiter = { pool, caller, signal, since: now(), resolve, reject };
    calls.add(waiter);
    serve();
    const abort = () => {
      if (calls.remove(waiter)) logLongWait(waiter);
      if (admission.isEmpty) stopRetry();
      reject(signal.reason);
    };
    const refusal = calls.refusal(waiter, pool.hasRoom());
    if (refusal !== undefined && calls.remove(waiter)) reject(refusal);
    else signal.addEventListener("abort", abort, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", abort);
      dropIfUnused(pool);
    }
  }

  async function openFor(waiter: Waiter): Promise<void> {
    const { pool, signal } = waiter;
    const capacity = capacityOf(pool.database);
    capacity.began();
    try {
      const lease = await pool.open(waiter.caller, signal);
      capacity.opened();
      if (signal.aborted) lease.release();
      else waiter.resolve(lease);
    } catch (error) {
      if (isShortage(error)) {
        capacity.refused(error, pool.database);
        waitAgain(waiter);
      } else {
        capacity.failed();
        waiter.reject(error);
        if (!signal.aborted) {
          refuse(error, (other) => other.database === pool.database && !other.hasOpen());
        }
      }
    }
    onChange(pool);
  }

  function waitAgain(waiter: Waiter): void {
    if (waiter.pool.hasEnded()) return waiter.reject(poolEnded(waiter.pool.database.name));
    if (waiter.signal.aborted) return;
    pools.add(waiter.pool);
    waiter.pool.calls.putBack(waiter);
  }

  /** Says what to raise where a call ended while it waited. */
  function logLongWait({ pool, since }: Waiter): void {
    const { database } = pool;
    const waitedMs = now() - since;
    if (waitedMs < longWaitMs || now() - (longWaitToldAt.get(database) ?? -Infinity) < longWaitToldMs) return;
    longWaitToldAt.set(database, now());
    const raise = !pool.hasRoom()
      ? "pool_max_conns"
      : capacityOf(database).refusal() === undefined
      ? "max_connections"
      : "the role's CONNECTION LIMIT or PostgreSQL's max_connections";
    logger.warn(
      `A request ended while it waited for a database connection; to serve more at once, raise ${raise}`,
      {
        database: database.name,
        waited_ms: waitedMs,
      },
    );
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
    for (const [principalKey, ofPrincipal] of poolsOf) {
      if (ofPrincipal.get(pool.database) === pool) ofPrincipal.delete(pool.database);
      if (ofPrincipal.size === 0) poolsOf.delete(principalKey);
    }
  }

  function borrowIdle(database: DatabaseOptions): BorrowedConnection | undefined {
    for (const pool of pools) {
      const lease = pool.database === database ? pool.borrowIdle() : undefined;
      if (lease !== undefined) return lease;
    }
    return undefined;
  }

  /** A connection of the local principal's, which others may have closed for theirs; undefined where there is no room now. */
  function openPooled(database: DatabaseOptions, signal: AbortSignal): Promise<Lease> | undefined {
    const pool = poolFor(prober, database);
    const isFree = admission.isEmpty && sum(pools, (other) => other.size()) < maxConnections &&
      pool.hasRoom() && capacityOf(database).mayOpen(pool.hasOpen());
    if (isFree) return openUnqueued(pool, signal);
    dropIfUnused(pool);
    return undefined;
  }

  async function openUnqueued(pool: PrincipalPool, signal: AbortSignal): Promise<Lease> {
    const capacity = capacityOf(pool.database);
    capacity.began();
    try {
      const lease = await pool.open(callerKey(prober), signal);
      capacity.opened();
      return lease;
    } catch (error) {
      if (isShortage(error)) capacity.refused(error, pool.database);
      else capacity.failed();
      throw error;
    } finally {
      onChange(pool);
    }
  }

  async function end(ended: readonly PrincipalPool[], includeInUse: boolean): Promise<void> {
    for (const pool of ended) refuse(poolEnded(pool.database.name), (other) => other === pool);
    await Promise.all(ended.map((pool) => pool.close({ includeInUse })));
  }

  async function close(): Promise<void> {
    isClosed = true;
    stopRetry();
    poolsOf.clear();
    stuckBackends[Symbol.dispose]();
    await end([...pools], true);
    admission[Symbol.dispose]();
  }

  return {
    async acquire(database, principal, signal) {
      signal.throwIfAborted();
      if (isClosed) throw poolEnded(database.name);
      const pool = poolFor(principal, database);
      const caller = callerKey(principal);
      // what is idle has been offered to all who wait
      const idle = stuckBackends.isEmpty ? pool.takeIdle(caller) : undefined;
      return idle ?? await waitFor(pool, caller, signal);
    },
    async probe(database, signal) {
      if (isClosed) throw poolEnded(database.name);
      await probeServer({
        database,
        availability: availabilityOf(database),
        borrowIdle: () => borrowIdle(database),
        openPooled: (soon) => openPooled(database, soon),
        logger: logger.with({ database: database.name }),
      }, signal);
    },
    async closePrincipal(principal) {
      const key = principalKey(principal);
      const ended = [...poolsOf.get(key)?.values() ?? []];
      poolsOf.delete(key);
      await end(ended, false);
    },
    close,
    *counts() {
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

/** A stuck backend is looked at so often, sooner or later. */
const stuckRetrySeconds = 10;

function allStuck(databaseName: string, connections: string, places: readonly HeldPlace[]): AppError {
  const since = new Date(Math.min(...places.map((place) => place.since))).toISOString();
  return new AppError(
    "unavailable",
    `Cannot read from database "${databaseName}": statements that PostgreSQL does not stop hold all of ` +
      `${connections}, the first since ${since}; try again later, or ask the operator to ` +
      "end the backends that the server's log names",
    { data: { retryAfterSeconds: stuckRetrySeconds } },
  );
}

/** The pool with an idle connection that was used longest ago; one in use comes last. */
function longestIdle(pools: Iterable<PrincipalPool>): PrincipalPool | undefined {
  let longest: { pool: PrincipalPool; since: number } | undefined;
  for (const pool of pools) {
    const since = pool.idleSince();
    if (since !== undefined && (longest === undefined || since < longest.since)) longest = { pool, since };
  }
  return longest?.pool;
}
