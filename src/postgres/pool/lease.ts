import type { Connection, pg } from "../connection.ts";

/** A connection of one principal's, for as long as it is not given back. */
export interface Lease {
  readonly client: pg.Client;
  /** Gives it back; it is closed where it is in a transaction, waits for an answer or was cancelled. */
  release(): void;
  /** Closes it for good; a statement that still runs is cancelled. */
  discard(): void;
  /**
   * Has the server cancel what runs, until `ended` settles or it has been asked for `patienceMs`, which is 2 seconds where
   * absent. Whether it has ended.
   */
  cancelUntil(ended: Promise<unknown>, patienceMs?: number): Promise<boolean>;
  /**
   * Bounds the bytes that arrive from now on; undefined lifts the bound, and so does giving back. Crossing it fails the
   * running query with AppError("invalid", "Cannot read result: it exceeds N bytes"), closes the connection and has the
   * server cancel the statement.
   */
  limitBytes(maxBytes: number | undefined): void;
}

/** Lends a connection; `giveBack` is called once, with whether it may serve again. */
export function createLease(connection: Connection, giveBack: (isReusable: boolean) => void): Lease {
  let isCancelled = false;
  let isReturned = false;
  const end = (isReusable: boolean) => {
    if (isReturned) return;
    isReturned = true;
    connection.limitBytes(undefined);
    giveBack(isReusable);
  };
  return {
    client: connection.client,
    // the signal of a cancelled connection may reach the server's process late
    release: () => end(!isCancelled && connection.isReady()),
    discard: () => end(false),
    async cancelUntil(ended, patienceMs) {
      if (isReturned) return true;
      isCancelled = true;
      return await connection.cancelUntil(ended, patienceMs);
    },
    limitBytes(maxBytes) {
      if (!isReturned) connection.limitBytes(maxBytes);
    },
  };
}
