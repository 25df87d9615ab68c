import { createAnthropicCompletion } from "./vendors/anthropic.ts";
import { createGeminiCompletion, createGeminiEmbedding } from "./vendors/gemini.ts";
import { localCompletion } from "./local/local_completion.ts";
import { localEmbedding } from "./local/local_embedding.ts";
import { localRerank } from "./local/local_rerank.ts";
import { createOllamaCompletion, createOllamaEmbedding } from "./vendors/ollama.ts";
import { createOpenaiCompletion, createOpenaiEmbedding } from "./vendors/openai.ts";
import type { CompletionProvider, EmbeddingProvider, RerankProvider } from "./provider.ts";
import { ProviderError } from "./provider_error.ts";
import type { ProviderOptions } from "./provider_options.ts";
import { createRerank } from "./vendors/rerank.ts";
import { vendorAddress } from "./vendors/vendor_address.ts";
import { bearer, providerName } from "./transport/vendor_exchange.ts";
import { createVoyageEmbedding, createVoyageRerank } from "./vendors/voyage.ts";

/** A kind that has no completions makes a provider whose every call fails as `unsupported`. */
export function createCompletionProvider(options: ProviderOptions): CompletionProvider {
  switch (options.kind) {
    case "openai":
      return createOpenaiCompletion(options);
    case "anthropic":
      return createAnthropicCompletion(options);
    case "gemini":
      return createGeminiCompletion(options);
    case "ollama":
      return createOllamaCompletion(options);
    case "local":
      return localCompletion(options.onUsage);
    case "voyage":
    case "cohere": {
      const { name, refuse } = unsupported(options, "completions");
      return {
        name,
        ping: refuse,
        complete: refuse,
        stream: () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) }),
      };
    }
  }
}

/** A kind that has no embeddings makes a provider whose every call fails as `unsupported`. */
export function createEmbeddingProvider(options: ProviderOptions): EmbeddingProvider {
  switch (options.kind) {
    case "openai":
      return createOpenaiEmbedding(options);
    case "gemini":
      return createGeminiEmbedding(options);
    case "voyage":
      return createVoyageEmbedding(options);
    case "ollama":
      return createOllamaEmbedding(options);
    case "local":
      return localEmbedding(options.onUsage);
    case "anthropic":
    case "cohere": {
      const { name, refuse } = unsupported(options, "embeddings");
      return { name, ping: refuse, embed: refuse };
    }
  }
}

const cohereUrl = vendorAddress("cohere");

/**
 * Kind `cohere` with a base URL is any server with Cohere's and Jina's `/rerank`, which may need no key. A kind that has no
 * reranking makes a provider whose every call fails as `unsupported`.
 */
export function createRerankProvider(options: ProviderOptions): RerankProvider {
  switch (options.kind) {
    case "voyage":
      return createVoyageRerank(options);
    case "cohere": {
      const { baseUrl = cohereUrl } = options;
      return createRerank(
        options,
        { baseUrl, needsKey: baseUrl === cohereUrl, authHeaders: bearer },
        "top_n",
      );
    }
    case "local":
      return localRerank(options.onUsage);
    default: {
      const { name, refuse } = unsupported(options, "reranking");
      return { name, ping: refuse, rerank: refuse };
    }
  }
}

function unsupported(options: ProviderOptions, operation: string) {
  return {
    name: providerName(options),
    refuse: (): Promise<never> =>
      Promise.reject(new ProviderError("unsupported", `${options.kind} offers no ${operation}`)),
  };
}
