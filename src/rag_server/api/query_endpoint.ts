import type { SharedDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import type { RouteBindings } from "../../http/listener.ts";
import { readBody } from "../../http/request_body.ts";
import { addressGroup } from "../../identity/rate_limiter.ts";
import { readQuery } from "../query.ts";
import type { RunningPipelines } from "../running_pipelines.ts";
import { answerAtOnce, answerInParts } from "./answer_query.ts";
import { errorReply } from "./rag_errors.ts";
import type { RunningQueries } from "./running_queries.ts";

export interface QueryEndpointOptions {
  readonly pipelines: Pick<RunningPipelines, "find">;
  readonly runningQueries: RunningQueries;
  /** How long a query may run, its stream included; 0 is for ever. */
  readonly requestTimeoutMs: number;
  /** How long a body may take to arrive. */
  readonly bodyTimeout: SharedDeadline;
  /** Told of each question to a pipeline: `ok`, `client_left` or the error's code in small letters. */
  readonly onQueryEnded?: ((pipeline: string, result: string, elapsedMs: number) => void) | undefined;
  readonly logger: Logger;
}

const maxBytes = 1024 * 1024;
const namedCharacters = 100;

/**
 * `POST /v1/pipelines/{name}`. Any Content-Type is taken, as `curl -d` sends another than it holds. All that can be
 * checked of a request is checked before the pipeline hears of it. The request's bindings note which pipeline was asked.
 */
export function createQueryEndpoint(
  options: QueryEndpointOptions,
): (request: Request, name: string, bindings: RouteBindings) => Promise<Response> {
  const { pipelines, runningQueries, requestTimeoutMs, bodyTimeout } = options;

  return async (request, name, bindings) => {
    if (pipelines.find(name) === undefined) return notFound(name);
    bindings.logFields = { pipeline: name };
    const body = await readBody(request, { maxBytes, timeout: bodyTimeout });
    if (body.kind === "too_large") {
      return errorReply({ code: "REQUEST_TOO_LARGE", message: "the body: expected at most 1 MiB" });
    }
    if (body.kind !== "text") return invalid(`the body: ${bodyFaults[body.kind]}`);
    const read = readQuery(body.text);
    if (read.kind === "fault") return invalid(read.message);
    // a body may take its time, and pipelines that were replaced meanwhile have ended
    const pipeline = pipelines.find(name);
    if (pipeline === undefined) return notFound(name);

    const { requestId, span } = bindings;
    const logger = options.logger.with({ request: requestId, ...(span && { trace_id: span.traceId }) });
    // the one place where `include_sources` meets the pipeline's `allow_include_sources`
    const includeSources = read.includeSources && pipeline.allowsSources;
    if (read.includeSources && !includeSources) {
      logger.info("Sources were asked for and left out: the pipeline does not permit them", {
        pipeline: name,
      });
    }
    const running = runningQueries.begin(request.signal, requestTimeoutMs);
    const query = { ...read.query, address: addressGroup(bindings.peer), signal: running.signal, span };
    const answer = read.stream ? answerInParts : answerAtOnce;
    const startedAt = performance.now();
    let hasEnded = false;
    const onEnded = (result: string) => {
      if (!hasEnded) options.onQueryEnded?.(pipeline.name, result, performance.now() - startedAt);
      hasEnded = true;
    };
    return await answer({ pipeline, query, includeSources, running, onEnded, logger });
  };
}

const bodyFaults = {
  not_utf8: "expected JSON in UTF-8",
  broken: "it did not arrive completely",
} as const;

function notFound(name: string): Response {
  const shown = JSON.stringify(name.slice(0, namedCharacters));
  return errorReply({ code: "PIPELINE_NOT_FOUND", message: `there is no pipeline ${shown}` });
}

function invalid(message: string): Response {
  return errorReply({ code: "INVALID_REQUEST", message });
}
