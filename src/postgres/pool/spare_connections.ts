import type { PrincipalPool } from "./principal_pool.ts";
import type { ServerCapacity } from "./server_capacity.ts";

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
