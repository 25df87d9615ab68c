import { AppError } from "../app_error.ts";
import { untilAborted } from "./abort.ts";

/** One piece of work at a time, whose result all get who ask for it while it is done. */
export interface SingleFlight<T> {
  /**
   * The result of the work under way, or of `work` where there is none. A caller that aborts leaves the others alone;
   * when the last has gone, the work's own signal aborts. Where another caller began the work and it throws, which may be
   * due to that caller's connection, `work` is tried too.
   *
   * @throws what the work throws, or the signal's reason
   */
  join(signal: AbortSignal, work: Work<T>): Promise<T>;
  /** As `join`, but only work that begins after this call, and by this method, will do. */
  joinNext(signal: AbortSignal, work: Work<T>): Promise<T>;
  /** As `join`, for callers that stay to the end: all of them get the same result or the same error. */
  share(work: () => Promise<T>): Promise<T>;
  /** Aborts what is under way. */
  stop(): void;
}

type Work<T> = (signal: AbortSignal) => Promise<T>;

interface Run<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  /** Begun by `joinNext`. */
  readonly isNew: boolean;
  readonly number: number;
  callers: number;
}

export function createSingleFlight<T>(): SingleFlight<T> {
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
    async join(signal, work) {
      signal.throwIfAborted();
      return await joinOrStart(signal, work, false);
    },
    async joinNext(signal, work) {
      signal.throwIfAborted();
      const before = lastNumber;
      while (current !== undefined && !(current.isNew && current.number > before)) {
        await untilAborted(current.result.then(() => {}, () => {}), signal);
      }
      return await joinOrStart(signal, work, true);
    },
    share(work) {
      const run = current ?? start(work, false);
      run.callers = Infinity;
      return run.result;
    },
    stop() {
      current?.stop.abort(new AppError("unavailable", "Cannot finish reading: the server is stopping"));
      current = undefined;
    },
  };
}
