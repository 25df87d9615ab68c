import { AppError } from "../core/app_error.ts";
import { startTimer } from "../core/async/deadline.ts";
import { CallEnded } from "../core/async/abort.ts";

/** Why a query was ended before its answer was complete. */
export type Ending = "client_left" | "timeout" | "stopping";

/** A query under way. */
export interface RunningQuery {
  /** For all that works on the answer. */
  readonly signal: AbortSignal;
  /** Undefined as long as nothing ended the query early. */
  readonly ending: Ending | undefined;
  /**
   * Does `work` unless the query has ended; rejects at once when it ends, whether or not `work` heeds the signal. One
   * call at a time.
   */
  wait<T>(work: () => Promise<T>): Promise<T>;
  /** The client has gone. */
  leave(): void;
  /** The answer is complete, or there will be none. */
  finish(): void;
}

/** The queries under way, for a stop that lets them finish and then does not. */
export interface RunningQueries {
  /** Starts the clock; `clientSignal` aborts when the client leaves. A timeout of 0 is none. */
  begin(clientSignal: AbortSignal, timeoutMs: number): RunningQuery;
  /** Ends all of them: a stream with an error event, another query with an error. */
  cutOff(): void;
}

const reasons: Readonly<Record<Ending, () => unknown>> = {
  client_left: () => new CallEnded("its caller went away", "the client has gone"),
  timeout: () => new AppError("timeout", "the request took too long"),
  stopping: () => new CallEnded("the server stops"),
};

export function createRunningQueries(): RunningQueries {
  const enders = new Set<(ending: Ending) => void>();

  function begin(clientSignal: AbortSignal, timeoutMs: number): RunningQuery {
    const controller = new AbortController();
    const { signal } = controller;
    let ending: Ending | undefined;
    let giveUp = (_reason: unknown) => {};

    function end(why: Ending): void {
      if (!enders.has(end)) return;
      finish();
      ending = why;
      controller.abort(reasons[why]());
      giveUp(signal.reason);
    }
    function finish(): void {
      enders.delete(end);
      stopTimer();
      clientSignal.removeEventListener("abort", leave);
    }
    const leave = () => end("client_left");
    const stopTimer = startTimer(timeoutMs, () => end("timeout"));
    enders.add(end);
    if (clientSignal.aborted) leave();
    else clientSignal.addEventListener("abort", leave);

    return {
      signal,
      get ending() {
        return ending;
      },
      wait: (work) =>
        new Promise((resolve, reject) => {
          if (signal.aborted) return reject(signal.reason);
          giveUp = reject;
          work().then(resolve, reject);
        }),
      leave,
      finish,
    };
  }

  return {
    begin,
    cutOff() {
      for (const end of [...enders]) end("stopping");
    },
  };
}
