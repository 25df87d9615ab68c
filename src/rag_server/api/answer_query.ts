import type { Logger } from "../../core/logger.ts";
import { eventStreamReply } from "../../http/reply_body.ts";
import type { Pipeline, PipelineEvent, Source } from "../pipeline.ts";
import type { PipelineQuery } from "../query.ts";
import { jsonReply } from "./json_reply.ts";
import { errorReply, type RagError } from "./rag_errors.ts";
import type { QueryReply, StreamEvent } from "./rag_replies.ts";
import { queryError, type RunningQuery } from "./running_queries.ts";

/** Of an answer: the documents in its prompt, and the tokens of all providers. */
export interface AnswerReport {
  readonly sources: readonly Source[];
  readonly tokensUsed: number;
}

export interface QueryToAnswer {
  readonly pipeline: Pipeline;
  readonly query: PipelineQuery;
  /** Whether the client asked for sources and the pipeline permits them. */
  readonly includeSources: boolean;
  readonly running: RunningQuery;
  /**
   * Told `ok`, `client_left` or the error's code in small letters; what it is told first counts. The last of an answer waits
   * for it; where it throws, nothing is answered.
   */
  readonly onEnded: (result: string, answer?: AnswerReport) => Promise<void>;
  readonly logger: Logger;
}

/** Answers a query in one piece. */
export async function answerAtOnce(options: QueryToAnswer): Promise<Response> {
  const { pipeline, query, includeSources, running } = options;
  try {
    const { answer, sources, tokensUsed } = await running.wait(() => pipeline.answer(query));
    await options.onEnded("ok", { sources, tokensUsed });
    const shown = includeSources ? { sources: sources.map(wireSource) } : {};
    return jsonReply(JSON.stringify({ answer, ...shown, tokens_used: tokensUsed } satisfies QueryReply));
  } catch (thrown) {
    const error = queryError(thrown, options);
    await options.onEnded(resultOf(error));
    return error === undefined ? noReply() : errorReply(error);
  } finally {
    running.finish();
  }
}

/**
 * Answers a query in parts, as server-sent events with status 200: any number of `chunk`, then one `done`, or one
 * `error` in its place. A `done` has `sources` and `tokens_used` where sources are included. The reply waits for the
 * first event, so that a filter that does not fit the tables, a server without room and a database that is down have a
 * status of their own.
 */
export async function answerInParts(options: QueryToAnswer): Promise<Response> {
  const { running } = options;
  const steps = readSteps(options);
  const first = await steps.next();
  if (first.kind === "left") return noReply();
  if (first.kind === "error" && hasOwnStatus.includes(first.error.code)) {
    return errorReply(first.error);
  }
  let upcoming: Step | undefined = first;
  return eventStreamReply({
    async next() {
      const step: Step = upcoming ?? await steps.next();
      upcoming = undefined;
      return eventOf(step);
    },
    onLeave() {
      running.leave();
      // nobody may ask for the next step any more
      void options.onEnded("client_left");
    },
  });
}

/** @param error undefined where the client has left */
export function resultOf(error: RagError | undefined): string {
  return error?.code.toLowerCase() ?? "client_left";
}

/** Before anything was sent, a client hears of these by their status. */
const hasOwnStatus: readonly RagError["code"][] = [
  "INVALID_REQUEST",
  "UNAUTHORIZED",
  "QUOTA_EXCEEDED",
  "OVERLOADED",
  "UNAVAILABLE",
];

type Step =
  | { readonly kind: "event"; readonly event: StreamEvent }
  | { readonly kind: "error"; readonly error: RagError }
  /** The last event has been, or the client has gone. */
  | { readonly kind: "left" };

/** The steps of an answer: chunks, then one `done` or one error, then nothing. */
function readSteps(options: QueryToAnswer): { next(): Promise<Step> } {
  const { pipeline, query, includeSources, running } = options;
  const events = eventsOf(pipeline, query);
  let isOver = false;
  let answer: AnswerReport | undefined;
  // a pipeline that is waiting ends when it notices the signal; the reply does not wait for that
  const release = () => void events.return(undefined).catch(() => {});
  running.signal.addEventListener("abort", release);

  async function step(): Promise<Step> {
    try {
      const result = await running.wait(() => events.next());
      if (result.done) throw new Error("The pipeline ended its answer without the last event");
      if (result.value.type === "done") answer = result.value;
      return { kind: "event", event: wireEvent(result.value, includeSources) };
    } catch (thrown) {
      return stepOfError(thrown);
    }
  }

  function stepOfError(thrown: unknown): Step {
    const error = queryError(thrown, options);
    return error === undefined ? { kind: "left" } : { kind: "error", error };
  }

  return {
    async next() {
      if (isOver) return { kind: "left" };
      let next = await step();
      isOver = next.kind !== "event" || next.event.type === "done";
      if (isOver) {
        const result = next.kind === "event"
          ? "ok"
          : resultOf(next.kind === "error" ? next.error : undefined);
        try {
          await options.onEnded(result, answer);
        } catch (unaccounted) {
          next = stepOfError(unaccounted);
        }
        running.finish();
        release();
      }
      return next;
    },
  };
}

/** Makes an error that the pipeline throws at once fail like a later one. */
async function* eventsOf(pipeline: Pipeline, query: PipelineQuery): AsyncGenerator<PipelineEvent, void> {
  yield* pipeline.stream(query);
}

function wireEvent(event: PipelineEvent, includeSources: boolean): StreamEvent {
  if (event.type === "chunk") return { type: "chunk", content: event.content };
  if (!includeSources) return { type: "done" };
  return { type: "done", sources: event.sources.map(wireSource), tokens_used: event.tokensUsed };
}

function eventOf(step: Step): StreamEvent | undefined {
  if (step.kind === "event") return step.event;
  return step.kind === "error" ? { type: "error", error: step.error.message } : undefined;
}

function wireSource({ id, content, score }: Source) {
  return { ...(id !== undefined && { id }), content, score };
}

/** The reply for a client that has disconnected; nobody receives it. */
export function noReply(): Response {
  return new Response(null, { status: 499 });
}
