import { defined } from "../../core/defined.ts";
import type { PipelineAnswer, Source } from "../pipeline.ts";
import type { AnswerWire } from "./query_endpoint.ts";
import { errorReply, type RagError, ragErrors } from "./rag_errors.ts";

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
      const choices = [{ ...plain, message, finish_reason: "stop" }];
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
      const last = chunk([{ ...plain, delta, finish_reason: "stop" }], ownOf(event, includeSources));
      return [last, ...(includeUsage ? [chunk([], { usage: usageOf(event) })] : []), "[DONE]"];
    },
    lateError: (error) => [JSON.stringify(errorBody(error))],
  };
}

type Result = Omit<PipelineAnswer, "answer">;

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
