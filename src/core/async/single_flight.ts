import { AppError } from "../app_error.ts";
import { untilAborted } from "./abort.ts";

/** One piece of work at a time, whose result all get who ask for it while it is done. */
export interface SingleFlight<T> {
  /**
   * The result of the work under way, or of `work` where there is none. A caller that aborts leaves the others alone;
   * when the last has gone, the work's own signal aborts. Where the work was another caller's and failed, which may be
   * due to that caller's connection, `work` is tried too.
   *
   * @throws what the work throws, or the signal's reason
   */
  join(signal: AbortSignal, work: Work<T>): Promise<T>;
  /** As `join`, but only work that begins after this call, and by this method, will do. */
  joinNext(signal: AbortSignal, work: Work<T>): Promise<T>;
  /** As `join`, for who stays to the end: all that share it get the same outcome, a failure too. */
  share(work: () => Promise<T>): Promise<T>;
  /** Aborts what is under way. */
  stop(): void;
}

type Work<T> = (signal: AbortSignal) => Promise<T>;

interface Flight<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  /** Of `joinNext`. */
  readonly isNew: boolean;
  readonly number: number;
  passengers: number;
}

export function createSingleFlight<T>(): SingleFlight<T> {
  let current: Flight<T> | undefined;
  let lastNumber = 0;

  function start(work: Work<T>, isNew: boolean): Flight<T> {
    const stop = new AbortController();
    const flight = { result: work(stop.signal), stop, isNew, number: ++lastNumber, passengers: 0 };
    current = flight;
    const end = () => {
      if (current === flight) current = undefined;
    };
    flight.result.then(end, end);
    return flight;
  }

  async function board(flight: Flight<T>, signal: AbortSignal): Promise<T> {
    flight.passengers++;
    try {
      return await untilAborted(flight.result, signal);
    } finally {
      flight.passengers--;
      if (flight.passengers === 0 && current === flight) {
        current = undefined;
        flight.stop.abort(signal.reason);
      }
    }
  }

  async function boardOrStart(signal: AbortSignal, work: Work<T>, isNew: boolean): Promise<T> {
    const others = current;
    if (others === undefined) return await board(start(work, isNew), signal);
    try {
      return await board(others, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      return await board(current ?? start(work, isNew), signal);
    }
  }

  return {
    join: async (signal, work) => {
      signal.throwIfAborted();
      return await boardOrStart(signal, work, false);
    },
    async joinNext(signal, work) {
      signal.throwIfAborted();
      const before = lastNumber;
      while (current !== undefined && !(current.isNew && current.number > before)) {
        await untilAborted(current.result.then(() => {}, () => {}), signal);
      }
      return await boardOrStart(signal, work, true);
    },
    share(work) {
      const flight = current ?? start(work, false);
      flight.passengers = Infinity;
      return flight.result;
    },
    stop() {
      current?.stop.abort(new AppError("unavailable", "Cannot finish reading: the server is stopping"));
      current = undefined;
    },
  };
}
