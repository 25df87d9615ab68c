import { clearTimeout, setTimeout } from "node:timers";
import { AppError } from "../core/app_error.ts";
import type { Logger } from "../core/logger.ts";
import type { AvailabilityLog } from "./availability_log.ts";
import { connect } from "./connect.ts";
import type { Connection } from "./connection.ts";
import type { DatabaseOptions } from "./database_options.ts";
import { pg } from "./driver.ts";
import { createLease, type Lease } from "./lease.ts";

/** The connections of one principal to one database. It hands out what is asked for; who waits is not its concern. */
export interface PrincipalPool {
  readonly database: DatabaseOptions;
  /** Connections that the server may hold: opening, idle, in use, closing. */
  size(): number;
  closingCount(): number;
  /** When a connection was last given back; Infinity while one is in use, undefined where none is idle. */
  idleSince(): number | undefined;
  /** Whether a connection is open that a waiter may get. */
  hasOpen(): boolean;
  /** The idle connection that was used last. */
  takeIdle(): Lease | undefined;
  /**
   * A new connection.
   *
   * @throws {AppError} `unavailable` where it cannot be opened; the signal's reason where that aborts
   */
  open(signal: AbortSignal): Promise<Lease>;
  /** Starts closing the idle connection that was used first. */
  closeOldestIdle(): void;
  /** Ends idle and opening connections now, those in use when given back, or now too. Resolves when they have closed. */
  close(options: { readonly includeInUse: boolean }): Promise<void>;
}

export interface PrincipalPoolOptions {
  readonly database: DatabaseOptions;
  /** Of the database, whoever uses it. */
  readonly availability: AvailabilityLog;
  readonly logger: Logger;
  readonly now: () => number;
  /** Called when a connection came back or has closed. */
  readonly onFreed: (pool: PrincipalPool) => void;
}

interface IdleConnection {
  readonly connection: Connection;
  readonly timer: ReturnType<typeof setTimeout>;
}

// a longer delay would make the timer fire at once
const maxTimerMs = 2 ** 31 - 1;

export function createPrincipalPool(options: PrincipalPoolOptions): PrincipalPool {
  const { database, availability, now, onFreed } = options;
  const logger = options.logger.with({ database: database.name });
  const idle: IdleConnection[] = [];
  const inUse = new Set<Connection>();
  const closing = new Set<Connection>();
  const ended = new AbortController();
  let opening = 0;
  let lastUsedAt = now();

  function removeIdle(connection: Connection): boolean {
    const index = idle.findIndex((entry) => entry.connection === connection);
    const [entry] = index === -1 ? [] : idle.splice(index, 1);
    if (entry !== undefined) clearTimeout(entry.timer);
    return entry !== undefined;
  }

  function close(connection: Connection): Promise<void> {
    removeIdle(connection);
    inUse.delete(connection);
    closing.add(connection);
    return connection.close();
  }

  function forget(connection: Connection): void {
    removeIdle(connection);
    inUse.delete(connection);
    closing.delete(connection);
    logger.debug("database connection closed");
    onFreed(pool);
  }

  function giveBack(connection: Connection, isReusable: boolean): void {
    if (!inUse.has(connection)) return;
    lastUsedAt = now();
    if (!isReusable || ended.signal.aborted) return void close(connection);
    inUse.delete(connection);
    const timer = setTimeout(
      () => void close(connection),
      Math.min(database.poolMaxConnIdleTimeMs, maxTimerMs),
    );
    idle.push({ connection, timer: timer.unref() });
    onFreed(pool);
  }

  function lend(connection: Connection): Lease {
    inUse.add(connection);
    return createLease(connection, (isReusable) => giveBack(connection, isReusable));
  }

  const pool: PrincipalPool = {
    database,
    size: () => opening + idle.length + inUse.size + closing.size,
    closingCount: () => closing.size,
    idleSince: () => idle.length === 0 ? undefined : inUse.size > 0 ? Infinity : lastUsedAt,
    hasOpen: () => idle.length + inUse.size > 0,
    takeIdle() {
      const entry = idle.at(-1);
      if (entry === undefined) return undefined;
      removeIdle(entry.connection);
      return lend(entry.connection);
    },
    async open(signal) {
      opening++;
      try {
        const connection = await connect(database, {
          signal: AbortSignal.any([signal, ended.signal]),
          logger,
        });
        availability.opened();
        connection.onClosed(() => forget(connection));
        connection.onLost((error) => {
          if (inUse.has(connection) || isShutdown(error)) availability.lost(error);
        });
        logger.debug("database connection opened");
        return lend(connection);
      } catch (error) {
        if (!signal.aborted && !ended.signal.aborted) availability.refused(error);
        throw error;
      } finally {
        opening--;
      }
    },
    closeOldestIdle() {
      const [entry] = idle;
      if (entry !== undefined) void close(entry.connection);
    },
    async close({ includeInUse }) {
      ended.abort(poolEnded(database.name));
      const connections = [...idle.map((entry) => entry.connection), ...(includeInUse ? inUse : [])];
      await Promise.all(connections.map(close));
    },
  };
  return pool;
}

/** An idle connection that ends otherwise tells of a timeout somewhere on the way, and not of the server. */
function isShutdown(error: Error): boolean {
  return error instanceof pg.DatabaseError && /^57P0[123]$/.test(error.code ?? "");
}

/** What callers get whose pool ended while they waited. */
export function poolEnded(databaseName: string): AppError {
  return new AppError("unavailable", `Cannot reach database "${databaseName}": its connections were closed`);
}
