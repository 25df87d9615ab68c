import type { Logger } from "../core/logger.ts";
import type { ProviderMetrics } from "../core/metrics/server_metrics.ts";
import type { Span } from "../core/tracing.ts";
import type { OnnxModel } from "./onnx/onnx_models.ts";
import type { ProviderKind } from "./provider_kinds.ts";

/** What every provider of completions, embeddings or reranking looks like from the outside, whatever its kind. */

/** Tokens as the provider counted them; 0 where it does not say. */
export interface Usage {
  /** All tokens of the prompt, including those of its cached parts. */
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cacheCreationInputTokens: number;
  readonly cacheReadInputTokens: number;
}

export interface Message {
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** What the last message was made from. The local provider, which is no model, answers from this alone. */
export interface Grounding {
  readonly question: string;
  /** In the order of their numbers in the prompt, from 1. */
  readonly documents: readonly string[];
}

export interface ProviderRequest {
  /** Optional; none where it is not traced. */
  readonly span?: Span | undefined;
  /** Told what it used, besides the provider's own `onUsage`: estimated where the provider did not say. */
  readonly onUsage?: OnUsage | undefined;
  /** Whether the circuit breaker is passed by: of work that waits by itself where the provider fails. */
  readonly isUnguarded?: boolean;
  /** Aborting ends the request to the provider. */
  readonly signal: AbortSignal;
}

export interface CompletionRequest extends ProviderRequest {
  readonly system?: string;
  /** The last one is the user's. */
  readonly messages: readonly Message[];
  readonly grounding?: Grounding;
  /**
   * How long the answer may take with all attempts, in milliseconds, where that is less than the provider's own limit; of
   * a stream: until its first item.
   */
  readonly timeoutMs?: number | undefined;
}

export interface Completion {
  readonly text: string;
  readonly usage: Usage;
  /**
   * The answer reached the greatest length allowed and ends there; it may have no text if the model was still thinking.
   */
  readonly isCut: boolean;
}

/** Any number of texts, then one `end`. */
export type CompletionPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "end"; readonly usage: Usage; readonly isCut: boolean };

interface Provider {
  /** Kind and model, as in `anthropic/claude-sonnet-5-5`, for logs and counters; a kind without models is alone. */
  readonly name: string;
  /**
   * Finds out, as cheaply as the provider allows, whether it answers and takes the key.
   * @throws {ProviderError}
   */
  ping(signal: AbortSignal): Promise<void>;
}

export interface CompletionProvider extends Provider {
  /** @throws {ProviderError} or the signal's reason */
  complete(request: CompletionRequest): Promise<Completion>;
  /**
   * Ends with an `end` or throws: a stream that breaks is never a short answer.
   * @throws {ProviderError} or the signal's reason
   */
  stream(request: CompletionRequest): AsyncIterable<CompletionPart>;
}

export interface EmbeddingRequest extends ProviderRequest {
  /** Any number of texts: the provider is asked in batches of what it takes. */
  readonly texts: readonly string[];
  /** Some models embed a question differently from the documents that are searched. */
  readonly purpose: "query" | "document";
}

export interface Embeddings {
  /** One for each text, in order, all of the same length. */
  readonly vectors: readonly Float32Array[];
  readonly usage: Usage;
}

export interface EmbeddingProvider extends Provider {
  /** The most tokens of a text that the model reads, by its own count. Optional: none where it is not known. */
  readonly readTokens?: number;
  /** @throws {ProviderError} or the signal's reason */
  embed(request: EmbeddingRequest): Promise<Embeddings>;
}

export interface RerankRequest extends ProviderRequest {
  readonly query: string;
  readonly documents: readonly string[];
  /** How many of the best to return; all where absent. */
  readonly topK?: number;
}

export interface Reranking {
  /** Best first; `index` is the place in the request's documents, a higher `score` is better. */
  readonly results: readonly { readonly index: number; readonly score: number }[];
  readonly usage: Usage;
}

export interface RerankProvider extends Provider {
  /** @throws {ProviderError} or the signal's reason */
  rerank(request: RerankRequest): Promise<Reranking>;
}

export const noUsage: Usage = {
  promptTokens: 0,
  completionTokens: 0,
  cacheCreationInputTokens: 0,
  cacheReadInputTokens: 0,
};

/** What makes one provider; times are in milliseconds. */
export interface ProviderOptions {
  readonly kind: ProviderKind;
  readonly model: string;
  /** The vendor's own address where absent. */
  readonly baseUrl?: string | undefined;
  /** Asked for each request, so that a key that changes needs no new provider. */
  readonly apiKey: () => string | undefined;
  /** Sent with every request, in place of others of the same name. Their values count as secrets: gateways have keys too. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * The longest answer, in tokens, thoughts included; where absent what the vendor takes for it, and with `anthropic`, which
   * demands a number, what its model is good for.
   */
  readonly maxTokens?: number | undefined;
  /** Of `ollama`, the context window in tokens; where absent as many as the prompts need. */
  readonly contextTokens?: number | undefined;
  /** Not sent where absent: some models refuse it. */
  readonly temperature?: number | undefined;
  /** How long embeddings must be; asked for and checked where given. */
  readonly dimensions?: number;
  /** Of `onnx`, the model. */
  readonly onnx?: OnnxModel | undefined;
  /** For one request with all its attempts; of a stream: until its first item. 0: no limit. */
  readonly requestTimeoutMs: number;
  /** For each attempt; of a stream: until its first item. 0: no limit. */
  readonly perAttemptTimeoutMs: number;
  /**
   * The longest silence of a stream after its first item; without a limit for each attempt, after its headers too. 60,000
   * where absent.
   */
  readonly stallTimeoutMs?: number;
  /**
   * The longest wait that the vendor may ask for; if it asks for more, the request fails at once. 60,000 where absent.
   */
  readonly longestAskedDelayMs?: number | undefined;
  /** Told what each request used, including failed ones and pings. */
  readonly onUsage?: OnUsage | undefined;
  /** Counts its calls. Optional: without it, nothing does, and nothing traces them. */
  readonly metrics?: ProviderMetrics | undefined;
  /** Origins that are told the span of a request, in `traceparent`; none where absent. */
  readonly tracedOrigins?: readonly string[] | undefined;
  /** Told of each piece of a reply to a POST. Replies to a GET say little about POSTs. */
  readonly onReply?: () => void;
  readonly logger: Logger;
  /** 0 up to 1, for the pauses between attempts. */
  readonly random?: () => number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** Told what a request used, however it ended: a reply without an answer costs tokens too. */
export type OnUsage = (usage: Usage) => void;

/** Kind and model, as in `anthropic/claude-sonnet-5-5`, for logs and counters; a kind without models is alone. */
export function providerName({ kind, model }: Pick<ProviderOptions, "kind" | "model">): string {
  return model === "" ? kind : `${kind}/${model}`;
}
