import type { Logger } from "../../core/logger.ts";
import type { DatabaseOptions } from "../database_options.ts";
import type { Waiter } from "./principal_pool.ts";

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
