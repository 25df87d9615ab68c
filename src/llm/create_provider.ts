import * as anthropic from "./vendors/anthropic.ts";
import * as cohere from "./vendors/cohere.ts";
import * as gemini from "./vendors/gemini.ts";
import * as ollama from "./vendors/ollama.ts";
import * as onnx from "./onnx/onnx.ts";
import * as openai from "./vendors/openai.ts";
import * as voyage from "./vendors/voyage.ts";
import { createCircuitBreaker } from "./circuit_breaker.ts";
import { createCallCounter } from "./count_calls.ts";
import { localCompletion } from "./local/local_completion.ts";
import { localEmbedding } from "./local/local_embedding.ts";
import type { ProviderOperation } from "../core/metrics/server_metrics.ts";
import {
  type CompletionProvider,
  type CompletionRequest,
  type EmbeddingProvider,
  type OnUsage,
  providerName,
  type ProviderOptions,
  type ProviderRequest,
  type RerankProvider,
  type Usage,
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

// A ping is sent while the circuit is open too, and does not count: whoever asks for a provider's health wants its
// own answer, and a list of models that can be read says nothing about completions.

/**
 * Completions, behind a circuit breaker of their own. With a kind that offers none, every call fails as `unsupported`.
 */
export function createCompletionProvider(options: ProviderOptions): CompletionProvider {
  const { heard, run, stream } = watchCalls(options, ["complete", "stream"]);
  const provider = vendors[options.kind].completion?.(heard) ?? unsupported(options, "completions");
  return {
    ...provider,
    complete: (request) => run("complete", request, provider.complete),
    stream: (request) => stream(request, provider.stream),
  };
}

/**
 * Embeddings, behind a circuit breaker of their own. With a kind that offers none, every call fails as `unsupported`.
 */
export function createEmbeddingProvider(options: ProviderOptions): EmbeddingProvider {
  const { heard, run } = watchCalls(options, ["embed"]);
  const provider = vendors[options.kind].embedding?.(heard) ?? unsupported(options, "embeddings");
  return { ...provider, embed: (request) => run("embed", request, provider.embed) };
}

/**
 * Reranking, behind a circuit breaker of its own. With a kind that offers none, every call fails as `unsupported`. Kind
 * `cohere` with a base URL is any server with Cohere's and Jina's `/rerank`, which may need no key.
 */
export function createRerankProvider(options: ProviderOptions): RerankProvider {
  const { heard, run } = watchCalls(options, ["rerank"]);
  const provider = vendors[options.kind].rerank?.(heard) ?? unsupported(options, "reranking");
  return { ...provider, rerank: (request) => run("rerank", request, provider.rerank) };
}

/** What a provider's calls go through: its breaker, and where there are metrics, what counts and traces them. */
function watchCalls(options: ProviderOptions, offered: readonly ProviderOperation[]) {
  const breaker = createCircuitBreaker(options);
  const { metrics } = options;
  metrics?.watchCircuit(breaker.state);
  for (const operation of offered) metrics?.offers(operation);
  const counter = metrics && createCallCounter(metrics, options);
  const onUsage: OnUsage = (usage) => {
    options.onUsage?.(usage);
    metrics?.tokens.prompt.add(countedTokens(usage.promptTokens));
    metrics?.tokens.completion.add(countedTokens(usage.completionTokens));
    metrics?.tokens.cache_creation.add(countedTokens(usage.cacheCreationInputTokens));
    metrics?.tokens.cache_read.add(countedTokens(usage.cacheReadInputTokens));
  };
  return {
    /** The provider's options with which the breaker hears of replies, and tokens are counted. */
    heard: { ...options, onUsage, onReply: breaker.hear },
    run<Request extends ProviderRequest, Result extends { readonly usage: Usage }>(
      operation: ProviderOperation,
      request: Request,
      call: (request: Request) => Promise<Result>,
    ): Promise<Result> {
      const guarded = (request: Request) =>
        request.isUnguarded ? call(request) : breaker.run(() => call(request), request.signal);
      return counter?.count(operation, request, guarded) ?? guarded(request);
    },
    stream(request: CompletionRequest, open: CompletionProvider["stream"]) {
      const guarded = (request: CompletionRequest) => breaker.stream(() => open(request), request.signal);
      return counter?.countStream(request, guarded) ?? guarded(request);
    },
  };
}

/** A provider of any kind, all of whose calls are refused. */
function unsupported(options: ProviderOptions, operation: string) {
  const refuse = (): Promise<never> =>
    Promise.reject(new ProviderError("unsupported", `${options.kind} offers no ${operation}`));
  const stream = () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) });
  return {
    name: providerName(options),
    ping: refuse,
    complete: refuse,
    stream,
    embed: refuse,
    rerank: refuse,
  };
}
