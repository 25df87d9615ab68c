import { createDeadline } from "../../core/async/deadline.ts";
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
  const startedAt = performance.now();
  const overdue = (message: string) => () => new AttemptFailure("timeout", message, { isPassing: true });
  const reason = overdue(`no reply within ${Math.round(totalMs)} ms`);
  // time that was up before is no absence of a limit
  const deadline = createDeadline(Math.max(1, totalMs), { signal: caller, reason });

  return {
    signal: deadline.signal,
    elapsedMs: () => Math.round(performance.now() - startedAt),
    hear,
    lift: deadline.lift,
    async awaitAtMost(ms, owed) {
      const lift = deadline.limit(Math.max(1, ms), overdue(`nothing arrived for ${ms} ms`));
      try {
        return await owed;
      } finally {
        lift();
      }
    },
    end: () => deadline[Symbol.dispose](),
  };
}
