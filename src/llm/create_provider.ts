import { createCircuitBreaker, guardCompletion, guardEmbedding, guardRerank } from "./circuit_breaker.ts";
import { countCompletion, countEmbedding, countRerank } from "./count_calls.ts";
import { localCompletion } from "./local/local_completion.ts";
import { localEmbedding } from "./local/local_embedding.ts";
import {
  type CompletionProvider,
  type EmbeddingProvider,
  type OnUsage,
  providerName,
  type ProviderOptions,
  type RerankProvider,
} from "./provider.ts";
import type { CompletionKind, EmbeddingKind, RerankKind } from "./provider_kinds.ts";
import { ProviderError } from "./provider_error.ts";
import { countedTokens } from "./usage_ledger.ts";
import { createAnthropicCompletion } from "./vendors/anthropic.ts";
import { createGeminiCompletion, createGeminiEmbedding } from "./vendors/gemini.ts";
import { createOllamaCompletion, createOllamaEmbedding } from "./vendors/ollama.ts";
import { createOpenaiCompletion, createOpenaiEmbedding } from "./vendors/openai.ts";
import { createCohereRerank } from "./vendors/rerank.ts";
import { createVoyageEmbedding, createVoyageRerank } from "./vendors/voyage.ts";

/**
 * Completions, behind a circuit breaker of their own. With a kind that offers none, every call fails as `unsupported`.
 */
export function createCompletionProvider(options: ProviderOptions): CompletionProvider {
  const { breaker, heard } = withBreaker(options);
  const provider = guardCompletion(completionOf(heard), breaker);
  return options.metrics === undefined ? provider : countCompletion(provider, options.metrics, options);
}

/**
 * Embeddings, behind a circuit breaker of their own. With a kind that offers none, every call fails as `unsupported`.
 */
export function createEmbeddingProvider(options: ProviderOptions): EmbeddingProvider {
  const { breaker, heard } = withBreaker(options);
  const provider = guardEmbedding(embeddingOf(heard), breaker);
  return options.metrics === undefined ? provider : countEmbedding(provider, options.metrics, options);
}

/**
 * Reranking, behind a circuit breaker of its own. With a kind that offers none, every call fails as `unsupported`. Kind
 * `cohere` with a base URL is any server with Cohere's and Jina's `/rerank`, which may need no key.
 */
export function createRerankProvider(options: ProviderOptions): RerankProvider {
  const { breaker, heard } = withBreaker(options);
  const provider = guardRerank(rerankOf(heard), breaker);
  return options.metrics === undefined ? provider : countRerank(provider, options.metrics, options);
}

/** A breaker, and the provider's options with which the breaker hears of replies, and tokens are counted. */
function withBreaker(options: ProviderOptions) {
  const breaker = createCircuitBreaker(options);
  const { metrics } = options;
  metrics?.watchCircuit(breaker.state);
  const onUsage: OnUsage = (usage) => {
    options.onUsage?.(usage);
    metrics?.tokens.prompt.add(countedTokens(usage.promptTokens));
    metrics?.tokens.completion.add(countedTokens(usage.completionTokens));
    metrics?.tokens.cache_creation.add(countedTokens(usage.cacheCreationInputTokens));
    metrics?.tokens.cache_read.add(countedTokens(usage.cacheReadInputTokens));
  };
  return { breaker, heard: { ...options, onUsage, onReply: breaker.hear } };
}

const completions: Readonly<Record<CompletionKind, (options: ProviderOptions) => CompletionProvider>> = {
  openai: createOpenaiCompletion,
  anthropic: createAnthropicCompletion,
  gemini: createGeminiCompletion,
  ollama: createOllamaCompletion,
  local: ({ onUsage }) => localCompletion(onUsage),
};

const embeddings: Readonly<Record<EmbeddingKind, (options: ProviderOptions) => EmbeddingProvider>> = {
  openai: createOpenaiEmbedding,
  gemini: createGeminiEmbedding,
  voyage: createVoyageEmbedding,
  ollama: createOllamaEmbedding,
  local: ({ onUsage }) => localEmbedding(onUsage),
};

const reranks: Readonly<Record<RerankKind, (options: ProviderOptions) => RerankProvider>> = {
  voyage: createVoyageRerank,
  cohere: createCohereRerank,
};

function completionOf(options: ProviderOptions): CompletionProvider {
  if (offers(completions, options.kind)) return completions[options.kind](options);
  const { name, refuse } = unsupported(options, "completions");
  return {
    name,
    ping: refuse,
    complete: refuse,
    stream: () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) }),
  };
}

function embeddingOf(options: ProviderOptions): EmbeddingProvider {
  if (offers(embeddings, options.kind)) return embeddings[options.kind](options);
  const { name, refuse } = unsupported(options, "embeddings");
  return { name, ping: refuse, embed: refuse };
}

function rerankOf(options: ProviderOptions): RerankProvider {
  if (offers(reranks, options.kind)) return reranks[options.kind](options);
  const { name, refuse } = unsupported(options, "reranking");
  return { name, ping: refuse, rerank: refuse };
}

function offers<Offered extends object>(offered: Offered, kind: PropertyKey): kind is keyof Offered {
  return Object.hasOwn(offered, kind);
}

function unsupported(options: ProviderOptions, operation: string) {
  return {
    name: providerName(options),
    refuse: (): Promise<never> =>
      Promise.reject(new ProviderError("unsupported", `${options.kind} offers no ${operation}`)),
  };
}
