import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import { callerKey, type Principal, principalKey } from "../../core/principal.ts";
import { type AvailabilityLog, createAvailabilityLog } from "./availability_log.ts";
import type { DatabaseOptions } from "../database_options.ts";
import type { Lease } from "./lease.ts";
import { createPrincipalPool, type HeldPlace, poolEnded, type PrincipalPool } from "./principal_pool.ts";
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
   * A connection of the principal's, an idle one where there is one. Who waits, for a place in their pool or for the total
   * bound, is served in a fair order: who has fewer connections in use goes first, then who came first. When a connection
   * cannot be opened, all who wait for that database and have none open get the same error: nobody waits for the others to
   * fail one by one.
   *
   * @throws {AppError} `unavailable` where none can be opened, or all are stuck; the signal's reason where that aborts
   */
  acquire(database: DatabaseOptions, principal: Principal, signal: AbortSignal): Promise<Lease>;
  /** Ends a principal's connections: idle ones now, those in use when given back. Its waiters are refused. */
  closePrincipal(principal: Principal): Promise<void>;
  /** Ends all connections and refuses what comes after; statements that still run are cancelled. */
  close(): Promise<void>;
}

interface Waiter {
  readonly pool: PrincipalPool;
  readonly caller: string;
  readonly signal: AbortSignal;
  readonly resolve: (lease: Lease) => void;
  readonly reject: (reason: unknown) => void;
}

interface PoolsOptions {
  /** Over all pools, connections that are opening, closing or stuck included. */
  readonly maxConnections: number;
  readonly logger: Logger;
  readonly now?: () => number;
  /** When to look at stuck backends, as createStuckBackends() takes it. */
  readonly lookAfterMs?: readonly number[];
}

export function createConnectionPools(
  { maxConnections, logger, now = Date.now, lookAfterMs }: PoolsOptions,
): ConnectionPools {
  // by the options' identity too: after a reload, a database of the same name may be another one
  const poolsOf = new Map<string, Map<DatabaseOptions, PrincipalPool>>();
  const availabilities = new WeakMap<DatabaseOptions, AvailabilityLog>();
  // with those that ended and still have connections
  const pools = new Set<PrincipalPool>();
  const stuckBackends = createStuckBackends({
    logger,
    now,
    ...(lookAfterMs !== undefined && { lookAfterMs }),
  });
  let queue: Waiter[] = [];
  let isClosed = false;

  function poolFor(principal: Principal, database: DatabaseOptions): PrincipalPool {
    const key = principalKey(principal);
    const ofPrincipal = poolsOf.get(key) ?? new Map<DatabaseOptions, PrincipalPool>();
    poolsOf.set(key, ofPrincipal);
    const isShared = principal.kind === "local";
    const availability = availabilityOf(database);
    const pool: PrincipalPool = ofPrincipal.get(database) ??
      createPrincipalPool({
        database,
        isShared,
        stuckBackends,
        availability,
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
      createAvailabilityLog(logger.with({ database: database.name }), now);
    availabilities.set(database, known);
    return known;
  }

  function onChange(pool: PrincipalPool): void {
    serve();
    dropIfUnused(pool);
  }

  function serve(): void {
    if (queue.length === 0) return;
    let room = maxConnections - sum(pools, (pool) => pool.size());
    let closing = sum(pools, (pool) => pool.closingCount());
    const left = inFairOrder(queue).filter((waiter) => {
      const { pool, caller } = waiter;
      const refusal = refusalOf(waiter);
      if (refusal !== undefined) {
        waiter.reject(refusal);
        return false;
      }
      if (hasAllPlaces(waiter)) return true;
      const lease = pool.takeIdle(caller);
      if (lease !== undefined) {
        waiter.resolve(lease);
        return false;
      }
      if (!pool.hasRoom()) return true;
      if (room > 0) {
        room--;
        void openFor(waiter);
        return false;
      }
      // who waits for the total bound is owed one connection that closes
      if (closing > 0) closing--;
      else longestIdle(pools)?.closeOldestIdle();
      return true;
    });
    const isLeft = new Set(left);
    queue = queue.filter((waiter) => isLeft.has(waiter));
  }

  /** Each waiter comes after as many of every other caller's as its own caller has in use or waiting before it. */
  function inFairOrder(waiters: readonly Waiter[]): readonly Waiter[] {
    const counts = new Map<string, number>();
    const ranked = waiters.map((waiter) => {
      const { caller } = waiter;
      const rank = counts.get(caller) ?? sum(pools, (pool) => pool.inUseCount(caller));
      counts.set(caller, rank + 1);
      return { waiter, rank };
    });
    return ranked.sort((one, other) => one.rank - other.rank).map(({ waiter }) => waiter);
  }

  /** Why a waiter need not wait: nothing that it could get would come back. */
  function refusalOf({ pool, caller }: Waiter): AppError | undefined {
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

  async function openFor(waiter: Waiter): Promise<void> {
    try {
      const lease = await waiter.pool.open(waiter.caller, waiter.signal);
      if (waiter.signal.aborted) lease.release();
      else waiter.resolve(lease);
    } catch (error) {
      waiter.reject(error);
      if (!waiter.signal.aborted) {
        refuse(error, ({ pool }) => pool.database === waiter.pool.database && !pool.hasOpen());
      }
    }
    onChange(waiter.pool);
  }

  function refuse(reason: unknown, isMeant: (waiter: Waiter) => boolean): void {
    const refused = queue.filter(isMeant);
    queue = queue.filter((waiter) => !refused.includes(waiter));
    for (const waiter of refused) waiter.reject(reason);
  }

  function dropIfUnused(pool: PrincipalPool): void {
    if (pool.size() > 0 || queue.some((waiter) => waiter.pool === pool)) return;
    pools.delete(pool);
    for (const [principalKey, ofPrincipal] of poolsOf) {
      if (ofPrincipal.get(pool.database) === pool) ofPrincipal.delete(pool.database);
      if (ofPrincipal.size === 0) poolsOf.delete(principalKey);
    }
  }

  async function end(ended: readonly PrincipalPool[], includeInUse: boolean): Promise<void> {
    for (const pool of ended) refuse(poolEnded(pool.database.name), (waiter) => waiter.pool === pool);
    await Promise.all(ended.map((pool) => pool.close({ includeInUse })));
  }

  async function close(): Promise<void> {
    isClosed = true;
    poolsOf.clear();
    stuckBackends[Symbol.dispose]();
    await end([...pools], true);
  }

  return {
    acquire(database, principal, signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (isClosed) return Promise.reject(poolEnded(database.name));
      const pool = poolFor(principal, database);
      const { promise, resolve, reject } = Promise.withResolvers<Lease>();
      const waiter = { pool, caller: callerKey(principal), signal, resolve, reject };
      const abort = () => {
        queue = queue.filter((other) => other !== waiter);
        reject(signal.reason);
        dropIfUnused(pool);
      };
      signal.addEventListener("abort", abort, { once: true });
      queue.push(waiter);
      serve();
      return promise.finally(() => signal.removeEventListener("abort", abort));
    },
    async closePrincipal(principal) {
      const key = principalKey(principal);
      const ended = [...poolsOf.get(key)?.values() ?? []];
      poolsOf.delete(key);
      await end(ended, false);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function sum(pools: Iterable<PrincipalPool>, count: (pool: PrincipalPool) => number): number {
  let total = 0;
  for (const pool of pools) total += count(pool);
  return total;
}

function allStuck(databaseName: string, connections: string, places: readonly HeldPlace[]): AppError {
  const since = new Date(Math.min(...places.map((place) => place.since))).toISOString();
  return new AppError(
    "unavailable",
    `Cannot read from database "${databaseName}": statements that PostgreSQL does not stop hold all of ` +
      `${connections}, the first since ${since}; try again later, or ask the operator to ` +
      "end the backends that the server's log names",
  );
}

/** Of the pools with an idle connection, the one that was used longest ago; one in use comes last. */
function longestIdle(pools: Iterable<PrincipalPool>): PrincipalPool | undefined {
  let longest: { pool: PrincipalPool; since: number } | undefined;
  for (const pool of pools) {
    const since = pool.idleSince();
    if (since !== undefined && (longest === undefined || since < longest.since)) longest = { pool, since };
  }
  return longest?.pool;
}
