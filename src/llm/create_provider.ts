import * as anthropic from "./vendors/anthropic.ts";
import * as cohere from "./vendors/cohere.ts";
import * as gemini from "./vendors/gemini.ts";
import * as ollama from "./vendors/ollama.ts";
import * as onnx from "./onnx/onnx.ts";
import * as openai from "./vendors/openai.ts";
import * as voyage from "./vendors/voyage.ts";
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
import type { ProviderKind } from "./provider_kinds.ts";
import { ProviderError } from "./provider_error.ts";
import { countedTokens } from "./usage.ts";

/** What a kind of provider offers; every vendor's file exports these functions. */
interface Vendor {
  completion?(options: ProviderOptions): CompletionProvider;
  embedding?(options: ProviderOptions): EmbeddingProvider;
  rerank?(options: ProviderOptions): RerankProvider;
}

const vendors: Readonly<Record<ProviderKind, Vendor>> = {
  openai,
  anthropic,
  gemini,
  ollama,
  voyage,
  cohere,
  onnx,
  local: {
    completion: ({ onUsage }) => localCompletion(onUsage),
    embedding: ({ onUsage }) => localEmbedding(onUsage),
  },
};

/**
 * Completions, behind a circuit breaker of their own. With a kind that offers none, every call fails as `unsupported`.
 */
export function createCompletionProvider(options: ProviderOptions): CompletionProvider {
  const { breaker, heard } = withBreaker(options);
  const provider = guardCompletion(
    vendors[options.kind].completion?.(heard) ?? noCompletion(options),
    breaker,
  );
  return options.metrics === undefined ? provider : countCompletion(provider, options.metrics, options);
}

/**
 * Embeddings, behind a circuit breaker of their own. With a kind that offers none, every call fails as `unsupported`.
 */
export function createEmbeddingProvider(options: ProviderOptions): EmbeddingProvider {
  const { breaker, heard } = withBreaker(options);
  const provider = guardEmbedding(vendors[options.kind].embedding?.(heard) ?? noEmbedding(options), breaker);
  return options.metrics === undefined ? provider : countEmbedding(provider, options.metrics, options);
}

/**
 * Reranking, behind a circuit breaker of its own. With a kind that offers none, every call fails as `unsupported`. Kind
 * `cohere` with a base URL is any server with Cohere's and Jina's `/rerank`, which may need no key.
 */
export function createRerankProvider(options: ProviderOptions): RerankProvider {
  const { breaker, heard } = withBreaker(options);
  const provider = guardRerank(vendors[options.kind].rerank?.(heard) ?? noRerank(options), breaker);
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

function noCompletion(options: ProviderOptions): CompletionProvider {
  const { name, refuse } = unsupported(options, "completions");
  const stream = () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) });
  return { name, ping: refuse, complete: refuse, stream };
}

function noEmbedding(options: ProviderOptions): EmbeddingProvider {
  const { name, refuse } = unsupported(options, "embeddings");
  return { name, ping: refuse, embed: refuse };
}

function noRerank(options: ProviderOptions): RerankProvider {
  const { name, refuse } = unsupported(options, "reranking");
  return { name, ping: refuse, rerank: refuse };
}

function unsupported(options: ProviderOptions, operation: string) {
  return {
    name: providerName(options),
    refuse: (): Promise<never> =>
      Promise.reject(new ProviderError("unsupported", `${options.kind} offers no ${operation}`)),
  };
}
