import { AppError, type ErrorCode } from "../../core/app_error.ts";
import { startTimer } from "../../core/async/deadline.ts";
import { CallEnded } from "../../core/async/abort.ts";
import type { Logger } from "../../core/logger.ts";
import { endOf, type Principal, principalKey } from "../../core/principal.ts";
import { ProviderError } from "../../llm/provider_error.ts";
import { accessEndedError, internalError, pipelineError, type RagError, timeoutError } from "./rag_errors.ts";

/** Why a query ended before its answer was complete. */
export type EarlyEnd = "client_left" | "timeout" | "stopping" | "access_ended";

/** A query under way. */
export interface RunningQuery {
  /** For all that works on the answer. */
  readonly signal: AbortSignal;
  /** Undefined as long as nothing ended the query early. */
  readonly endedBy: EarlyEnd | undefined;
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

export type RunningQueries = ReturnType<typeof createRunningQueries>;

const reasons: Readonly<Record<EarlyEnd, () => unknown>> = {
  client_left: () => new CallEnded("its caller disconnected", "the client disconnected"),
  timeout: () => new AppError("timeout", "the request took too long"),
  stopping: () => new CallEnded("the server stops"),
  access_ended: () => new CallEnded("its token or session has ended"),
};

/** The queries under way: a stop of the server lets them finish for a while, and then cuts them off. */
export function createRunningQueries() {
  const enders = new Map<(why: EarlyEnd) => void, Principal>();

  /** Starts the clock; `clientSignal` aborts when the client leaves. A timeout of 0 is none. */
  function begin(clientSignal: AbortSignal, timeoutMs: number, caller: Principal): RunningQuery {
    const controller = new AbortController();
    const { signal } = controller;
    let giveUp = (_reason: unknown) => {};

    function end(why: EarlyEnd): void {
      if (!enders.has(end)) return;
      finish();
      running.endedBy = why;
      controller.abort(reasons[why]());
      giveUp(signal.reason);
    }
    function finish(): void {
      enders.delete(end);
      stopTimer();
      clientSignal.removeEventListener("abort", leave);
    }
    const leave = () => end("client_left");
    const running: RunningQuery & { endedBy: EarlyEnd | undefined } = {
      signal,
      endedBy: undefined,
      wait: (work) =>
        new Promise((resolve, reject) => {
          if (signal.aborted) return reject(signal.reason);
          giveUp = reject;
          work().then(resolve, reject);
        }),
      leave,
      finish,
    };
    const accessMs = Math.max(1, endOf(caller) - Date.now());
    const stopTimer = timeoutMs !== 0 && timeoutMs <= accessMs
      ? startTimer(timeoutMs, () => end("timeout"))
      : startTimer(accessMs, () => end("access_ended"));
    enders.set(end, caller);
    if (clientSignal.aborted) leave();
    else clientSignal.addEventListener("abort", leave);
    return running;
  }

  return {
    begin,
    /** Ends all of them: a stream with an error event, another query with an error. */
    cutOff(): void {
      for (const end of [...enders.keys()]) end("stopping");
    },
    /** Ends all of a principal, whose token or session has ended: a stream with an error event, another with an error. */
    endPrincipal(principal: Principal): void {
      const key = principalKey(principal);
      for (const [end, caller] of [...enders]) if (principalKey(caller) === key) end("access_ended");
    },
  };
}

const refusals: readonly ErrorCode[] = ["overloaded", "quota_exceeded", "forbidden"];

/** What to tell the client of an error, after the log has heard the whole; nothing where the client disconnected. */
export function queryError(
  error: unknown,
  { running, pipeline, logger }: {
    readonly running: RunningQuery;
    readonly pipeline: { readonly name: string };
    readonly logger: Logger;
  },
): RagError | undefined {
  const fields = { pipeline: pipeline.name };
  switch (running.endedBy) {
    case "client_left":
      logger.debug("The client disconnected before the answer", fields);
      return undefined;
    case "timeout":
      logger.warn("A query took too long", fields);
      return timeoutError;
    case "access_ended":
      logger.info("A query was cut off because its token or session has ended", fields);
      return accessEndedError;
    case "stopping":
      logger.warn("A query was cut off because the server stops", fields);
      return internalError;
  }
  const told = pipelineError(error);
  // callers decide how many of them there are
  if (error instanceof AppError && refusals.includes(error.code)) {
    logger.debug("A query was refused", { ...fields, error });
  } else if (told.code !== "INVALID_REQUEST") {
    logger.error("A query failed", { ...fields, error, ...detailOf(error) });
  }
  return told;
}

function detailOf(error: unknown) {
  if (error instanceof ProviderError) return { detail: error.detail };
  // where one that is expected was thrown tells nobody anything
  if (error instanceof AppError && error.code !== "internal") return { cause: error.cause };
  return error instanceof Error ? { cause: error.cause, stack: error.stack } : {};
}
