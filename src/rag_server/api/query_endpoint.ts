import type { SharedDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import type { Principal } from "../../core/principal.ts";
import type { Quotas } from "../../core/quotas/quotas.ts";
import type { RouteBindings } from "../../http/listener.ts";
import { readBody } from "../../http/request_body.ts";
import { accessTo } from "../../identity/access_rules.ts";
import { UntoldCallerError } from "../../postgres/read/untold_caller.ts";
import { readQuery } from "../query.ts";
import type { RunningPipelines } from "../running_pipelines.ts";
import { answerAtOnce, answerInParts, type AnswerReport, noReply, resultOf } from "./answer_query.ts";
import { bodyError, errorReply, pipelineError, type RagError } from "./rag_errors.ts";
import { queryError, type RunningQueries } from "./running_queries.ts";

export interface QueryEndpointOptions {
  readonly pipelines: Pick<RunningPipelines, "find">;
  readonly runningQueries: RunningQueries;
  /** How long a query may run, its stream included; 0 is for ever. */
  readonly requestTimeoutMs: number;
  /** How long a body may take to arrive. */
  readonly bodyTimeout: SharedDeadline;
  /** Counts questions; absent: nothing does. */
  readonly quotas?: Pick<Quotas, "isOn" | "begin"> | undefined;
  /** Refuses a query that is to begin, where no account could be kept of it. */
  readonly admit?: (() => void) | undefined;
  /** The reply, or a stream's last event, waits for it, and is an error where it throws. */
  readonly onQueryEnded?: ((report: QueryReport) => Promise<void>) | undefined;
  readonly logger: Logger;
}

/** A question to a pipeline that has ended. */
export interface QueryReport {
  /** The name in the request. */
  readonly pipeline: string;
  /** Optional: only where the request could be read and the caller may use its pipeline. */
  readonly question?: string | undefined;
  /** What the answer was made of; absent where there was none. */
  readonly answer?: AnswerReport | undefined;
  /** `ok`, `client_left` or the error's code in small letters. */
  readonly result: string;
  /** Why the database cannot be told who asks; absent for any other end. */
  readonly reason?: string | undefined;
  readonly elapsedMs: number;
  readonly caller: Principal;
  /** The client's. */
  readonly address: string;
  readonly requestId: string;
}

/** Who sent a request, and from where. */
export interface QueryCaller {
  readonly principal: Principal;
  readonly address: string;
}

const maxBytes = 1024 * 1024;
const namedCharacters = 100;

/**
 * `POST /v1/pipelines/{name}`. Any Content-Type is taken, as `curl -d` sends another than it holds. All that can be
 * checked of a request is checked before the pipeline hears of it. The request's bindings note which pipeline was asked.
 */
export function createQueryEndpoint(
  options: QueryEndpointOptions,
): (request: Request, name: string, caller: QueryCaller, bindings: RouteBindings) => Promise<Response> {
  const { pipelines, runningQueries, requestTimeoutMs, bodyTimeout, quotas } = options;

  return async (request, name, { principal, address }, bindings) => {
    let startedAt = performance.now();
    async function report(
      ended: Pick<QueryReport, "question" | "answer" | "result" | "reason">,
    ): Promise<void> {
      try {
        await options.onQueryEnded?.({
          ...ended,
          pipeline: name.slice(0, namedCharacters),
          elapsedMs: performance.now() - startedAt,
          caller: principal,
          address,
          requestId: bindings.requestId,
        });
      } catch (unaccounted) {
        // an error shows no data
        if (ended.result === "ok") throw unaccounted;
      }
    }
    async function refuse(error: RagError): Promise<Response> {
      await report({ result: resultOf(error) });
      return errorReply(error);
    }
    try {
      options.admit?.();
    } catch (unaccountable) {
      return errorReply(pipelineError(unaccountable));
    }
    const find = () => {
      const pipeline = pipelines.find(name);
      return pipeline !== undefined && accessTo(principal, pipeline).kind === "granted"
        ? pipeline
        : undefined;
    };
    if (find() === undefined) return await refuse(notFound(name));
    bindings.logFields = { pipeline: name };
    const body = await readBody(request, { maxBytes, timeout: bodyTimeout });
    if (body.kind !== "text") return await refuse(bodyError(body.kind, "1 MiB"));
    const read = readQuery(body.text);
    if (read.kind === "fault") return await refuse({ code: "INVALID_REQUEST", message: read.message });
    // a body may take its time, and pipelines that were replaced meanwhile have ended
    const pipeline = find();
    if (pipeline === undefined) return await refuse(notFound(name));

    const { requestId, span } = bindings;
    const logger = options.logger.with({ request: requestId, ...(span && { trace_id: span.traceId }) });
    // the one place where `include_sources` meets the pipeline's `allow_include_sources`
    const includeSources = read.includeSources && pipeline.allowsSources;
    if (read.includeSources && !includeSources) {
      logger.info("Sources were asked for and left out: the pipeline does not permit them", {
        pipeline: name,
      });
    }
    const running = runningQueries.begin(request.signal, requestTimeoutMs, principal);
    const query = { ...read.query, caller: principal, signal: running.signal, ...(span && { span }) };
    const answer = read.stream ? answerInParts : answerAtOnce;
    startedAt = performance.now();
    let hasEnded = false;
    let leave = () => {};
    const onEnded = async (result: string, answer?: AnswerReport, reason?: string) => {
      leave();
      leave = () => {};
      if (hasEnded) return;
      hasEnded = true;
      await report({ question: read.query.query, answer, result, reason });
    };
    try {
      pipeline.checkCaller(principal);
      // it heeds the signal itself: a place that comes at the same moment is not lost
      if (quotas?.isOn) leave = await quotas.begin(principal, running.signal);
    } catch (thrown) {
      const error = queryError(thrown, { running, pipeline, logger });
      await onEnded(
        resultOf(error),
        undefined,
        thrown instanceof UntoldCallerError ? thrown.reason : undefined,
      );
      running.finish();
      return error === undefined ? noReply() : errorReply(error);
    }
    // a client that stops reading keeps its place only until the time is over
    running.signal.addEventListener("abort", () => {
      leave();
      leave = () => {};
    }, { once: true });
    return await answer({ pipeline, query, includeSources, running, onEnded, logger });
  };
}

function notFound(name: string): RagError {
  const shown = JSON.stringify(name.slice(0, namedCharacters));
  return { code: "PIPELINE_NOT_FOUND", message: `there is no pipeline ${shown}` };
}
