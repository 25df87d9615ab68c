import { AttemptFailure } from "./attempt_failure.ts";

/** Bounds one attempt in time and ends all that hangs on its signal. */
export interface AttemptTimer {
  /** Aborted by the caller, and with an `AttemptFailure` by a limit that passed. */
  readonly signal: AbortSignal;
  elapsedMs(): number;
  /** Something arrived. */
  hear(): void;
  /** The limit on the whole attempt holds no longer. */
  lift(): void;
  /** Waits for what the provider owes, at most so long. */
  awaitAtMost<T>(ms: number, owed: Promise<T>): Promise<T>;
  /** Lets go of the caller's signal, and of the limit. */
  end(): void;
}

const longestTimerMs = 2 ** 31 - 1;

/**
 * Starts an attempt's time.
 * @param caller ends the attempt early, with its reason
 * @param totalMs of the whole attempt, in milliseconds; Infinity: no limit
 * @param hear told of all that arrives
 */
export function createAttemptTimer(
  caller: AbortSignal,
  totalMs: number,
  hear = () => {},
): AttemptTimer {
  const controller = new AbortController();
  const startedAt = performance.now();
  const abortWithCaller = () => controller.abort(caller.reason);
  if (caller.aborted) abortWithCaller();
  caller.addEventListener("abort", abortWithCaller, { once: true });
  const stopTotal = startTimer(totalMs, `no reply within ${Math.round(totalMs)} ms`);

  function startTimer(ms: number, message: string): () => void {
    if (ms > longestTimerMs) return () => {};
    const expire = () => controller.abort(new AttemptFailure("timeout", message, { isPassing: true }));
    const timer = setTimeout(expire, Math.max(0, ms));
    return () => clearTimeout(timer);
  }

  return {
    signal: controller.signal,
    elapsedMs: () => Math.round(performance.now() - startedAt),
    hear,
    lift: stopTotal,
    async awaitAtMost(ms, owed) {
      const stop = startTimer(ms, `nothing arrived for ${ms} ms`);
      try {
        return await owed;
      } finally {
        stop();
      }
    },
    end() {
      stopTotal();
      caller.removeEventListener("abort", abortWithCaller);
    },
  };
}
