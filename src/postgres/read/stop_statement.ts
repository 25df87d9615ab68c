import { onAbort, whyEnded } from "../../core/async/abort.ts";
import type { Logger } from "../../core/logger.ts";
import type { StatementError } from "./statement_error.ts";
import type { Lease } from "../pool/principal_pool.ts";

/** How much longer than its timeout a statement may run before its connection is given up. */
const graceMs = 5_000;

interface Stopped {
  readonly ok: false;
  readonly error: StatementError;
}

/**
 * Runs `work` on a connection, which is given back after it. Where the caller aborts, or the server does not keep to the
 * timeout, the server is asked to cancel, the connection is discarded, and the result says which of the two it was.
 */
export async function untilStopped<T>(
  lease: Lease,
  { timeoutMs, signal, onStop, logger }: {
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    /** Called where the server is asked to cancel. */
    readonly onStop: () => void;
    readonly logger: Logger;
  },
  work: (isStopped: () => boolean) => Promise<T>,
): Promise<T | Stopped> {
  const stopped = Promise.withResolvers<Stopped>();
  let isStopped = false;
  const stop = async (error: StatementError) => {
    if (isStopped) return;
    isStopped = true;
    onStop();
    logger.debug("a statement is stopped", { timedOut: error.kind === "timeout" });
    await lease.cancelUntil(working);
    lease.discard();
    stopped.resolve({ ok: false, error });
  };
  const abort = () => void stop(cancelledError(signal));
  lease.limitTime(timeoutMs + graceMs, () => void stop(overdueError));
  const working = work(() => isStopped);
  using _aborting = onAbort(signal, abort);
  try {
    const result = await Promise.race([working, stopped.promise]);
    return isStopped ? await stopped.promise : result;
  } catch (error) {
    if (isStopped) return await stopped.promise;
    throw error;
  } finally {
    if (!isStopped) lease.release();
  }
}

/** The error of a statement whose caller has aborted. */
export function cancelledError(signal: AbortSignal): StatementError {
  return { kind: "cancelled", message: `the statement was cancelled because ${whyEnded(signal)}` };
}

const overdueError: StatementError = {
  kind: "timeout",
  message: "the statement was stopped: it ran past the statement timeout",
};
