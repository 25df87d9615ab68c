/** The promise's outcome, or a rejection with the signal's reason as soon as that aborts. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** The reason of a signal that aborted because its time was up. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
  constructor() {
    super("no answer in time");
  }
}

/**
 * Runs a task with a signal that aborts when the given one does, and after `timeoutMs` milliseconds with a
 * {@linkcode DeadlineError}; 0 is no bound.
 */
export async function withDeadline<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const inner = new AbortController();
  const abort = () => inner.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  const timer = timeoutMs > 0 ? setTimeout(() => inner.abort(new DeadlineError()), timeoutMs) : undefined;
  try {
    return await task(inner.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}
