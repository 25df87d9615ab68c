import { AppError } from "../app_error.ts";
import { untilAborted } from "./abort.ts";

export type SingleFlight<T> = ReturnType<typeof createSingleFlight<T>>;

type Work<T> = (signal: AbortSignal) => Promise<T>;

interface Run<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  /** Begun by `joinNext`. */
  readonly isNew: boolean;
  readonly number: number;
  callers: number;
}

/** One piece of work at a time, whose result all get who ask for it while it is done. */
export function createSingleFlight<T>() {
  let current: Run<T> | undefined;
  let lastNumber = 0;

  function start(work: Work<T>, isNew: boolean): Run<T> {
    const stop = new AbortController();
    const run = { result: work(stop.signal), stop, isNew, number: ++lastNumber, callers: 0 };
    current = run;
    const end = () => {
      if (current === run) current = undefined;
    };
    run.result.then(end, end);
    return run;
  }

  async function resultOf(run: Run<T>, signal: AbortSignal): Promise<T> {
    run.callers++;
    try {
      return await untilAborted(run.result, signal);
    } finally {
      run.callers--;
      if (run.callers === 0 && current === run) {
        current = undefined;
        run.stop.abort(signal.reason);
      }
    }
  }

  async function joinOrStart(signal: AbortSignal, work: Work<T>, isNew: boolean): Promise<T> {
    const others = current;
    if (others === undefined) return await resultOf(start(work, isNew), signal);
    try {
      return await resultOf(others, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      return await resultOf(current ?? start(work, isNew), signal);
    }
  }

  return {
    /**
     * The result of the work under way, or of `work` where there is none. A caller that aborts leaves the others alone;
     * when the last has gone, the work's own signal aborts. Where another caller began the work and it throws, which may be
     * due to that caller's connection, `work` is tried too.
     *
     * @throws what the work throws, or the signal's reason
     */
    async join(signal: AbortSignal, work: Work<T>): Promise<T> {
      signal.throwIfAborted();
      return await joinOrStart(signal, work, false);
    },
    /** As `join`, but only work that begins after this call, and by this method, will do. */
    async joinNext(signal: AbortSignal, work: Work<T>): Promise<T> {
      signal.throwIfAborted();
      const before = lastNumber;
      while (current !== undefined && !(current.isNew && current.number > before)) {
        await untilAborted(current.result.then(() => {}, () => {}), signal);
      }
      return await joinOrStart(signal, work, true);
    },
    /** As `join`, for callers that stay to the end: all of them get the same result or the same error. */
    share(work: () => Promise<T>): Promise<T> {
      const run = current ?? start(work, false);
      run.callers = Infinity;
      return run.result;
    },
    /** Aborts what is under way. */
    stop(): void {
      current?.stop.abort(new AppError("unavailable", "Cannot finish reading: the server is stopping"));
      current = undefined;
    },
  };
}
