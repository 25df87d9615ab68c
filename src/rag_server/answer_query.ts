import type { Logger } from "../core/logger.ts";
import type { Pipeline } from "./pipelines.ts";
import type { PipelineEvent, PipelineQuery, Source } from "./query.ts";
import { ProviderError } from "./provider_failure.ts";
import { eventStreamReply } from "../http/reply_body.ts";
import {
  type Failure,
  failureReply,
  internalFailure,
  jsonReply,
  pipelineFailure,
  timeoutFailure,
} from "./rag_reply.ts";
import type { QueryReply, StreamEvent } from "./rag_reply_schemas.ts";
import type { RunningQuery } from "./running_queries.ts";

export interface AnswerOptions {
  readonly pipeline: Pipeline;
  readonly query: PipelineQuery;
  readonly running: RunningQuery;
  /** Names the request in the log and in the reply of an error. */
  readonly requestId: string;
  readonly logger: Logger;
}

/** Answers a query in one piece. */
export async function answerAtOnce(options: AnswerOptions): Promise<Response> {
  const { pipeline, query, running, requestId } = options;
  try {
    const { answer, sources, tokensUsed } = await running.wait(() => pipeline.answer(query));
    const reply: QueryReply = { answer, ...sourcesOf(query, sources), tokens_used: tokensUsed };
    return jsonReply(JSON.stringify(reply));
  } catch (error) {
    const failure = failureOf(error, options);
    return failure === undefined ? noReply() : failureReply(failure, { "x-request-id": requestId });
  } finally {
    running.finish();
  }
}

/**
 * Answers a query in parts, as server-sent events. It waits for the first one, so that a filter that does not fit the
 * tables is refused with a status of its own.
 */
export async function answerInParts(options: AnswerOptions): Promise<Response> {
  const { running, requestId } = options;
  const steps = readSteps(options);
  const first = await steps.next();
  if (first.kind === "left") return noReply();
  if (first.kind === "failed" && first.failure.code === "INVALID_REQUEST") {
    return failureReply(first.failure, { "x-request-id": requestId });
  }
  let upcoming: Step | undefined = first;
  return eventStreamReply({
    async next() {
      const step: Step = upcoming ?? await steps.next();
      upcoming = undefined;
      return eventOf(step);
    },
    onLeave: running.leave,
  });
}

type Step =
  | { readonly kind: "event"; readonly event: StreamEvent }
  | { readonly kind: "failed"; readonly failure: Failure }
  /** The last event has been, or the client has gone. */
  | { readonly kind: "left" };

/** The steps of an answer: chunks, then one `done` or failure, then nothing. */
function readSteps(options: AnswerOptions): { next(): Promise<Step> } {
  const { pipeline, query, running } = options;
  const events = eventsOf(pipeline, query);
  let isOver = false;
  // a pipeline that waits for something ends when it notices the signal; nobody waits for that
  const release = () => void events.return(undefined).catch(() => {});
  running.signal.addEventListener("abort", release);

  async function step(): Promise<Step> {
    try {
      const result = await running.wait(() => events.next());
      if (result.done) throw new Error("The pipeline ended its answer without the last event");
      return { kind: "event", event: wireEvent(query, result.value) };
    } catch (error) {
      const failure = failureOf(error, options);
      return failure === undefined ? { kind: "left" } : { kind: "failed", failure };
    }
  }

  return {
    async next() {
      if (isOver) return { kind: "left" };
      const next = await step();
      isOver = next.kind !== "event" || next.event.type === "done";
      if (isOver) {
        running.finish();
        release();
      }
      return next;
    },
  };
}

/** Has what the pipeline throws at once fail like what it throws later. */
async function* eventsOf(pipeline: Pipeline, query: PipelineQuery): AsyncGenerator<PipelineEvent, void> {
  yield* pipeline.stream(query);
}

function wireEvent(query: PipelineQuery, event: PipelineEvent): StreamEvent {
  if (event.type === "chunk") return { type: "chunk", content: event.content };
  if (!query.includeSources) return { type: "done" };
  return { type: "done", ...sourcesOf(query, event.sources), tokens_used: event.tokensUsed };
}

function eventOf(step: Step): StreamEvent | undefined {
  if (step.kind === "event") return step.event;
  return step.kind === "failed" ? { type: "error", error: step.failure.message } : undefined;
}

function sourcesOf({ includeSources }: PipelineQuery, sources: readonly Source[] = []) {
  if (!includeSources) return {};
  return {
    sources: sources.map(({ id, content, score }) => ({
      ...(id === undefined ? {} : { id }),
      content,
      score,
    })),
  };
}

/** What to tell the client of a failure, after the log has heard the whole; nothing where the client has gone. */
function failureOf(error: unknown, { running, pipeline, logger }: AnswerOptions): Failure | undefined {
  const fields = { pipeline: pipeline.name };
  switch (running.ending) {
    case "client_left":
      logger.debug("The client left before the answer", fields);
      return undefined;
    case "timeout":
      logger.warn("A query took too long", fields);
      return timeoutFailure;
    case "stopping":
      logger.warn("A query was cut off because the server stops", fields);
      return internalFailure;
  }
  const failure = pipelineFailure(error);
  if (failure.code !== "INVALID_REQUEST") {
    logger.error("A query failed", { ...fields, error, ...detailOf(error) });
  }
  return failure;
}

function detailOf(error: unknown) {
  if (error instanceof ProviderError) return { detail: error.detail };
  return error instanceof Error ? { cause: error.cause, stack: error.stack } : {};
}

/** For a client that has gone; nobody receives it. */
function noReply(): Response {
  return new Response(null, { status: 499 });
}
