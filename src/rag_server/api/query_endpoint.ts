import { defined } from "../../core/defined.ts";
import type { Call, CallContext, CallEnd, CallReport, Calls } from "../../calls/calls.ts";
import { AppError, type ErrorCode } from "../../core/app_error.ts";
import { CallEnded, type EndOfCall, untilAborted } from "../../core/async/abort.ts";
import type { SharedDeadline } from "../../core/async/deadline.ts";
import type { Logger, LogLevel } from "../../core/logger.ts";
import type { Principal } from "../../core/principal.ts";
import type { RouteBindings } from "../../http/listener.ts";
import { readBody } from "../../http/request_body.ts";
import { accessTo } from "../../identity/access_rules.ts";
import { ProviderError } from "../../llm/provider_error.ts";
import { countCharacters } from "../../text/chunk_document.ts";
import { findCitations } from "../citations.ts";
import type { FoundDocument, Pipeline, PipelineAnswer, PipelineEvent, Source } from "../pipeline.ts";
import { type PipelineQuery, type QueryRead, readQuery } from "../query.ts";
import type { RunningPipelines } from "../running_pipelines.ts";
import {
  bodyError,
  errorReply,
  namedCharacters,
  noPipeline,
  passagesError,
  type RagError,
  ragErrorOf,
  RefusedQuestion,
} from "./rag_errors.ts";
import { eventStreamReply, jsonReply } from "./json_reply.ts";
import type { QueryReply, SearchReply, StreamEvent } from "./rag_replies.ts";
import { UntoldCallerError } from "../../postgres/read/caller_settings.ts";

/** How the clients of an endpoint ask, and how they are answered. */
export interface QuestionFace {
  /** Reads a body; `model` is the pipeline's name where the path does not say it. */
  read(text: string, requestId: string):
    | Extract<QueryRead, { kind: "fault" }>
    | Extract<QueryRead, { kind: "query" }> & { readonly model?: string; readonly wire: AnswerWire };
  error(error: RagError): Response;
}

/** How one answer is told. */
export interface AnswerWire {
  /** In one piece. */
  whole(answer: PipelineAnswer, includeSources: boolean): unknown;
  /** The texts of events of a stream. */
  parts(event: PipelineEvent, includeSources: boolean): readonly string[] | Promise<readonly string[]>;
  /** The same for an error after the first event. */
  lateError(error: RagError): readonly string[];
}

interface QueryEndpointOptions {
  readonly calls: Calls;
  readonly pipelines: Pick<RunningPipelines, "find">;
  /** How long a query may run, its stream included; 0 is for ever. */
  readonly requestTimeoutMs: number;
  /** How long a body may take to arrive. */
  readonly bodyTimeout: SharedDeadline;
  readonly logger: Logger;
}

const maxBytes = 1024 * 1024;
/** Of the documents in a prompt, the most that a line of the audit trail names. */
const mostSources = 100;

/** What a question asks for: an answer, or the passages that one would be made from. */
type Wanted = "answer" | "passages";

/**
 * `POST /v1/pipelines/{name}`, `/search` below it, and with another face `POST /v1/chat/completions`, whose path has no name.
 * Any Content-Type is taken, as `curl -d` sends another than it holds. All that can be checked of a request is checked before
 * the pipeline hears of it. The request's bindings note which pipeline was asked.
 */
export function createQueryEndpoint(
  { calls, pipelines, requestTimeoutMs, bodyTimeout, logger: log }: QueryEndpointOptions,
  { face = queryFace, wanted = "answer" }: { readonly face?: QuestionFace; readonly wanted?: Wanted } = {},
) {
  /** @throws {RefusedQuestion} where there is no such pipeline, or none that the caller may use */
  function find(name: string, principal: Principal): Pipeline {
    const pipeline = pipelines.find(name);
    if (pipeline !== undefined && accessTo(principal, pipeline).kind === "granted") return pipeline;
    throw new RefusedQuestion(noPipeline(name));
  }

  /** @throws {RefusedQuestion} */
  async function read(
    request: Request,
    called: { name?: string | undefined },
    principal: Principal,
    bindings: RouteBindings,
  ) {
    if (called.name !== undefined) bindings.logFields = { pipeline: find(called.name, principal).name };
    const body = await readBody(request, { maxBytes, timeout: bodyTimeout });
    if (body.kind !== "text") throw new RefusedQuestion(bodyError(body.kind, "1 MiB"));
    const read = face.read(body.text, bindings.requestId);
    if (read.kind === "fault") throw new RefusedQuestion({ code: "INVALID_REQUEST", message: read.message });
    called.name = read.model ?? called.name ?? "";
    // a body may take its time, and pipelines that were replaced meanwhile have ended
    const pipeline = find(called.name, principal);
    bindings.logFields = { pipeline: pipeline.name };
    return { ...read, pipeline };
  }

  return async (
    request: Request,
    { principal, address }: { readonly principal: Principal; readonly address: string },
    bindings: RouteBindings,
    name?: string,
  ): Promise<Response> => {
    const { requestId, span } = bindings;
    const logger = log.with({ request: requestId, ...(span && { trace_id: span.traceId }) });
    const called = { name };
    const asked = await read(request, called, principal, bindings)
      .catch((refusal: unknown) => ({ kind: "refused" as const, refusal }));
    const shown = (called.name ?? "").slice(0, namedCharacters);
    const isQuery = asked.kind === "query";
    // the one place where what was asked for meets the pipeline's `allow_include_sources`
    const asksForSources = isQuery && (asked.includeSources || wanted === "passages");
    const includeSources = asksForSources && asked.pipeline.allowsSources;
    if (asksForSources && !includeSources && wanted === "answer" && face === queryFace) {
      logger.info("Sources were asked for and left out: the pipeline does not permit them", {
        pipeline: shown,
      });
    }
    const isStreamed = isQuery && asked.stream;
    const answer = wanted === "passages" ? showPassages : isStreamed ? answerInParts : answerAtOnce;
    return await answer({
      calls,
      call: {
        principal,
        signal: request.signal,
        contextWith: (signal) => ({ principal, signal, requestId, logger, address, span }),
        report: (end) => reportQuestion(shown, wanted, isQuery ? asked.query.query : undefined, end),
      },
      read() {
        if (asked.kind === "refused") throw asked.refusal;
        const { pipeline, query } = asked;
        if (wanted === "passages" && !includeSources) throw new RefusedQuestion(passagesError);
        pipeline.checkCaller(principal);
        const shows = includeSources && { showsSources: true };
        return { pipeline, query: { ...query, caller: principal, ...shows, ...(span && { span }) } };
      },
      timeoutMs: requestTimeoutMs,
      includeSources,
      face,
      // where it was refused, nothing is told by it
      wire: isQuery ? asked.wire : createQueryWire(),
      tell(thrown) {
        logEnd(thrown, logger, shown);
        return ragErrorOf(thrown);
      },
    });
  };
}

/**
 * @param pipeline the name in the request
 * @param question undefined where the request could not be read, or its caller may not use the pipeline
 */
function reportQuestion(
  pipeline: string,
  wanted: Wanted,
  question: string | undefined,
  end: CallEnd<CallContext, AnswerReport>,
): CallReport {
  const error = "thrown" in end ? ragErrorOf(end.thrown) : undefined;
  const result = "result" in end ? "ok" : error?.code.toLowerCase() ?? "client_left";
  return {
    // else the pipeline may be one that there is not
    counted: question === undefined ? undefined : { of: "question", name: pipeline, result },
    line: () => ({
      event: "query",
      ...(wanted === "passages" && { method: "search" }),
      outcome: result,
      pipeline,
      ...defined({ question }),
      ...("result" in end && {
        sources: end.result.sources.flatMap(({ id }) => id ?? []).slice(0, mostSources),
        tokens_used: end.result.tokensUsed,
      }),
      ...("thrown" in end && end.thrown instanceof UntoldCallerError && { reason: end.thrown.reason }),
    }),
  };
}

const refusals: readonly ErrorCode[] = ["overloaded", "quota_exceeded", "forbidden"];

const ends: Partial<Record<EndOfCall, readonly [LogLevel, string]>> = {
  "its caller disconnected": ["debug", "The client disconnected before the answer"],
  "it took too long": ["warn", "A query took too long"],
  "its token or session has ended": ["info", "A query was cut off because its token or session has ended"],
  "the server stops": ["warn", "A query was cut off because the server stops"],
};

function logEnd(thrown: unknown, logger: Logger, pipeline: string): void {
  if (thrown instanceof RefusedQuestion) return;
  const [level, message] = (thrown instanceof CallEnded ? ends[thrown.why] : undefined) ?? [];
  if (level !== undefined && message !== undefined) return logger[level](message, { pipeline });
  // callers decide how many of them there are
  if (thrown instanceof AppError && refusals.includes(thrown.code)) {
    logger.debug("A query was refused", { pipeline, error: thrown });
  } else if (ragErrorOf(thrown)?.code !== "INVALID_REQUEST") {
    logger.error("A query failed", { pipeline, error: thrown, ...detailOf(thrown) });
  }
}

function detailOf(error: unknown) {
  if (error instanceof ProviderError) return { detail: error.detail };
  // where one that is expected was thrown tells nobody anything
  if (error instanceof AppError && error.code !== "internal") return { cause: error.cause };
  return error instanceof Error ? { cause: error.cause, stack: error.stack } : {};
}

/** What an answer was made of: the documents in its prompt, and the tokens of all providers. */
type AnswerReport = Omit<PipelineAnswer, "answer">;

interface QuestionToAnswer {
  readonly calls: Calls;
  /** The question as a call, but for what runs it. */
  readonly call: Omit<Call<CallContext, AnswerReport>, "read">;
  /** @throws what it is refused for */
  readonly read: () => { readonly pipeline: Pipeline; readonly query: Omit<PipelineQuery, "signal"> };
  readonly timeoutMs: number;
  /** Whether the client asked for sources and the pipeline permits them. */
  readonly includeSources: boolean;
  readonly face: QuestionFace;
  readonly wire: AnswerWire;
  /** What the client is told of something thrown, which the log hears of; undefined where the client has left. */
  readonly tell: (thrown: unknown) => RagError | undefined;
}

/** Answers a question in one piece. */
async function answerAtOnce(options: QuestionToAnswer): Promise<Response> {
  const { wire, includeSources } = options;
  return await replyAtOnce(
    options,
    (pipeline, query) => pipeline.answer(query),
    (answer) => wire.whole(answer, includeSources),
  );
}

/** Tells what was found for a question; no model is asked for an answer. */
async function showPassages(options: QuestionToAnswer): Promise<Response> {
  return await replyAtOnce(
    options,
    (pipeline, query) => pipeline.findDocuments(query),
    ({ sources, searchQuery, tokensUsed }): SearchReply => ({
      ...defined({ search_query: searchQuery }),
      passages: sources.map(wirePassage),
      tokens_used: tokensUsed,
    }),
  );
}

async function replyAtOnce<Result extends AnswerReport>(
  { calls, call, timeoutMs, face, tell, ...options }: QuestionToAnswer,
  work: (pipeline: Pipeline, query: PipelineQuery) => Promise<Result>,
  replyOf: (result: Result) => unknown,
): Promise<Response> {
  try {
    const result = await calls.run<CallContext, Result>({
      ...call,
      read() {
        const { pipeline, query } = options.read();
        return { timeoutMs, run: ({ signal }) => untilAborted(work(pipeline, { ...query, signal }), signal) };
      },
    });
    return jsonReply(JSON.stringify(await replyOf(result)));
  } catch (thrown) {
    const error = tell(thrown);
    return error === undefined ? noReply() : face.error(error);
  }
}

/**
 * Answers a question in parts, as server-sent events with status 200: any number of `chunk`, then one `done`, or one
 * `error` in its place. A `done` has `sources` and `tokens_used` where sources are included. The reply waits for the
 * first event, so that a filter that does not fit the tables, a server without room and a database that is down have a
 * status of their own. The pipeline makes an event when the client can take it.
 */
async function answerInParts(options: QuestionToAnswer): Promise<Response> {
  const { call: { signal }, face, wire } = options;
  const gone = new AbortController();
  const leave = () => gone.abort();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  const steps = readSteps(options, gone.signal);
  const first = await steps.next();
  if (first.kind === "left") return noReply();
  const hasStatus = ({ code }: RagError) => face !== queryFace || hasOwnStatus.includes(code);
  if (first.kind === "error" && (!first.hasBegun || hasStatus(first.error))) return face.error(first.error);
  let upcoming: Step | undefined = first;
  return eventStreamReply({
    async next() {
      const step: Step = upcoming ?? await steps.next();
      upcoming = undefined;
      if (step.kind === "error") return wire.lateError(step.error);
      return step.kind === "event" ? step.texts : undefined;
    },
    onLeave: leave,
  });
}

/** Of what a pipeline throws before anything was sent, a client of ours hears of these by their status, another of all. */
const hasOwnStatus: readonly RagError["code"][] = [
  "INVALID_REQUEST",
  "UNAUTHORIZED",
  "QUOTA_EXCEEDED",
  "OVERLOADED",
  "UNAVAILABLE",
];

type Step =
  | { readonly kind: "event"; readonly texts: readonly string[] }
  | { readonly kind: "error"; readonly error: RagError; readonly hasBegun: boolean }
  /** The last event has been, or the client has gone. */
  | { readonly kind: "left" };

/** The steps of an answer: chunks, then one `done` or one error, then nothing. The call ends with the last. */
function readSteps(options: QuestionToAnswer, signal: AbortSignal): { next(): Promise<Step> } {
  const { calls, call, timeoutMs, includeSources, wire, tell } = options;
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
      if (value.type === "done") {
        ended.resolve(value);
        // its reply's last event waits for the account of it
        await answered;
        isOver = true;
      }
      return { kind: "event", texts: await wire.parts(value, includeSources) };
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

const textOf = (event: StreamEvent) => JSON.stringify(event);

/** Tells one answer as clients of our own read it. */
function createQueryWire(): AnswerWire {
  let streamed = "";
  return {
    async whole({ answer, tokensUsed, ...result }, includeSources): Promise<QueryReply> {
      return { answer, ...await shownOf(answer, result, includeSources), tokens_used: tokensUsed };
    },
    async parts(event, includeSources) {
      if (event.type === "chunk") {
        if (includeSources) streamed += event.content;
        return [textOf({ type: "chunk", content: event.content })];
      }
      const shown = await shownOf(streamed, event, includeSources);
      return [textOf({ type: "done", ...shown, ...(includeSources && { tokens_used: event.tokensUsed }) })];
    },
    lateError: ({ message }) => [textOf({ type: "error", error: message })],
  };
}

const queryFace: QuestionFace = {
  read(text) {
    const read = readQuery(text);
    return read.kind === "fault" ? read : { ...read, wire: createQueryWire() };
  },
  error: errorReply,
};

/** What a reply says of an answer besides its text. */
async function shownOf(
  answer: string,
  { sources, searchQuery, isUnanswered, isCut }: Omit<AnswerReport, "tokensUsed">,
  includeSources: boolean,
) {
  const mark = {
    ...(isUnanswered && { answered: false as const }),
    ...(isCut && { truncated: true as const }),
    ...defined({ search_query: searchQuery }),
  };
  if (!includeSources) return mark;
  // what says that there is no answer claims nothing
  const citations = isUnanswered ? [] : await findCitations(answer, sources);
  return { ...mark, sources: sources.map(wireSource), citations };
}

function wireSource({ id, content, score, copies, columns, key: _, ...details }: Source) {
  const characters = { start: 0, end: countCharacters(content) };
  const metadata = { ...columns, ...details, characters };
  return { ...defined({ id, copies }), content, score, metadata };
}

function wirePassage({ table, similarity, nearest, matching: keyword, ...source }: FoundDocument) {
  const vector = nearest && { rank: nearest.rank, ...defined({ similarity }) };
  return { ...wireSource(source), table, ...defined({ vector, keyword }) };
}

/** The reply for a client that has disconnected; nobody receives it. */
function noReply(): Response {
  return new Response(null, { status: 499 });
}
