import { z } from "zod";
import { countTokens } from "../../text/token_count.ts";
import {
  type CompletionProvider,
  type EmbeddingProvider,
  providerName,
  type ProviderOptions,
  type Usage,
} from "../provider.ts";
import { vendorAddresses } from "../provider_kinds.ts";
import { type CompletionDelta, type Prompt, vendorCompletion } from "../read_completion.ts";
import { errorWithinReply } from "../provider_error.ts";
import { bearer, createVendorExchange, type VendorExchange } from "../transport/exchange.ts";
import { parseItem, replyReader } from "../transport/read_reply.ts";
import { readVector, vendorEmbedding, wireVector } from "./embeddings.ts";

/** What may be read at no cost. */
const ping = "/api/tags";

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
export function completion(options: ProviderOptions): CompletionProvider {
  const windowFor = createOllamaContext(options);
  return vendorCompletion(options, ollamaExchange(options), { path: ping }, (prompt, isStream) => {
    const window = windowFor(prompt);
    return {
      path: "/api/chat",
      body: { ...chatBody(prompt, options, window), stream: isStream },
      format: "lines",
      readReply: (json) => readAnswer(json, window),
      readItem: ({ data }) => readAnswer(parseItem(data), window),
    };
  });
}

/**
 * Embeddings of Ollama: POST `/api/embed`.
 * Source: Ollama documentation, API, "Generate embeddings".
 */
export function embedding(options: ProviderOptions): EmbeddingProvider {
  return vendorEmbedding(options, ollamaExchange(options), {
    path: "/api/embed",
    // no limit is documented; a small batch keeps one request on a slow machine within its time
    limits: { texts: 32, bytes: 1_000_000 },
    body: (input) => ({ model: options.model, input, dimensions: options.dimensions }),
    read(json) {
      const { embeddings, prompt_eval_count } = readEmbeddings(json);
      return { vectors: embeddings.map(readVector), promptTokens: prompt_eval_count ?? 0 };
    },
    ping,
  });
}

function ollamaExchange(options: ProviderOptions): VendorExchange {
  return createVendorExchange(options, {
    baseUrl: options.baseUrl ?? vendorAddresses.ollama,
    needsKey: false,
    authHeaders: bearer,
  });
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
  if (error !== undefined) throw errorWithinReply(error);
  // only the last line holds counts; old versions do not count a prompt that they still had in memory
  const usage: Partial<Usage> = done
    ? { promptTokens: prompt_eval_count ?? 0, completionTokens: eval_count ?? 0 }
    : {};
  window.check(usage.promptTokens);
  return { text: message?.content ?? "", isCut: done_reason === "length", isEnd: done === true, usage };
}

/** The context window for one prompt. */
interface OllamaWindow {
  /** Tokens, for `num_ctx`. */
  readonly size: number;
  /**
   * Warns where Ollama read far less of the prompt than was sent.
   * @param readTokens as Ollama counted them; 0 or undefined where it did not
   */
  check(readTokens: number | undefined): void;
}

const stepTokens = 8192;
/** The largest window that is kept for later requests; each takes memory for as long as the model is loaded. */
const largestKeptTokens = 32_768;
/** The largest that is asked for: few models were made for more. */
const largestTokens = 131_072;
const defaultAnswerTokens = 4096;
/** What the model's template puts around a message. */
const tokensPerMessage = 16;
/** Small models' tokenizers make more of a text than the one that `countTokens` is near to. */
const margin = 1.3;

/**
 * The context windows that Ollama is asked for. Its default is small, and it silently drops the beginning of a longer
 * prompt. Windows grow by steps and do not shrink, since Ollama loads the model again for each size; a prompt that is
 * much longer than others gets a window of its own.
 * Source: Ollama documentation, "Context length", and API, "Generate a chat message".
 */
export function createOllamaContext(
  options: Pick<ProviderOptions, "kind" | "model" | "contextTokens" | "maxTokens" | "logger">,
): (prompt: Prompt) => OllamaWindow {
  const { contextTokens, maxTokens = defaultAnswerTokens, logger } = options;
  const largestKept = Math.max(largestKeptTokens, 2 * maxTokens);
  let kept = 0;
  return ({ system = "", messages }) => {
    const texts = [system, ...messages.map(({ content }) => content)];
    const promptTokens = texts.reduce((sum, text) => sum + countTokens(text) + tokensPerMessage, 0);
    const needed = Math.ceil((promptTokens * margin + maxTokens) / stepTokens) * stepTokens;
    if (needed <= largestKept) kept = Math.max(kept, needed);
    return {
      size: contextTokens ?? Math.min(Math.max(kept, needed), largestTokens),
      check(readTokens) {
        if (!readTokens || readTokens * 2 >= promptTokens) return;
        const advice = "set context_tokens, choose a model with a longer context, or lower the token budget";
        logger.warn("Ollama read only a part of the prompt", {
          provider: providerName(options),
          readTokens,
          promptTokens,
          advice,
        });
      },
    };
  };
}
