import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import type { DatabaseOptions } from "../database_options.ts";

/** Whether a connection could not be opened because the server has as many as it takes. */
export function isShortage(error: unknown): error is AppError {
  return error instanceof AppError && typeof error.data?.["retryAfterSeconds"] === "number";
}

/** Waits between two tries to open one more connection than the server took: doubled each time, up to the longest. */
const firstWaitMs = 250;
const longestWaitMs = 30_000;
/** For a pool that has no connection at all: what others hold may be free at any moment. */
const longestWaitWithoutAnyMs = 1_000;
/** A closed connection's process may take a moment to end: so often it is waited for, so long the first time. */
const freedTries = 5;
const freedWaitMs = 20;
/** A server that refused nothing for so long is taken to have room. */
const calmMs = 60_000;
/** The log tells of a shortage once in this time. */
const toldMs = 60_000;

export type ServerCapacity = ReturnType<typeof createServerCapacity>;

/** The capacities of servers, by role: whatever connects with the same role shares its limit. */
export function createServerCapacities(options: Parameters<typeof createServerCapacity>[0]) {
  const byRole = new Map<string, ServerCapacity>();

  return {
    of({ name, hosts, user, openStream }: DatabaseOptions): ServerCapacity {
      const key = JSON.stringify([hosts, user, openStream === undefined ? "" : name]);
      const capacity = byRole.get(key) ?? createServerCapacity(options);
      byRole.set(key, capacity);
      return capacity;
    },
    isAnyShort: (): boolean => byRole.values().some((capacity) => capacity.refusal() !== undefined),
  };
}

/**
 * Whether a server has room for one more connection of a role, as far as its refusals tell: a role's CONNECTION LIMIT, a
 * database's, the server's `max_connections` and a pooler's bounds cannot be known otherwise. After a refusal, connections
 * are opened one at a time: where one of ours has closed, and now and then to see whether there is more room.
 */
export function createServerCapacity({ now, logger }: {
  readonly now: () => number;
  readonly logger: Logger;
}) {
  let refusal: AppError | undefined;
  let refusedAt = -Infinity;
  let triedAt = -Infinity;
  let waitMs = firstWaitMs;
  let opening = 0;
  /** Connections of ours that closed since the server refused one. */
  let freed = 0;
  /** Tries in the place of one of those that were refused, and until when not to try again. */
  let freedTried = 0;
  let freedFrom = -Infinity;
  let toldAt = -Infinity;

  function untilFreedMs(): number {
    return freed > opening ? freedFrom - now() : Infinity;
  }

  function remainingMs(hasAny: boolean): number {
    return triedAt + (hasAny ? waitMs : Math.min(waitMs, longestWaitWithoutAnyMs)) - now();
  }

  return {
    /** The error with which the server last took no more; undefined while it is not known to be short of room. */
    refusal: () => refusal,
    /** @param hasAny whether the pool that would open it has an open connection */
    mayOpen: (hasAny: boolean): boolean =>
      refusal === undefined || untilFreedMs() <= 0 || (opening === 0 && remainingMs(hasAny) <= 0),
    /** When it may be tried again, in milliseconds from now; undefined where something else decides. */
    untilTryMs: (hasAny: boolean): number | undefined =>
      refusal === undefined || opening > 0
        ? undefined
        : Math.max(1, Math.min(remainingMs(hasAny), untilFreedMs())),
    began(): void {
      opening++;
    },
    opened(): void {
      opening--;
      if (refusal === undefined) return;
      freedTried = 0;
      if (freed > 0) freed--;
      else {
        waitMs = firstWaitMs;
        triedAt = -Infinity;
      }
      if (now() - refusedAt > calmMs) refusal = undefined;
    },
    /** For another reason than a shortage. */
    failed(): void {
      opening--;
    },
    /** The server took no more. */
    refused(error: AppError, database: DatabaseOptions): void {
      opening--;
      refusedAt = now();
      if (freed > 0 && ++freedTried <= freedTries) freedFrom = now() + freedWaitMs * 2 ** (freedTried - 1);
      else freed = freedTried = 0;
      const isFirst = refusal === undefined;
      const hasWaited = remainingMs(true) <= 0;
      // of several that were opened at once, the first refusal counts
      if (isFirst || remainingMs(false) <= 0) triedAt = now();
      if (!isFirst && hasWaited) waitMs = Math.min(2 * waitMs, longestWaitMs);
      refusal = error;
      if (now() - toldAt < toldMs) return;
      toldAt = now();
      logger.warn(
        "PostgreSQL takes no more connections; requests wait for those that are open. Raise the role's CONNECTION " +
          "LIMIT or PostgreSQL's max_connections, or lower pool_max_conns",
        { database: database.name, role: database.user, pool_max_conns: database.poolMaxConns, error },
      );
    },
    closed(): void {
      if (refusal !== undefined) freed++;
    },
  };
}
