import type { Logger } from "../../core/logger.ts";
import type { DatabaseOptions } from "../database_options.ts";
import type { HeldPlace, PrincipalPool, Waiter } from "./principal_pool.ts";
import { AppError } from "../../core/app_error.ts";
import type { ServerCapacity } from "./server_capacity.ts";

/** A wait of so long is told of. */
const longWaitMs = 1_000;
/** The log tells of one database once in this time. */
const toldMs = 60_000;

/** Says what to raise where a call ended while it waited. */
export function createLongWaitLog(logger: Logger, now: () => number): (waiter: Waiter) => void {
  const toldAt = new WeakMap<DatabaseOptions, number>();

  return ({ pool, since }) => {
    const { database, capacity } = pool;
    const waitedMs = now() - since;
    if (waitedMs < longWaitMs || now() - (toldAt.get(database) ?? -Infinity) < toldMs) return;
    toldAt.set(database, now());
    const raise = !pool.hasRoom()
      ? "pool_max_conns"
      : capacity.refusal() === undefined
      ? "max_connections"
      : "the role's CONNECTION LIMIT or PostgreSQL's max_connections";
    const message = "A request ended while it waited for a database connection; to serve more at once, raise";
    logger.warn(`${message} ${raise}`, { database: database.name, waited_ms: waitedMs });
  };
}

/** A stuck backend is looked at so often, sooner or later. */
const retrySeconds = 10;

/** Why a call that waits is refused: all connections that it could get are stuck, so none would come back. */
export function stuckRefusal(
  { pool, caller }: Waiter,
  { pools, maxConnections }: { readonly pools: Iterable<PrincipalPool>; readonly maxConnections: number },
): AppError | undefined {
  const { name, poolMaxConns: places } = pool.database;
  const own = stuckOf(pools, pool.database, caller);
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
export function hasAllPlaces(
  { pool: { database }, caller }: Waiter,
  pools: Iterable<PrincipalPool>,
): boolean {
  const stuck = stuckOf(pools, database, caller).length;
  if (stuck === 0) return false;
  let held = stuck;
  for (const pool of pools) if (pool.database === database) held += pool.inUseCount(caller);
  return held >= database.poolMaxConns;
}

function stuckOf(pools: Iterable<PrincipalPool>, database: DatabaseOptions, caller: string): HeldPlace[] {
  return [...pools].flatMap((pool) => pool.database === database ? pool.stuck() : [])
    .filter((place) => place.caller === caller);
}

function allStuck(databaseName: string, connections: string, places: readonly HeldPlace[]): AppError {
  const since = new Date(Math.min(...places.map((place) => place.since))).toISOString();
  return new AppError(
    "unavailable",
    `Cannot read from database "${databaseName}": statements that PostgreSQL does not stop hold all of ` +
      `${connections}, the first since ${since}; try again later, or ask the operator to ` +
      "end the backends that the server's log names",
    { data: { retryAfterSeconds: retrySeconds } },
  );
}

/** A pool that has had nothing in use for so long can spare its connections. */
const unusedMs = 1_000;

/** Closes an idle connection, of the pool that used one longest ago; of one that has some in use last. Whether there was one. */
export function closeLongestIdle(pools: Iterable<PrincipalPool>): boolean {
  let longest: { pool: PrincipalPool; since: number } | undefined;
  for (const pool of pools) {
    const since = pool.idleSince();
    if (since !== undefined && (longest === undefined || since < longest.since)) longest = { pool, since };
  }
  longest?.pool.closeOldestIdle();
  return longest !== undefined;
}

/**
 * Where a server takes no more connections of a role, has another pool of the role close an idle one: any where the asking
 * pool has none, else one that has at least two more, or has had no use for it for a while. So the pools of a role come to
 * have about as many each, and stay so.
 *
 * @returns what a pool asks with, once for each of its calls that wait: whether a connection closes that nobody before has
 * counted on
 */
export function createSpareConnections(
  pools: Iterable<PrincipalPool>,
  now: () => number,
): (asking: PrincipalPool) => boolean {
  /** By role, connections that close and nobody has counted on. */
  const closingOf = new Map<ServerCapacity, number>();
  const askedBy = new Map<PrincipalPool, number>();

  return (asking) => {
    const ofRole = [...pools].filter(({ capacity }) => capacity === asking.capacity);
    const closing = closingOf.get(asking.capacity) ??
      ofRole.reduce((sum, pool) => sum + pool.closingCount(), 0);
    closingOf.set(asking.capacity, closing - 1);
    const before = askedBy.get(asking) ?? 0;
    askedBy.set(asking, before + 1);
    if (closing > 0) return true;
    const own = asking.size() + before;
    return closeLongestIdle(ofRole.filter((pool) =>
      pool !== asking &&
      (own === 0 || pool.size() > own + 1 || now() - (pool.idleSince() ?? Infinity) > unusedMs)
    ));
  };
}
