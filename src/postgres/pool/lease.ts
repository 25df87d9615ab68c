import type { Connection } from "../connection.ts";

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
