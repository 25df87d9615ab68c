import type { Call, CallContext, Calls } from "../../calls/calls.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { eventStreamReply } from "../../http/reply_body.ts";
import type { Pipeline, PipelineAnswer, PipelineEvent, Source } from "../pipeline.ts";
import type { PipelineQuery } from "../query.ts";
import { jsonReply } from "./json_reply.ts";
import { errorReply, type RagError } from "./rag_errors.ts";
import type { QueryReply, StreamEvent } from "./rag_replies.ts";

/** What an answer was made of: the documents in its prompt, and the tokens of all providers. */
export type AnswerReport = Omit<PipelineAnswer, "answer">;

interface QuestionToAnswer {
  readonly calls: Calls;
  /** The question as a call, but for what runs it. */
  readonly call: Omit<Call<CallContext, AnswerReport>, "read">;
  /** @throws what it is refused for */
  readonly read: () => { readonly pipeline: Pipeline; readonly query: Omit<PipelineQuery, "signal"> };
  readonly timeoutMs: number;
  /** Whether the client asked for sources and the pipeline permits them. */
  readonly includeSources: boolean;
  /** What the client is told of something thrown, which the log hears of; undefined where the client has left. */
  readonly tell: (thrown: unknown) => RagError | undefined;
}

/** Answers a question in one piece. */
export async function answerAtOnce(options: QuestionToAnswer): Promise<Response> {
  const { calls, call, timeoutMs, includeSources, tell } = options;
  try {
    const { answer, sources, tokensUsed } = await calls.run<CallContext, PipelineAnswer>({
      ...call,
      read() {
        const { pipeline, query } = options.read();
        return {
          timeoutMs,
          run: ({ signal }) => untilAborted(pipeline.answer({ ...query, signal }), signal),
        };
      },
    });
    const shown = includeSources ? { sources: sources.map(wireSource) } : {};
    return jsonReply(JSON.stringify({ answer, ...shown, tokens_used: tokensUsed } satisfies QueryReply));
  } catch (thrown) {
    const error = tell(thrown);
    return error === undefined ? noReply() : errorReply(error);
  }
}

/**
 * Answers a question in parts, as server-sent events with status 200: any number of `chunk`, then one `done`, or one
 * `error` in its place. A `done` has `sources` and `tokens_used` where sources are included. The reply waits for the
 * first event, so that a filter that does not fit the tables, a server without room and a database that is down have a
 * status of their own. The pipeline makes an event when the client can take it.
 */
export async function answerInParts(options: QuestionToAnswer): Promise<Response> {
  const { call: { signal } } = options;
  const gone = new AbortController();
  const leave = () => gone.abort();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  const steps = readSteps(options, gone.signal);
  const first = await steps.next();
  if (first.kind === "left") return noReply();
  if (first.kind === "error" && (!first.hasBegun || hasOwnStatus.includes(first.error.code))) {
    return errorReply(first.error);
  }
  let upcoming: Step | undefined = first;
  return eventStreamReply({
    async next() {
      const step: Step = upcoming ?? await steps.next();
      upcoming = undefined;
      return eventOf(step);
    },
    onLeave: leave,
  });
}

/** Of what a pipeline throws before anything was sent, a client hears of these by their status. */
const hasOwnStatus: readonly RagError["code"][] = [
  "INVALID_REQUEST",
  "UNAUTHORIZED",
  "QUOTA_EXCEEDED",
  "OVERLOADED",
  "UNAVAILABLE",
];

type Step =
  | { readonly kind: "event"; readonly event: StreamEvent }
  | { readonly kind: "error"; readonly error: RagError; readonly hasBegun: boolean }
  /** The last event has been, or the client has gone. */
  | { readonly kind: "left" };

/** The steps of an answer: chunks, then one `done` or one error, then nothing. The call ends with the last. */
function readSteps(options: QuestionToAnswer, signal: AbortSignal): { next(): Promise<Step> } {
  const { calls, call, timeoutMs, includeSources, tell } = options;
  const begun = Promise.withResolvers<{ events: AsyncGenerator<PipelineEvent>; signal: AbortSignal }>();
  const ended = Promise.withResolvers<AnswerReport>();
  // where the call ends earlier, nobody waits for it
  ended.promise.catch(() => {});
  const answered = calls.run<CallContext, AnswerReport>({
    ...call,
    signal,
    read() {
      const { pipeline, query } = options.read();
      return {
        timeoutMs,
        async run({ signal }) {
          const events = eventsOf(pipeline, { ...query, signal });
          begun.resolve({ events, signal });
          try {
            return await untilAborted(ended.promise, signal);
          } finally {
            // a pipeline that is waiting ends when it notices the signal; the reply does not wait for that
            void events.return(undefined).catch(() => {});
          }
        },
      };
    },
  });
  answered.catch(begun.reject);
  let hasBegun = false;
  let isOver = false;

  async function step(): Promise<Step> {
    try {
      const { events, signal } = await begun.promise;
      hasBegun = true;
      const { done, value } = await untilAborted(events.next(), signal);
      if (done) throw new Error("The pipeline ended its answer without the last event");
      if (value.type === "chunk") return { kind: "event", event: { type: "chunk", content: value.content } };
      ended.resolve(value);
      // its reply's last event waits for the account of it
      const { sources, tokensUsed } = await answered;
      const shown = includeSources ? { sources: sources.map(wireSource), tokens_used: tokensUsed } : {};
      isOver = true;
      return { kind: "event", event: { type: "done", ...shown } };
    } catch (thrown) {
      isOver = true;
      ended.reject(thrown);
      const error = tell(await answered.then(() => thrown, (reason: unknown) => reason));
      return error === undefined ? { kind: "left" } : { kind: "error", error, hasBegun };
    }
  }

  return { next: async () => isOver ? { kind: "left" } : await step() };
}

/** Makes an error that the pipeline throws at once fail like a later one. */
async function* eventsOf(pipeline: Pipeline, query: PipelineQuery): AsyncGenerator<PipelineEvent, void> {
  yield* pipeline.stream(query);
}

function eventOf(step: Step): StreamEvent | undefined {
  if (step.kind === "event") return step.event;
  return step.kind === "error" ? { type: "error", error: step.error.message } : undefined;
}

function wireSource({ id, content, score }: Source) {
  return { ...(id !== undefined && { id }), content, score };
}

/** The reply for a client that has disconnected; nobody receives it. */
function noReply(): Response {
  return new Response(null, { status: 499 });
}
