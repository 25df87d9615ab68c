import { AppError } from "../../core/app_error.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { connect } from "../connect/connect.ts";
import type { BorrowedConnection, Lease, PrincipalPoolOptions } from "./principal_pool.ts";
import { isShortage } from "./server_capacity.ts";

/** A server that answered a caller so recently, and lost no connection since, is not asked again. */
const recentMs = 5_000;

interface ProbeOptions extends Pick<PrincipalPoolOptions, "database" | "availability" | "logger"> {
  /** Borrows an idle connection of any caller's; undefined where none is idle. */
  readonly borrowIdle: () => BorrowedConnection | undefined;
  /** Opens one that stays in a pool, until a caller needs its place; undefined where there is no room for one now. */
  readonly openPooled: (signal: AbortSignal) => Promise<Lease> | undefined;
}

/**
 * Finds out whether a database's server answers, by the cheapest of these: what callers just heard from it, an idle
 * connection, a new one that stays. Where callers have all places, a connection beside them is opened and closed; a server
 * that then takes no more connections has answered. No caller waits for a place because of it.
 *
 * @throws {AppError} `unavailable`; the signal's reason where that aborts
 */
export async function probeServer(options: ProbeOptions, signal: AbortSignal): Promise<void> {
  const { availability, borrowIdle, openPooled } = options;
  signal.throwIfAborted();
  if (availability.hasAnsweredWithin(recentMs)) return;
  const idle = borrowIdle();
  // one that breaks under the question says nothing of the server: it may have restarted since
  if (idle !== undefined && await answers(idle, signal)) return;
  try {
    const pooled = openPooled(signal);
    if (pooled !== undefined) return (await pooled).release();
    await openBeside(options, signal);
  } catch (error) {
    if (!isShortage(error)) throw error;
  }
}

async function answers(idle: BorrowedConnection, signal: AbortSignal): Promise<boolean> {
  try {
    await untilAborted(idle.client.query("SELECT 1"), signal);
    idle.release();
    return true;
  } catch {
    idle.discard();
    signal.throwIfAborted();
    return false;
  }
}

async function openBeside({ database, availability, logger }: ProbeOptions, signal: AbortSignal) {
  // the embedded server takes one connection at a time, and lives and ends with this process
  if (database.openStream !== undefined) return;
  try {
    const connection = await connect(database, { signal, logger });
    availability.opened();
    void connection.close();
  } catch (error) {
    if (!signal.aborted && error instanceof AppError && !isShortage(error)) availability.refused(error);
    throw error;
  }
}
