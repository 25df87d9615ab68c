import type { Logger } from "../core/logger.ts";
import { type AvailabilityLog, createAvailabilityLog } from "./availability_log.ts";
import type { DatabaseOptions } from "./database_options.ts";
import type { Lease } from "./lease.ts";
import { createPrincipalPool, poolEnded, type PrincipalPool } from "./principal_pool.ts";

export type { Lease } from "./lease.ts";

/** Connections that are kept per principal and database, never handed to another principal. */
export interface ConnectionPools extends AsyncDisposable {
  /**
   * A connection of the principal's, an idle one where there is one. Callers wait in order of arrival, for their pool
   * and for the total bound alike. When a connection cannot be opened, all who wait for that database and have none
   * open fail with the same error, so that nobody waits out the failures of others.
   *
   * @throws {AppError} `unavailable` where none can be opened; the signal's reason where that aborts
   */
  acquire(database: DatabaseOptions, principalKey: string, signal: AbortSignal): Promise<Lease>;
  /** Ends a principal's connections: idle ones now, those in use when given back. Its waiters are refused. */
  closePrincipal(principalKey: string): Promise<void>;
  /** Ends all connections and refuses what comes after; statements that still run are cancelled. */
  close(): Promise<void>;
}

interface Waiter {
  readonly pool: PrincipalPool;
  readonly signal: AbortSignal;
  readonly resolve: (lease: Lease) => void;
  readonly reject: (reason: unknown) => void;
}

interface PoolsOptions {
  /** Over all pools, connections that are opening or closing included. */
  readonly maxConnections: number;
  readonly logger: Logger;
  readonly now?: () => number;
}

export function createConnectionPools(
  { maxConnections, logger, now = Date.now }: PoolsOptions,
): ConnectionPools {
  // by the options' identity too: after a reload, a database of the same name may be another one
  const poolsOf = new Map<string, Map<DatabaseOptions, PrincipalPool>>();
  const availabilities = new WeakMap<DatabaseOptions, AvailabilityLog>();
  // with those that ended and still have connections
  const pools = new Set<PrincipalPool>();
  let queue: Waiter[] = [];
  let isClosed = false;

  function poolFor(principalKey: string, database: DatabaseOptions): PrincipalPool {
    const ofPrincipal = poolsOf.get(principalKey) ?? new Map<DatabaseOptions, PrincipalPool>();
    poolsOf.set(principalKey, ofPrincipal);
    const pool = ofPrincipal.get(database) ??
      createPrincipalPool({ database, availability: availabilityOf(database), logger, now, onFreed });
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

  function onFreed(pool: PrincipalPool): void {
    serve();
    dropIfUnused(pool);
  }

  function serve(): void {
    if (queue.length === 0) return;
    let room = maxConnections - sum(pools, (pool) => pool.size());
    let closing = sum(pools, (pool) => pool.closingCount());
    queue = queue.filter((waiter) => {
      const { pool } = waiter;
      const lease = pool.takeIdle();
      if (lease !== undefined) {
        waiter.resolve(lease);
        return false;
      }
      if (pool.size() >= pool.database.poolMaxConns) return true;
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
  }

  async function openFor(waiter: Waiter): Promise<void> {
    try {
      const lease = await waiter.pool.open(waiter.signal);
      if (waiter.signal.aborted) lease.release();
      else waiter.resolve(lease);
    } catch (error) {
      waiter.reject(error);
      if (!waiter.signal.aborted) {
        refuse(error, ({ pool }) => pool.database === waiter.pool.database && !pool.hasOpen());
      }
    }
    onFreed(waiter.pool);
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

  async function end(ending: readonly PrincipalPool[], includeInUse: boolean): Promise<void> {
    for (const pool of ending) refuse(poolEnded(pool.database.name), (waiter) => waiter.pool === pool);
    await Promise.all(ending.map((pool) => pool.close({ includeInUse })));
  }

  async function close(): Promise<void> {
    isClosed = true;
    poolsOf.clear();
    await end([...pools], true);
  }

  return {
    acquire(database, principalKey, signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (isClosed) return Promise.reject(poolEnded(database.name));
      const pool = poolFor(principalKey, database);
      const { promise, resolve, reject } = Promise.withResolvers<Lease>();
      const waiter = { pool, signal, resolve, reject };
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
    async closePrincipal(principalKey) {
      const ending = [...poolsOf.get(principalKey)?.values() ?? []];
      poolsOf.delete(principalKey);
      await end(ending, false);
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

/** Of the pools with an idle connection, the one that was used longest ago; one in use comes last. */
function longestIdle(pools: Iterable<PrincipalPool>): PrincipalPool | undefined {
  let longest: { pool: PrincipalPool; since: number } | undefined;
  for (const pool of pools) {
    const since = pool.idleSince();
    if (since !== undefined && (longest === undefined || since < longest.since)) longest = { pool, since };
  }
  return longest?.pool;
}
