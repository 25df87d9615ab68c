import type { CallQueue, WaitingCall } from "../../core/admission.ts";
import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import type { AvailabilityLog } from "./availability_log.ts";
import { connect } from "../connect/connect.ts";
import { type Connection, pg } from "../connection.ts";
import { type DatabaseOptions, startSettings } from "../database_options.ts";
import { isShortage, type ServerCapacity } from "./server_capacity.ts";
import type { StuckBackends } from "./stuck_backends.ts";

/** A place that a stuck backend holds. */
export interface HeldPlace {
  readonly caller: string;
  /** In milliseconds since 1970. */
  readonly since: number;
}

/** A call that waits for a connection of a pool. */
export interface Waiter extends WaitingCall {
  readonly pool: PrincipalPool;
  readonly signal: AbortSignal;
  /** By the pools' clock. */
  readonly since: number;
  readonly resolve: (lease: Lease) => void;
}

export interface PrincipalPoolOptions {
  readonly database: DatabaseOptions;
  /** Whether many callers share it: then as many connections as it has places take the places of stuck ones. */
  readonly isShared: boolean;
  /** Those that wait for a connection; told which callers have one in use. */
  readonly calls: CallQueue<Waiter>;
  readonly stuckBackends: StuckBackends;
  readonly capacity: ServerCapacity;
  /** The log of the whole database, whoever uses it. */
  readonly availability: AvailabilityLog;
  readonly logger: Logger;
  readonly now: () => number;
  /** Called when a connection came back, has closed, or is stuck. */
  readonly onChange: () => void;
}

/** How many connections a pool has in each state. */
export type ConnectionCounts = Readonly<Record<"opening" | "idle" | "in_use" | "closing" | "stuck", number>>;

/** An idle connection of some caller's, for one question of ours. */
export type BorrowedConnection = Pick<Lease, "client" | "release" | "discard">;

interface Use {
  readonly caller: string;
  readonly began: number;
}

export type PrincipalPool = ReturnType<typeof createPrincipalPool>;

/** The connections of one principal to one database. The connection pools decide who gets one. */
export function createPrincipalPool(options: PrincipalPoolOptions) {
  const { database, isShared, calls, stuckBackends, capacity, availability, now, onChange } = options;
  const places = database.poolMaxConns;
  const logger = options.logger.with({ database: database.name });
  const idle: Connection[] = [];
  const inUse = new Map<Connection, Use>();
  const probed = new Set<Connection>();
  const closing = new Set<Connection>();
  const stuck = new Map<Connection, HeldPlace>();
  const ended = new AbortController();
  let opening = 0;
  let lastUsedAt = now();

  function removeIdle(connection: Connection): boolean {
    const index = idle.indexOf(connection);
    if (index === -1) return false;
    idle.splice(index, 1);
    connection.timer.stop();
    return true;
  }

  /** Ends the use of a connection; undefined where it is not in use. */
  function endUse(connection: Connection): Use | undefined {
    const use = inUse.get(connection);
    if (use === undefined) return undefined;
    inUse.delete(connection);
    calls.ended(use.caller, use.began);
    return use;
  }

  async function close(connection: Connection): Promise<void> {
    const use = endUse(connection);
    // it is closing already, is stuck or has closed
    if (use === undefined && !removeIdle(connection) && !probed.delete(connection)) return;
    closing.add(connection);
    const hasEnded = await connection.end();
    closing.delete(connection);
    if (hasEnded || use === undefined) forget(connection);
    else keepPlace(connection, use.caller);
  }

  function forget(connection: Connection): void {
    logger.debug("database connection closed");
    stuck.delete(connection);
    capacity.closed();
    onChange();
  }

  function keepPlace(connection: Connection, caller: string): void {
    const since = now();
    stuck.set(connection, { caller, since });
    stuckBackends.add({ database, connection, caller, since, onGone: () => forget(connection) });
    onChange();
  }

  function giveBack(connection: Connection, isReusable: boolean): void {
    if (!inUse.has(connection)) return;
    lastUsedAt = now();
    if (!isReusable || ended.signal.aborted) return void close(connection);
    availability.answered();
    endUse(connection);
    connection.timer.start(database.poolMaxConnIdleTimeMs, () => void close(connection));
    idle.push(connection);
    onChange();
  }

  /** Puts a connection back as if it had been idle all the time. */
  function giveBackProbed(connection: Connection, isReusable: boolean): void {
    if (!probed.has(connection)) return;
    if (!isReusable || ended.signal.aborted) return void close(connection);
    availability.answered();
    probed.delete(connection);
    idle.unshift(connection);
    onChange();
  }

  function lend(connection: Connection, caller: string): Lease {
    inUse.set(connection, { caller, began: calls.began(caller) });
    return createLease(connection, (isReusable) => giveBack(connection, isReusable));
  }

  const size = () => opening + idle.length + inUse.size + probed.size + closing.size + stuck.size;
  return {
    database,
    calls,
    capacity,
    /** Connections that the server may hold: opening, idle, in use, probed, closing, stuck. */
    size,
    /** Whether it may hold one more. */
    hasRoom: () => size() < places + (isShared ? Math.min(stuck.size, places) : 0),
    closingCount: () => closing.size,
    counts: (): ConnectionCounts => ({
      opening,
      idle: idle.length,
      in_use: inUse.size + probed.size,
      closing: closing.size,
      stuck: stuck.size,
    }),
    /** The connections whose statements PostgreSQL does not end, the first to become so first. */
    stuck: (): readonly HeldPlace[] => [...stuck.values()],
    /** Whether every connection that it may hold is stuck. */
    isStuck: () => stuck.size >= (isShared ? 2 * places : places),
    inUseCount: (caller: string) => [...inUse.values()].filter((use) => use.caller === caller).length,
    /** When a connection was last given back; Infinity while one is in use, undefined where none is idle. */
    idleSince: () => idle.length === 0 ? undefined : inUse.size > 0 ? Infinity : lastUsedAt,
    /** Whether a connection is open that a waiter may get. */
    hasOpen: () => idle.length + inUse.size + probed.size > 0,
    hasIdle: () => idle.length > 0,
    /** Whether it was closed: then it opens none. */
    hasEnded: () => ended.signal.aborted,
    /** The idle connection that was used last; those that broke meanwhile are closed. */
    takeIdle(caller: string): Lease | undefined {
      for (;;) {
        const connection = idle.at(-1);
        if (connection === undefined) return undefined;
        if (!connection.isReady()) {
          void close(connection);
          continue;
        }
        removeIdle(connection);
        return lend(connection, caller);
      }
    },
    /** Borrows, for a moment, the idle connection that callers would take last; its idle time goes on. */
    borrowIdle(): BorrowedConnection | undefined {
      const at = idle.findIndex((connection) => connection.isReady());
      const [connection] = at === -1 ? [] : idle.splice(at, 1);
      if (connection === undefined) return undefined;
      probed.add(connection);
      // no lease, as that would end the idle time
      return {
        client: connection.client,
        release: () => giveBackProbed(connection, connection.isReady()),
        discard: () => giveBackProbed(connection, false),
      };
    },
    /**
     * A new connection.
     *
     * @throws {AppError} `unavailable` where it cannot be opened; the signal's reason where that aborts
     */
    async open(caller: string, signal: AbortSignal): Promise<Lease> {
      opening++;
      capacity.began();
      try {
        const connection = await connect(database, {
          signal: AbortSignal.any([signal, ended.signal]),
          logger,
        });
        capacity.opened();
        availability.opened();
        if (startSettings(database) !== undefined && !connection.holdsSettings) availability.foundPooler();
        connection.onClosed(() => void close(connection));
        connection.onLost((error) => {
          availability.forgetAnswer();
          if (inUse.has(connection) || idle.includes(connection) && isShutdown(error)) {
            availability.lost(error);
          }
        });
        logger.debug("database connection opened");
        return lend(connection, caller);
      } catch (error) {
        if (isShortage(error)) capacity.refused(error, database);
        else {
          capacity.failed();
          if (!signal.aborted && !ended.signal.aborted) availability.refused(error);
        }
        throw error;
      } finally {
        opening--;
      }
    },
    /** Starts closing the idle connection that was used first. */
    closeOldestIdle() {
      const [connection] = idle;
      if (connection !== undefined) void close(connection);
    },
    /**
     * Ends idle and opening connections now, those in use when given back, or now too. Resolves when they have closed, and
     * those that were closing, or cannot be ended.
     */
    async close({ includeInUse }: { readonly includeInUse: boolean }): Promise<void> {
      ended.abort(new PoolEndedError(database.name));
      const connections = [
        ...idle,
        ...probed,
        ...(includeInUse ? inUse.keys() : []),
      ];
      const alreadyClosing = [...closing].map((connection) => connection.end());
      await Promise.all([...connections.map(close), ...alreadyClosing]);
    },
  };
}

/** Where an idle connection ends in another way, something between has timed out: it says nothing of the server. */
function isShutdown(error: Error): boolean {
  return error instanceof pg.DatabaseError && /^57P0[123]$/.test(error.code ?? "");
}

/** The error of callers whose pool ended while they waited. */
export class PoolEndedError extends AppError {
  constructor(databaseName: string) {
    super("unavailable", `Cannot reach database "${databaseName}": its connections were closed`);
  }
}

/** A connection of one principal's, for as long as it is not given back. */
export type Lease = ReturnType<typeof createLease>;

/** Lends a connection; `giveBack` is called once, with whether it may serve again. */
export function createLease(connection: Connection, giveBack: (isReusable: boolean) => void) {
  let isCancelled = false;
  let isReturned = false;
  const end = (isReusable: boolean) => {
    if (isReturned) return;
    isReturned = true;
    connection.limitBytes(undefined);
    connection.timer.stop();
    giveBack(isReusable);
  };
  return {
    client: connection.client,
    holdsSettings: connection.holdsSettings,
    /** Gives it back; it is closed where it is in a transaction, waits for an answer or was cancelled. */
    release(): void {
      // the signal of a cancelled connection may reach the server's process late
      end(!isCancelled && connection.isReady());
    },
    /** Closes it for good; a statement that still runs is cancelled. */
    discard: (): void => end(false),
    /**
     * Has the server cancel what runs, until `settled` has or it was asked for `patienceMs`, 2 seconds where absent.
     * Whether it has settled.
     */
    async cancelUntil(settled: Promise<unknown>, patienceMs?: number): Promise<boolean> {
      if (isReturned) return true;
      isCancelled = true;
      return await connection.cancelUntil(settled, patienceMs);
    },
    /**
     * Bounds the bytes that arrive from now on; undefined lifts the bound, and so does giving back. Crossing it fails the
     * running query with AppError("invalid", "Cannot read result: it exceeds 64 MiB"), closes the connection and has the
     * server cancel the statement.
     */
    limitBytes(maxBytes: number | undefined): void {
      if (!isReturned) connection.limitBytes(maxBytes);
    },
    /** Calls `expire` where it is not given back within so many milliseconds; more than 25 days: never. */
    limitTime(ms: number, expire: () => void): void {
      if (!isReturned) connection.timer.start(ms, expire);
    },
  };
}
