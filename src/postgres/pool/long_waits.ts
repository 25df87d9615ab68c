import type { Logger } from "../../core/logger.ts";
import type { DatabaseOptions } from "../database_options.ts";
import type { HeldPlace, PrincipalPool, Waiter } from "./principal_pool.ts";
import { AppError } from "../../core/app_error.ts";

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
    logger.warn(
      `A request ended while it waited for a database connection; to serve more at once, raise ${raise}`,
      { database: database.name, waited_ms: waitedMs },
    );
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
