import { z } from "@hono/zod-openapi";
import { boundedList, faultText, filledText, flag, optional, parseBody } from "../query.ts";
import { queryLimits } from "../query_limits.ts";
import type { AnswerWire, QuestionFace } from "./query_endpoint.ts";
import { defined } from "../../core/defined.ts";
import type { PipelineAnswer, Source } from "../pipeline.ts";
import { errorReply, type RagError, ragErrors } from "./rag_errors.ts";

const part = z.object({
  type: z.literal("text", { error: "expected text: images, sound and files are not read" }),
  text: z.string({ error: "expected a text" }),
}, { error: "expected an object with type and text" });

const message = z.object({
  role: z.enum(["system", "developer", "user", "assistant"], {
    error: "expected system, developer, user or assistant: no tool is called",
  }),
  content: z.preprocess(
    (given) => typeof given === "string" ? [{ type: "text", text: given }] : given ?? [],
    z.array(part, { error: "expected a text, or a list of parts" }),
  ).transform((parts) => parts.map(({ text }) => text).join("\n")).openapi({
    type: "string",
    description: "Or null, or a list of parts: {type: text, text: …}",
  }),
}, { error: "expected an object with role and content" });

const oneAnswer = { error: "expected 1: there is one answer" };

/** The body of a chat completion. Fields that are not listed are ignored. */
export const chatRequest = z.object({
  model: z.string({ error: "expected the name of a pipeline" }).openapi({ example: "handbook" }),
  messages: boundedList(message, 1, 10_000).refine(
    (list) => list.some(({ role }) => role === "user"),
    { error: "expected one of the role user, the question" },
  ).describe(
    `The last one of the user's is the question; the ${queryLimits.messages} before it are the conversation. ` +
      "Those of the roles system and developer are ignored",
  ),
  stream: flag("Answer in parts, as server-sent events"),
  stream_options: optional(z.object({ include_usage: flag("End a stream with what was used") })),
  // what would be answered in another form than it was asked for
  n: optional(z.int(oneAnswer).min(1, oneAnswer).max(1, oneAnswer)),
  tool_choice: optional(z.enum(["auto", "none"], { error: "expected auto or none: no tool is called" })),
  response_format: optional(
    z.object({ type: z.literal("text", { error: "expected text: answers have no other form" }) }),
  ),
}, { error: "expected a JSON object" }).openapi("ChatCompletionRequest");

const question = filledText(queryLimits.queryCharacters);

// OpenAI API reference: "Chat Completions", "Models", "Error codes". Members of Postern's own are `sources` and `search_query`.

/** A pipeline as a model. */
export const modelOf = ({ name }: { readonly name: string }) => ({
  id: name,
  object: "model",
  // not known
  created: 0,
  owned_by: "postern",
});

/** Those that clients look at by name; the others are in lower case. */
const codes: Partial<Record<RagError["code"], string>> = {
  PIPELINE_NOT_FOUND: "model_not_found",
  UNAUTHORIZED: "invalid_api_key",
  QUOTA_EXCEEDED: "rate_limit_exceeded",
};

function errorBody({ code, message }: RagError) {
  const { status } = ragErrors[code];
  const type = status === 429 ? "rate_limit_error" : status < 500 ? "invalid_request_error" : "server_error";
  const [, field = null] = code === "INVALID_REQUEST" ? /^([\w.[\]]+): /.exec(message) ?? [] : [];
  const param = code === "PIPELINE_NOT_FOUND" ? "model" : field;
  return { error: { message, type, param, code: codes[code] ?? code.toLowerCase() } };
}

/** The reply of an error. */
export const chatErrorReply: typeof errorReply = (error, headers) => errorReply(error, headers, errorBody);

/** An answer as a completion, or in chunks that end with `[DONE]`. */
export function createChatWire(
  { includeUsage, ...base }: {
    readonly id: string;
    readonly model: string;
    /** In seconds since 1970. */
    readonly created: number;
    readonly includeUsage: boolean;
  },
): AnswerWire {
  let streamed = "";
  const plain = { index: 0, logprobs: null };
  const chunk = (choices: readonly object[], more: object = {}) => {
    const usage = includeUsage && { usage: null };
    return JSON.stringify({ ...base, object: "chat.completion.chunk", choices, ...usage, ...more });
  };

  return {
    whole({ answer: content, ...result }, includeSources) {
      const annotations = includeSources ? annotationsOf(content, result.sources) : [];
      const message = { role: "assistant", content, refusal: null, annotations };
      const choices = [{ ...plain, message, finish_reason: finishOf(result) }];
      const usage = usageOf(result);
      return { ...base, object: "chat.completion", choices, usage, ...ownOf(result, includeSources) };
    },
    parts(event, includeSources) {
      const first = streamed === "" ? { role: "assistant" } : {};
      if (event.type === "chunk") {
        const { content } = event;
        streamed += content;
        return [chunk([{ ...plain, delta: { ...first, content }, finish_reason: null }])];
      }
      const annotations = includeSources ? annotationsOf(streamed, event.sources) : [];
      const delta = { ...first, ...(annotations.length > 0 && { annotations }) };
      const last = chunk([{ ...plain, delta, finish_reason: finishOf(event) }], ownOf(event, includeSources));
      return [last, ...(includeUsage ? [chunk([], { usage: usageOf(event) })] : []), "[DONE]"];
    },
    lateError: (error) => [JSON.stringify(errorBody(error))],
  };
}

type Result = Omit<PipelineAnswer, "answer">;

const finishOf = ({ isCut }: Result) => isCut ? "length" : "stop";

function ownOf({ sources, searchQuery }: Result, includeSources: boolean) {
  const shown = ({ id, content, score, title, source, url }: Source) =>
    defined({ id, title, source, url, content, score });
  return {
    ...defined({ search_query: searchQuery }),
    ...(includeSources && { sources: sources.map(shown) }),
  };
}

function usageOf({ tokensUsed, completionTokens = 0 }: Result) {
  const prompt_tokens = tokensUsed - completionTokens;
  return { prompt_tokens, completion_tokens: completionTokens, total_tokens: tokensUsed };
}

/** One for each source with an address: where the answer marks it first, else at its end. */
function annotationsOf(answer: string, sources: readonly Source[]) {
  const marks = new Map<number, RegExpExecArray>();
  // bounded, so that brackets that never close are no work
  for (const mark of answer.matchAll(/\[\d{1,4}(?:, ?\d{1,4}){0,99}\]/g)) {
    for (const number of mark[0].match(/\d+/g) ?? []) {
      if (!marks.has(Number(number))) marks.set(Number(number), mark);
    }
  }
  return sources.flatMap(({ url, title = url }, at) => {
    if (url === undefined) return [];
    const mark = marks.get(at + 1);
    const start_index = mark?.index ?? answer.length;
    const end_index = start_index + (mark?.[0].length ?? 0);
    return [{ type: "url_citation", url_citation: { url, title, start_index, end_index } }];
  });
}

/** OpenAI's interface: a chat completion is a question to the pipeline that its model names. */
export const chatFace: QuestionFace = {
  read(text, requestId) {
    const parsed = parseBody(text);
    if (parsed.kind === "fault") return parsed;
    const { data, error } = chatRequest.safeParse(parsed.body);
    if (data === undefined) return { kind: "fault", message: faultText(error.issues) };
    const { model, messages: said, stream = false, stream_options } = data;
    const at = said.findLastIndex(({ role }) => role === "user");
    const asked = question.safeParse(said[at]?.content);
    if (!asked.success) {
      return { kind: "fault", message: `messages[${at}].content: ${asked.error.issues[0]?.message}` };
    }
    const messages = said.slice(0, at).flatMap(({ role, content }) =>
      role === "user" || role === "assistant" ? [{ role, content }] : []
    ).slice(-queryLimits.messages);
    const created = Math.floor(Date.now() / 1000);
    const includeUsage = stream_options?.include_usage ?? false;
    return {
      kind: "query",
      model,
      query: { query: asked.data, messages, disableHybrid: false },
      stream,
      includeSources: true,
      wire: createChatWire({ id: `chatcmpl-${requestId}`, model, created, includeUsage }),
    };
  },
  error: chatErrorReply,
};
