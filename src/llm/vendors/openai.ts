import { z } from "zod";
import { embedInBatches } from "./embed_in_batches.ts";
import { isOpenaiThinker } from "./longest_answer.ts";
import { parseItem, replyReader } from "./parse_reply.ts";
import type { CompletionProvider, CompletionRequest, EmbeddingProvider } from "../provider.ts";
import { ProviderError } from "../provider_error.ts";
import type { ProviderOptions } from "../provider_options.ts";
import { type CompletionDelta, readCompletion, readCompletionStream } from "../read_completion.ts";
import { maxCompletionBytes } from "../transport/read_reply.ts";
import { readNumberedVectors, wireVector } from "./read_vector.ts";
import {
  bearer,
  createVendorExchange,
  providerName,
  type VendorExchange,
} from "../transport/vendor_exchange.ts";
import { textOf, wireMessage } from "../message_text.ts";
import { createTokenLimitNames, type TokenLimitName } from "./token_limit_name.ts";
import { vendorAddress } from "./vendor_address.ts";
import { vendorFault } from "./vendor_fault.ts";

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
export function createOpenaiCompletion(options: ProviderOptions): CompletionProvider {
  const exchange = openaiExchange(options);
  // OpenAI itself takes the newer name for all of its models; elsewhere the newer models refuse the older name, and many
  // servers do not know the newer one
  const isNewer = isOpenai(options) || isOpenaiThinker(options.model);
  const limitNames = createTokenLimitNames(isNewer ? "max_completion_tokens" : "max_tokens");
  const path = "/chat/completions";
  return {
    name: providerName(options),
    ping: (signal) => ping(exchange, signal),
    complete: ({ signal, timeoutMs, ...request }) =>
      limitNames.send((limitName) =>
        exchange.send({
          path,
          signal,
          timeoutMs,
          maxBytes: maxCompletionBytes,
          body: chatBody(request, options, limitName),
          read: (json) => readCompletion(readAnswer(json), options.onUsage),
        })
      ),
    stream: ({ signal, timeoutMs, ...request }) =>
      readCompletionStream(
        limitNames.stream((limitName) =>
          exchange.stream({
            path,
            signal,
            timeoutMs,
            format: "events",
            body: {
              ...chatBody(request, options, limitName),
              stream: true,
              stream_options: { include_usage: true },
            },
            read: ({ data }) => data === "[DONE]" ? { isEnd: true } : readDelta(parseItem(data)),
          })
        ),
        options.onUsage,
      ),
  };
}

/**
 * Embeddings of OpenAI and of every server that speaks its interface: POST `/embeddings`.
 * Source: OpenAI API reference, "Embeddings".
 */
export function createOpenaiEmbedding(options: ProviderOptions): EmbeddingProvider {
  const exchange = openaiExchange(options);
  const isVendor = isOpenai(options);
  // OpenAI takes 2048 texts and 300,000 tokens, and hardly a text has a token for every two bytes; 512 texts keep
  // the reply at some 8 MB. Others take less: 32 is the default of Hugging Face's server.
  const limits = { texts: isVendor ? 512 : 32, bytes: 600_000 };
  return {
    name: providerName(options),
    ping: (signal) => ping(exchange, signal),
    embed: (request) =>
      embedInBatches(request, {
        limits,
        dimensions: options.dimensions,
        onUsage: options.onUsage,
        embed: (input, signal) =>
          exchange.send({
            path: "/embeddings",
            signal,
            body: {
              model: options.model,
              input,
              dimensions: options.dimensions,
              encoding_format: isVendor ? "base64" : undefined,
            },
            read: (json) => {
              const { data, usage } = readEmbeddings(json);
              return { vectors: readNumberedVectors(data), promptTokens: usage?.prompt_tokens ?? 0 };
            },
          }),
      }),
  };
}

function openaiExchange(options: ProviderOptions): VendorExchange {
  const { baseUrl = vendorAddress("openai") } = options;
  return createVendorExchange(options, {
    baseUrl,
    needsKey: isOpenai(options),
    authHeaders: bearer,
    // Azure's filter refuses a prompt with a status of its own
    isDeclined: ({ detail }) => /"code"\s*:\s*"content_filter"/.test(detail),
    notFoundHint: hasPath(baseUrl)
      ? undefined
      : "base_url has no path, and most such servers want /v1 at its end",
  });
}

function hasPath(url: string): boolean {
  return URL.canParse(url) && new URL(url).pathname !== "/";
}

function isOpenai({ baseUrl }: ProviderOptions): boolean {
  const url = baseUrl ?? vendorAddress("openai");
  // its regions have names of their own in front
  return URL.canParse(url) && /(^|\.)api\.openai\.com$/.test(new URL(url).hostname);
}

async function ping(exchange: VendorExchange, signal: AbortSignal): Promise<void> {
  await exchange.send({ method: "GET", path: "/models", signal, read: () => undefined });
}

function chatBody(
  { system, messages }: Pick<CompletionRequest, "system" | "messages">,
  options: ProviderOptions,
  limitName: TokenLimitName,
) {
  return {
    model: options.model,
    messages: [...(system ? [{ role: "system", content: system }] : []), ...messages],
    [limitName]: options.maxTokens,
    temperature: options.temperature,
  };
}

function readAnswer(json: unknown): CompletionDelta {
  const { error, choices, usage } = readChat(json);
  if (error) throw vendorFault(error.message, error.code, error.type);
  const choice = choices?.[0];
  return {
    text: textOf(choice?.message),
    usage: usage ? readUsage(usage) : {},
    ...readFinish(choice?.finish_reason),
  };
}

function readDelta(json: unknown): CompletionDelta {
  const { error, choices, usage } = readChunk(json);
  if (error) throw vendorFault(error.message, error.code, error.type);
  const choice = choices?.[0];
  return {
    text: textOf(choice?.delta),
    usage: usage ? readUsage(usage) : {},
    ...readFinish(choice?.finish_reason),
  };
}

// A refusal in words is an answer; what the filter took away leaves half of one.
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
