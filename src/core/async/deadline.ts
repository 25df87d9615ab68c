import { AppError } from "../app_error.ts";

/** The longest that a timer of the runtime waits, 25 days; one for longer would fire at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** Calls `expire` after so many milliseconds; 0 or more than 25 days: never. @returns what stops the timer */
export function startTimer(ms: number, expire: () => void): () => void {
  if (ms === 0 || ms > longestTimerMs) return () => {};
  const timer = setTimeout(expire, ms);
  return () => clearTimeout(timer);
}

export type RestartableTimer = ReturnType<typeof createRestartableTimer>;

/**
 * A timer for what is begun far more often than it takes too long: to start and to stop it costs next to nothing. The runtime's
 * timer under it goes on when it is stopped, and is set anew only where it would come too late.
 */
export function createRestartableTimer() {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let firesAt = Infinity;
  let endsAt = Infinity;
  let onEnd = () => {};
  let isClosed = false;

  function fireAfter(ms: number): void {
    clearTimeout(timer);
    firesAt = performance.now() + ms;
    timer = setTimeout(fire, ms);
    Deno.unrefTimer(timer);
  }

  function fire(): void {
    firesAt = Infinity;
    const leftMs = endsAt - performance.now();
    if (leftMs > 0) {
      if (leftMs < Infinity) fireAfter(leftMs);
      return;
    }
    endsAt = Infinity;
    onEnd();
  }

  return {
    /** Calls `expire` after so many milliseconds, in place of what was started before; more than 25 days: never. */
    start(ms: number, expire: () => void): void {
      onEnd = expire;
      endsAt = isClosed || ms > longestTimerMs ? Infinity : performance.now() + ms;
      if (endsAt < firesAt) fireAfter(ms);
    },
    stop(): void {
      endsAt = Infinity;
    },
    /** Stops it for good. */
    close(): void {
      isClosed = true;
      endsAt = Infinity;
      clearTimeout(timer);
    },
  };
}

export type Deadline = ReturnType<typeof createDeadline>;

/**
 * The moment at which work is given up. Disposing of it stops the timer, and lets go of the caller's signal.
 *
 * @param timeoutMs from now; 0 or more than 25 days: no limit
 */
export function createDeadline(
  timeoutMs: number,
  { signal, reason = outOfTime }: {
    /** The caller's. */
    readonly signal?: AbortSignal | undefined;
    /** Optional: what to abort with when the time is up; the default is a `DOMException` named `TimeoutError`. */
    readonly reason?: () => unknown;
  } = {},
) {
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  const limit = (ms: number, reason: () => unknown) => startTimer(ms, () => controller.abort(reason()));
  const lift = limit(timeoutMs, reason);
  return {
    /** Aborts when the caller's does, and with a limit's own reason when that has passed. */
    signal: controller.signal,
    /** Sets a further limit, counted from now as in `createDeadline`. @returns what lifts it, which must be called */
    limit,
    /** Lifts the first limit. */
    lift,
    [Symbol.dispose](): void {
      lift();
      signal?.removeEventListener("abort", abort);
    },
  };
}

/**
 * Runs a task with a signal that aborts when the given one does, and after `timeoutMs` milliseconds with `reason`, as in
 * {@linkcode createDeadline}. A task that does not look at its signal is not cut short: see `untilAborted`.
 */
export async function withDeadline<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  task: (signal: AbortSignal) => Promise<T>,
  reason?: () => unknown,
): Promise<T> {
  using deadline = createDeadline(timeoutMs, { signal, ...(reason && { reason }) });
  return await task(deadline.signal);
}

/** Waits so many milliseconds. @throws the signal's reason, as soon as it aborts */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Whether the promise resolves within so many milliseconds; rejects where it rejects in that time. */
export async function settlesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  try {
    return await Promise.race([promise.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a signal's reason, or what was thrown for it, says that the time was up. */
export function isTimeout(reason: unknown): boolean {
  return reason instanceof AppError
    ? reason.code === "timeout"
    : reason instanceof Error && reason.name === "TimeoutError";
}

function outOfTime(): DOMException {
  return new DOMException("no answer in time", "TimeoutError");
}

export type SharedDeadline = ReturnType<typeof createSharedDeadline>;

const tickMs = 1_000;

/**
 * One bound for many short waits, by one timer: a timer each would cost more than most of them. It alone does not keep the
 * process alive.
 */
export function createSharedDeadline(timeoutMs: number) {
  // in the order of their ends
  const waits = new Set<Wait>();
  // counted, since to ask for the time costs more than all else here
  let ticks = 0;
  const ticksOfWait = Math.ceil(timeoutMs / tickMs) + 1;

  const timer = setInterval(() => {
    ticks++;
    for (const wait of waits) {
      if (wait.lastTick > ticks) return;
      waits.delete(wait);
      wait.expire?.();
    }
  }, tickMs);
  Deno.unrefTimer(timer);

  return {
    /** What `work` resolves with, or `late` where it takes longer than the bound in whole seconds, by up to one more. */
    race<T, L>(work: Promise<T>, late: L): Promise<T | L> {
      return new Promise((resolve, reject) => {
        const wait: Wait = { lastTick: ticks + ticksOfWait, expire: () => resolve(late) };
        waits.add(wait);
        const settle = <V>(how: (value: V) => void) => (value: V) => {
          waits.delete(wait);
          // V8 keeps what was in a set until the old generation is collected, once the set is in that
          wait.expire = undefined;
          how(value);
        };
        work.then(settle(resolve), settle(reject));
      });
    },
    close: () => clearInterval(timer),
  };
}

interface Wait {
  readonly lastTick: number;
  /** Absent once the work has ended. */
  expire: (() => void) | undefined;
}
