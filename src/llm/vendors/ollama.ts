import { z } from "zod";
import { embedInBatches } from "./embed_in_batches.ts";
import { parseItem, replyReader } from "./parse_reply.ts";
import type { CompletionProvider, CompletionRequest, EmbeddingProvider, Usage } from "../provider.ts";
import type { ProviderOptions } from "../provider_options.ts";
import { type CompletionDelta, readCompletion, readCompletionStream } from "../read_completion.ts";
import { maxCompletionBytes } from "../transport/read_reply.ts";
import { createOllamaContext, type OllamaWindow } from "./ollama_context.ts";
import { readVector, wireVector } from "./read_vector.ts";
import {
  bearer,
  createVendorExchange,
  providerName,
  type VendorExchange,
} from "../transport/vendor_exchange.ts";
import { vendorAddress } from "./vendor_address.ts";
import { vendorFault } from "./vendor_fault.ts";

// a stream's lines have the same shape as the whole answer
const readChat = replyReader(z.object({
  error: z.string().optional(),
  message: z.object({ content: z.string().optional() }).optional(),
  done: z.boolean().optional(),
  done_reason: z.string().optional(),
  prompt_eval_count: z.number().optional(),
  eval_count: z.number().optional(),
}));
const readEmbeddings = replyReader(z.object({
  embeddings: z.array(wireVector),
  prompt_eval_count: z.number().optional(),
}));

/**
 * Completions of Ollama: POST `/api/chat`, whose stream is a JSON value a line.
 * Source: Ollama documentation, API, "Generate a chat message", "Streaming", "Errors".
 */
export function createOllamaCompletion(options: ProviderOptions): CompletionProvider {
  const exchange = ollamaExchange(options);
  const windowFor = createOllamaContext({ ...options, provider: providerName(options) });
  const path = "/api/chat";

  return {
    name: providerName(options),
    ping: (signal) => ping(exchange, signal),
    complete({ signal, timeoutMs, ...request }) {
      const window = windowFor(request);
      return exchange.send({
        path,
        signal,
        timeoutMs,
        maxBytes: maxCompletionBytes,
        body: { ...chatBody(request, options, window), stream: false },
        read: (json) => readCompletion(readAnswer(json, window), options.onUsage),
      });
    },
    stream({ signal, timeoutMs, ...request }) {
      const window = windowFor(request);
      return readCompletionStream(
        exchange.stream({
          path,
          signal,
          timeoutMs,
          format: "lines",
          body: { ...chatBody(request, options, window), stream: true },
          read: ({ data }) => readAnswer(parseItem(data), window),
        }),
        options.onUsage,
      );
    },
  };
}

type Prompt = Pick<CompletionRequest, "system" | "messages">;

/**
 * Embeddings of Ollama: POST `/api/embed`.
 * Source: Ollama documentation, API, "Generate embeddings".
 */
export function createOllamaEmbedding(options: ProviderOptions): EmbeddingProvider {
  const exchange = ollamaExchange(options);
  return {
    name: providerName(options),
    ping: (signal) => ping(exchange, signal),
    embed: (request) =>
      embedInBatches(request, {
        // no limit is documented; a small batch keeps one request on a slow machine within its time
        limits: { texts: 32, bytes: 1_000_000 },
        dimensions: options.dimensions,
        onUsage: options.onUsage,
        embed: (input, signal) =>
          exchange.send({
            path: "/api/embed",
            signal,
            body: { model: options.model, input, dimensions: options.dimensions },
            read: (json) => {
              const { embeddings, prompt_eval_count } = readEmbeddings(json);
              return { vectors: embeddings.map(readVector), promptTokens: prompt_eval_count ?? 0 };
            },
          }),
      }),
  };
}

function ollamaExchange(options: ProviderOptions): VendorExchange {
  return createVendorExchange(options, {
    baseUrl: options.baseUrl ?? vendorAddress("ollama"),
    needsKey: false,
    authHeaders: bearer,
  });
}

async function ping(exchange: VendorExchange, signal: AbortSignal): Promise<void> {
  await exchange.send({ method: "GET", path: "/api/tags", signal, read: () => undefined });
}

function chatBody(
  prompt: Prompt,
  { model, maxTokens, temperature }: ProviderOptions,
  window: OllamaWindow,
) {
  const { system, messages } = prompt;
  return {
    model,
    messages: [...(system ? [{ role: "system", content: system }] : []), ...messages],
    options: { num_ctx: window.size, num_predict: maxTokens, temperature },
  };
}

function readAnswer(json: unknown, window: OllamaWindow): CompletionDelta {
  const { error, message, done, done_reason, prompt_eval_count, eval_count } = readChat(json);
  if (error !== undefined) throw vendorFault(error);
  // only the last line counts; old versions do not count a prompt that they held in memory whole
  const usage: Partial<Usage> = done
    ? { promptTokens: prompt_eval_count ?? 0, completionTokens: eval_count ?? 0 }
    : {};
  window.check(usage.promptTokens);
  return { text: message?.content ?? "", isCut: done_reason === "length", isEnd: done === true, usage };
}
