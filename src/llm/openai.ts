import { z } from "zod";
import { embedInBatches } from "./embed_in_batches.ts";
import { parseItem, replyReader } from "./parse_reply.ts";
import type { CompletionProvider, CompletionRequest, EmbeddingProvider } from "./provider.ts";
import { ProviderError } from "./provider_error.ts";
import type { ProviderOptions } from "./provider_options.ts";
import { readCompletion, readCompletionStream } from "./read_completion.ts";
import { maxCompletionBytes } from "./read_reply.ts";
import { readNumberedVectors, wireVector } from "./read_vector.ts";
import { bearer, createVendorExchange, providerName, type VendorExchange } from "./vendor_exchange.ts";
import { vendorFault } from "./vendor_fault.ts";

const vendorUrl = "https://api.openai.com/v1";

const wireUsage = z.object({
  prompt_tokens: z.number(),
  completion_tokens: z.number().nullish(),
  prompt_tokens_details: z.object({ cached_tokens: z.number().nullish() }).nullish(),
});
const said = { content: z.string().nullish(), refusal: z.string().nullish() };
const wireError = z.object({
  message: z.string().nullish(),
  type: z.string().nullish(),
  code: z.union([z.string(), z.number()]).nullish(),
});
const readChat = replyReader(z.object({
  // some gateways send it with a status of success
  error: wireError.nullish(),
  choices: z.array(z.object({ message: z.object(said), finish_reason: z.string().nullish() })).nullish(),
  usage: wireUsage.nullish(),
}));
const readChunk = replyReader(z.object({
  error: wireError.nullish(),
  // null in the last chunk of some servers
  choices: z.array(z.object({ delta: z.object(said).nullish(), finish_reason: z.string().nullish() }))
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
  const path = "/chat/completions";
  return {
    name: providerName(options),
    ping: (signal) => ping(exchange, signal),
    complete: ({ signal, ...request }) =>
      exchange.send({
        path,
        signal,
        maxBytes: maxCompletionBytes,
        body: chatBody(request, options),
        read: (json) => {
          const { error, choices, usage } = readChat(json);
          if (error) throw vendorFault(error.message, error.code, error.type);
          const choice = choices?.[0];
          const text = choice?.message.content || choice?.message.refusal || "";
          return readCompletion(text, usage ? readUsage(usage) : {}, readFinish(choice?.finish_reason));
        },
      }),
    stream: ({ signal, ...request }) =>
      readCompletionStream(
        exchange.stream({
          path,
          signal,
          format: "events",
          body: { ...chatBody(request, options), stream: true, stream_options: { include_usage: true } },
          read: ({ data }) => data === "[DONE]" ? { isEnd: true } : readDelta(parseItem(data)),
        }),
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
  return createVendorExchange(options, {
    baseUrl: options.baseUrl ?? vendorUrl,
    needsKey: isOpenai(options),
    authHeaders: bearer,
  });
}

function isOpenai({ baseUrl }: ProviderOptions): boolean {
  const url = baseUrl ?? vendorUrl;
  // its regions have names of their own in front
  return URL.canParse(url) && /(^|\.)api\.openai\.com$/.test(new URL(url).hostname);
}

async function ping(exchange: VendorExchange, signal: AbortSignal): Promise<void> {
  await exchange.send({ method: "GET", path: "/models", signal, read: () => undefined });
}

function chatBody({ system, messages }: Omit<CompletionRequest, "signal">, options: ProviderOptions) {
  return {
    model: options.model,
    messages: [...(system ? [{ role: "system", content: system }] : []), ...messages],
    // OpenAI's newer models refuse the old name, many other servers do not know the new one
    [isOpenai(options) ? "max_completion_tokens" : "max_tokens"]: options.maxTokens,
    temperature: options.temperature,
  };
}

function readDelta(json: unknown) {
  const { error, choices, usage } = readChunk(json);
  if (error) throw vendorFault(error.message, error.code, error.type);
  const choice = choices?.[0];
  return {
    text: choice?.delta?.content || choice?.delta?.refusal || "",
    isCut: readFinish(choice?.finish_reason),
    usage: usage ? readUsage(usage) : {},
  };
}

// Whether the answer was cut. A refusal in words is an answer; what the filter took away leaves half of one.
function readFinish(finishReason: string | null | undefined): boolean {
  if (finishReason === "content_filter" || finishReason === "error") {
    throw new ProviderError("provider", `the answer was broken off: ${finishReason}`);
  }
  return finishReason === "length";
}

function readUsage(usage: z.infer<typeof wireUsage>) {
  return {
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens ?? 0,
    cacheReadInputTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
  };
}
