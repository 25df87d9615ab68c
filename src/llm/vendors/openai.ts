import { z } from "zod";
import type { CompletionProvider, EmbeddingProvider, ProviderOptions } from "../provider.ts";
import { ProviderError } from "../provider_error.ts";
import { vendorAddresses } from "../provider_kinds.ts";
import { type CompletionDelta, isOpenaiThinker, vendorCompletion } from "../read_completion.ts";
import { errorWithinReply } from "../provider_error.ts";
import {
  bearer,
  createVendorExchange,
  type ExchangeRequest,
  type VendorExchange,
} from "../transport/exchange.ts";
import { parseItem, replyReader } from "../transport/read_reply.ts";
import { readNumberedVectors, vendorEmbedding, wireVector } from "./embeddings.ts";

/** What may be read at no cost. */
const ping = "/models";

const wirePart = z.object({ type: z.string().nullish(), text: z.string().nullish() });
// in parts where the server shows the model's thoughts too, as Mistral's does
const wireMessage = z.object({
  content: z.union([z.string(), z.array(wirePart)]).nullish(),
  refusal: z.string().nullish(),
});
const wireUsage = z.object({
  prompt_tokens: z.number(),
  completion_tokens: z.number().nullish(),
  prompt_tokens_details: z.object({ cached_tokens: z.number().nullish() }).nullish(),
});
const wireError = z.object({
  message: z.string().nullish(),
  type: z.string().nullish(),
  code: z.union([z.string(), z.number()]).nullish(),
});
const readChat = replyReader(z.object({
  // some gateways send it with a status of success
  error: wireError.nullish(),
  choices: z.array(z.object({ message: wireMessage, finish_reason: z.string().nullish() })).nullish(),
  usage: wireUsage.nullish(),
}));
const readChunk = replyReader(z.object({
  error: wireError.nullish(),
  // null in the last chunk of some servers
  choices: z.array(z.object({ delta: wireMessage.nullish(), finish_reason: z.string().nullish() }))
    .nullish(),
  usage: wireUsage.nullish(),
}));
const readEmbeddings = replyReader(z.object({
  data: z.array(z.object({ index: z.number(), embedding: wireVector })),
  usage: z.object({ prompt_tokens: z.number() }).nullish(),
}));

/**
 * Completions of OpenAI and of every server that speaks its interface: POST `/chat/completions`.
 * Source: OpenAI API reference, "Chat Completions".
 */
export function completion(options: ProviderOptions): CompletionProvider {
  // OpenAI itself takes the newer name for all of its models; elsewhere the newer models refuse the older name, and many
  // servers do not know the newer one
  const isNewer = isOpenai(options) || isOpenaiThinker(options.model);
  const limitName = isNewer ? "max_completion_tokens" : "max_tokens";
  const exchange = withEitherLimitName(openaiExchange(options), options.maxTokens, limitName);
  return vendorCompletion(options, exchange, { path: ping }, ({ system, messages }, isStream) => ({
    path: "/chat/completions",
    body: {
      model: options.model,
      messages: [...(system ? [{ role: "system", content: system }] : []), ...messages],
      temperature: options.temperature,
      ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
    },
    format: "events",
    readReply: readAnswer,
    readItem: ({ data }) => data === "[DONE]" ? { isEnd: true } : readDelta(parseItem(data)),
  }));
}

/**
 * Embeddings of OpenAI and of every server that speaks its interface: POST `/embeddings`.
 * Source: OpenAI API reference, "Embeddings".
 */
export function embedding(options: ProviderOptions): EmbeddingProvider {
  const isVendor = isOpenai(options);
  return vendorEmbedding(options, openaiExchange(options), {
    path: "/embeddings",
    // OpenAI takes 2048 texts and 300,000 tokens, and hardly a text has a token for every two bytes; 512 texts keep
    // the reply at some 8 MB. Others take less: 32 is the default of Hugging Face's server.
    limits: { texts: isVendor ? 512 : 32, bytes: 600_000 },
    body: (input) => ({
      model: options.model,
      input,
      dimensions: options.dimensions,
      encoding_format: isVendor ? "base64" : undefined,
    }),
    read(json) {
      const { data, usage } = readEmbeddings(json);
      return { vectors: readNumberedVectors(data), promptTokens: usage?.prompt_tokens ?? 0 };
    },
    ping,
  });
}

function openaiExchange(options: ProviderOptions): VendorExchange {
  const { baseUrl = vendorAddresses.openai } = options;
  return createVendorExchange(options, {
    baseUrl,
    needsKey: isOpenai(options),
    authHeaders: bearer,
    // Azure's filter refuses a prompt with a status of its own
    readError: (detail) =>
      /"code"\s*:\s*"content_filter"/.test(detail) ? { noAnswer: "declined" } : undefined,
    notFoundHint: hasPath(baseUrl)
      ? undefined
      : "base_url has no path; most such servers need /v1 at its end",
  });
}

function hasPath(url: string): boolean {
  return URL.canParse(url) && new URL(url).pathname !== "/";
}

function isOpenai({ baseUrl }: ProviderOptions): boolean {
  const url = baseUrl ?? vendorAddresses.openai;
  // OpenAI's regions put their names in front
  return URL.canParse(url) && /(^|\.)api\.openai\.com$/.test(new URL(url).hostname);
}

function readAnswer(json: unknown): CompletionDelta {
  const reply = readChat(json);
  return deltaOf(reply, reply.choices?.[0]?.message);
}

function readDelta(json: unknown): CompletionDelta {
  const chunk = readChunk(json);
  return deltaOf(chunk, chunk.choices?.[0]?.delta);
}

function deltaOf(
  { error, choices, usage }: ReturnType<typeof readChat> | ReturnType<typeof readChunk>,
  message: WireMessage,
): CompletionDelta {
  if (error) throw errorWithinReply(error.message, error.code, error.type);
  return {
    text: textOf(message),
    usage: usage ? readUsage(usage) : {},
    ...readFinish(choices?.[0]?.finish_reason),
  };
}

type WireMessage = z.infer<typeof wireMessage> | null | undefined;

function textOf(message: WireMessage): string {
  const { content, refusal } = message ?? {};
  const text = typeof content === "string"
    ? content
    : content?.map(({ type, text }) => type === "text" ? text ?? "" : "").join("");
  return text || refusal || "";
}

// A refusal in words is an answer; what a filter cuts off is not.
function readFinish(finishReason: string | null | undefined): Pick<CompletionDelta, "isCut" | "declined"> {
  if (finishReason === "error") throw new ProviderError("provider", "the answer was broken off: error");
  return {
    isCut: finishReason === "length",
    declined: finishReason === "content_filter" ? "the answer was broken off: content_filter" : undefined,
  };
}

function readUsage(usage: z.infer<typeof wireUsage>) {
  return {
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens ?? 0,
    cacheReadInputTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
  };
}

/** What servers with OpenAI's interface call the longest answer: the newer name is for thoughts and text together. */
type TokenLimitName = "max_tokens" | "max_completion_tokens";

/**
 * An exchange that adds the longest answer to each request. If the server asks for its other name, the request is sent
 * again under that name; if it refuses both, the first refusal is thrown.
 * @param first the name to begin with; a name that the server asked for and then took is kept
 */
function withEitherLimitName(
  exchange: VendorExchange,
  maxTokens: number | undefined,
  first: TokenLimitName,
): VendorExchange {
  let current = first;
  const named = <R extends ExchangeRequest>(request: R, name: TokenLimitName) => ({
    ...request,
    body: { ...request.body, [name]: maxTokens },
  });
  return {
    ...exchange,
    async send(request) {
      const [name, other] = [current, otherThan(current)];
      try {
        return await exchange.send(named(request, name));
      } catch (refusal) {
        if (!asksForOther(refusal, name)) throw refusal;
        const reply = await exchange.send(named(request, other)).catch((thrown: unknown) => {
          throw isRefusal(thrown) ? refusal : thrown;
        });
        current = other;
        return reply;
      }
    },
    async *stream(request) {
      let refusal: unknown;
      for (const name of [current, otherThan(current)]) {
        let hasItem = false;
        try {
          for await (const item of exchange.stream(named(request, name))) {
            hasItem = true;
            current = name;
            yield item;
          }
          return;
        } catch (thrown) {
          if (refusal !== undefined) throw !hasItem && isRefusal(thrown) ? refusal : thrown;
          if (hasItem || !asksForOther(thrown, name)) throw thrown;
          refusal = thrown;
        }
      }
    },
  };
}

function otherThan(name: TokenLimitName): TokenLimitName {
  return name === "max_tokens" ? "max_completion_tokens" : "max_tokens";
}

function isRefusal(thrown: unknown): thrown is ProviderError {
  return thrown instanceof ProviderError && thrown.kind === "invalid_request";
}

/** Some servers name the parameter that they want, others only say that they do not know the one that they got. */
function asksForOther(thrown: unknown, name: TokenLimitName): boolean {
  if (!isRefusal(thrown)) return false;
  const { detail } = thrown;
  // then the number is refused, whatever its name
  if (/\b(?:too (?:large|high|long|big)|maximum|at most|exceed\w*)\b/i.test(detail)) return false;
  const unknown =
    /\b(?:un(?:known|supported|recognized|expected)|not (?:supported|permitted|allowed)|extra)/i;
  return new RegExp(`\\b${otherThan(name)}\\b`).test(detail) ||
    (new RegExp(`\\b${name}\\b`).test(detail) && unknown.test(detail));
}
