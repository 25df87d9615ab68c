import { z } from "zod";
import type {
  CompletionProvider,
  EmbeddingProvider,
  EmbeddingRequest,
  ProviderOptions,
} from "../provider.ts";
import { vendorAddresses } from "../provider_kinds.ts";
import { type CompletionDelta, type Prompt, vendorCompletion } from "../read_completion.ts";
import { errorWithinReply } from "../provider_error.ts";
import { createVendorExchange, type VendorExchange, versionedUrl } from "../transport/exchange.ts";
import { parseItem, replyReader } from "../transport/read_reply.ts";
import { readVector, vendorEmbedding, wireVector } from "./embeddings.ts";

/** What may be read at no cost. */
const ping = "/models?pageSize=1";

const wireUsage = z.object({
  promptTokenCount: z.number().nullish(),
  candidatesTokenCount: z.number().nullish(),
  thoughtsTokenCount: z.number().nullish(),
  cachedContentTokenCount: z.number().nullish(),
});
// a stream's items have the same shape as the whole answer
const readGenerated = replyReader(z.object({
  candidates: z.array(z.object({
    content: z.object({
      parts: z.array(z.object({ text: z.string().optional(), thought: z.boolean().optional() })).optional(),
    }).optional(),
    finishReason: z.string().optional(),
  })).optional(),
  promptFeedback: z.object({ blockReason: z.string().optional() }).optional(),
  usageMetadata: wireUsage.optional(),
  error: z.object({
    code: z.number().optional(),
    status: z.string().optional(),
    message: z.string().optional(),
  }).optional(),
}));
const readEmbeddings = replyReader(z.object({
  embeddings: z.array(z.object({ values: wireVector })),
  usageMetadata: wireUsage.optional(),
}));

/**
 * Completions of Gemini: POST `models/MODEL:generateContent`.
 * Source: Gemini API reference, "Generating content".
 */
export function completion(options: ProviderOptions): CompletionProvider {
  const model = modelPath(options.model);
  return vendorCompletion(options, geminiExchange(options), { path: ping }, (prompt, isStream) => ({
    path: `/${model}:${isStream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: generateBody(prompt, options),
    format: "events",
    readReply: readAnswer,
    readItem: ({ data }) => readAnswer(parseItem(data)),
  }));
}

/**
 * Embeddings of Gemini: POST `models/MODEL:batchEmbedContents`, which takes a hundred texts.
 * Source: Gemini API reference, "Embeddings", and its guide "Embeddings" on task types.
 */
export function embedding(options: ProviderOptions): EmbeddingProvider {
  const model = modelPath(options.model);
  return vendorEmbedding(options, geminiExchange(options), {
    path: `/${model}:batchEmbedContents`,
    limits: { texts: 100, bytes: 2_000_000 },
    body: (texts, purpose) => ({
      requests: texts.map((text) => ({
        model,
        ...embeddedContent(model, text, purpose),
        outputDimensionality: options.dimensions,
      })),
    }),
    read(json) {
      const { embeddings, usageMetadata } = readEmbeddings(json);
      return {
        vectors: embeddings.map(({ values }) => readVector(values)),
        promptTokens: usageMetadata?.promptTokenCount ?? 0,
      };
    },
    ping,
  });
}

function geminiExchange(options: ProviderOptions): VendorExchange {
  return createVendorExchange(options, {
    baseUrl: versionedUrl(options.baseUrl ?? vendorAddresses.gemini, "v1beta"),
    needsKey: true,
    authHeaders: (key) => ({ "x-goog-api-key": key }),
    // a key that Google does not know gets the same status as a bad request
    readError: (detail) => detail.includes("API_KEY_INVALID") ? { kind: "credentials" } : undefined,
  });
}

function modelPath(model: string): string {
  return model.includes("/") ? model : `models/${model}`;
}

function generateBody({ system, messages }: Prompt, options: ProviderOptions) {
  const { maxTokens, temperature } = options;
  const isConfigured = maxTokens !== undefined || temperature !== undefined;
  return {
    systemInstruction: system ? { parts: [{ text: system }] } : undefined,
    contents: messages.map(({ role, content }) => ({
      role: role === "assistant" ? "model" : "user",
      parts: [{ text: content }],
    })),
    generationConfig: isConfigured ? { maxOutputTokens: maxTokens, temperature } : undefined,
  };
}

// From its second generation on, the model reads the task from the text, and `taskType` is refused.
function embeddedContent(model: string, text: string, purpose: EmbeddingRequest["purpose"]) {
  const content = (text: string) => ({ parts: [{ text }] });
  if (/\/gemini-embedding-(?!001)/.test(model)) {
    return {
      content: content(
        purpose === "query" ? `task: search result | query: ${text}` : `title: none | text: ${text}`,
      ),
    };
  }
  return { content: content(text), taskType: purpose === "query" ? "RETRIEVAL_QUERY" : "RETRIEVAL_DOCUMENT" };
}

function readAnswer(json: unknown): CompletionDelta {
  const { candidates, promptFeedback, usageMetadata, error } = readGenerated(json);
  if (error) throw errorWithinReply(error.message, error.status, error.code);
  const candidate = candidates?.[0];
  const reason = candidate?.finishReason;
  return {
    text: (candidate?.content?.parts ?? []).map(({ text, thought }) => thought ? "" : text ?? "").join(""),
    isCut: reason === "MAX_TOKENS",
    isEnd: reason !== undefined,
    declined: readRefusal(promptFeedback?.blockReason, reason),
    usage: usageMetadata ? readUsage(usageMetadata) : {},
  };
}

function readRefusal(blockReason: string | undefined, finishReason: string | undefined): string | undefined {
  if (blockReason) return `the prompt was blocked: ${blockReason.slice(0, 40)}`;
  if (finishReason === undefined || finishReason === "STOP" || finishReason === "MAX_TOKENS") {
    return undefined;
  }
  return `the answer was broken off: ${finishReason.slice(0, 40)}`;
}

function readUsage(usage: z.infer<typeof wireUsage>) {
  return {
    promptTokens: usage.promptTokenCount ?? 0,
    // thoughts are charged as output and counted apart
    completionTokens: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
    cacheReadInputTokens: usage.cachedContentTokenCount ?? 0,
  };
}
