import type { ProviderMetrics, ProviderOperation } from "../core/metrics/server_metrics.ts";
import type { Span, SpanAttributes } from "../core/tracing.ts";
import { beginCall, providerAttributes, setAnswer, setPrompt, setUsage } from "./call_span.ts";
import type {
  CompletionPart,
  CompletionProvider,
  CompletionRequest,
  EmbeddingProvider,
  ProviderOptions,
  RerankProvider,
} from "./provider.ts";
import { ProviderError } from "./provider_error.ts";

/** A call that is counted, and traced where its request has a span. */
interface CountedCall {
  readonly metrics: ProviderMetrics;
  readonly operation: ProviderOperation;
  readonly ofProvider: SpanAttributes;
}

type Described = Pick<ProviderOptions, "kind" | "model" | "baseUrl">;

/**
 * A provider whose calls are counted and traced. A stream counts when it ends; one that its reader leaves counts as
 * cancelled.
 */
export function countCompletion(
  provider: CompletionProvider,
  metrics: ProviderMetrics,
  described: Described,
): CompletionProvider {
  const ofProvider = providerAttributes(described);
  metrics.offers("complete");
  metrics.offers("stream");
  return {
    ...provider,
    complete: (request) =>
      count({ metrics, operation: "complete", ofProvider }, request, async (traced, span) => {
        setPrompt(span, request);
        const completion = await provider.complete(traced);
        setUsage(span, completion.usage, completion.isCut);
        setAnswer(span, () => completion.text);
        return completion;
      }),
    stream: (request) => countStream({ metrics, operation: "stream", ofProvider }, provider, request),
  };
}

/** A provider whose calls are counted and traced. */
export function countEmbedding(
  provider: EmbeddingProvider,
  metrics: ProviderMetrics,
  described: Described,
): EmbeddingProvider {
  const ofProvider = providerAttributes(described);
  metrics.offers("embed");
  return {
    ...provider,
    embed: (request) =>
      count({ metrics, operation: "embed", ofProvider }, request, async (traced, span) => {
        const embeddings = await provider.embed(traced);
        setUsage(span, embeddings.usage);
        span?.set({ "gen_ai.embeddings.dimension.count": embeddings.vectors[0]?.length });
        return embeddings;
      }),
  };
}

/** A provider whose calls are counted and traced. */
export function countRerank(
  provider: RerankProvider,
  metrics: ProviderMetrics,
  described: Described,
): RerankProvider {
  const ofProvider = providerAttributes(described);
  metrics.offers("rerank");
  return {
    ...provider,
    rerank: (request) =>
      count({ metrics, operation: "rerank", ofProvider }, request, async (traced, span) => {
        const reranking = await provider.rerank(traced);
        setUsage(span, reranking.usage);
        return reranking;
      }),
  };
}

async function count<R extends { readonly span?: Span | undefined; readonly signal: AbortSignal }, T>(
  { metrics, operation, ofProvider }: CountedCall,
  request: R,
  call: (request: R, span: Span | undefined) => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  const span = beginCall(request.span, operation, ofProvider);
  let result = "ok";
  try {
    return await call(span === undefined ? request : { ...request, span }, span);
  } catch (thrown) {
    result = resultOf(thrown, request.signal);
    throw thrown;
  } finally {
    span?.end(result === "ok" ? undefined : result);
    metrics.called(operation, result, performance.now() - startedAt);
  }
}

async function* countStream(
  { metrics, operation, ofProvider }: CountedCall,
  provider: CompletionProvider,
  request: CompletionRequest,
): AsyncGenerator<CompletionPart, void, void> {
  const startedAt = performance.now();
  const span = beginCall(request.span, operation, ofProvider);
  setPrompt(span, request);
  const texts: string[] = [];
  let result = "cancelled";
  try {
    for await (const part of provider.stream(span === undefined ? request : { ...request, span })) {
      if (part.type === "text") {
        if (span !== undefined) texts.push(part.text);
      } else {
        // its reader may ask for nothing after the end
        result = "ok";
        setUsage(span, part.usage, part.isCut);
      }
      yield part;
    }
  } catch (thrown) {
    result = resultOf(thrown, request.signal);
    throw thrown;
  } finally {
    setAnswer(span, () => texts.join(""));
    span?.end(result === "ok" ? undefined : result);
    metrics.called(operation, result, performance.now() - startedAt);
  }
}

function resultOf(thrown: unknown, signal: AbortSignal): string {
  if (signal.aborted) return "cancelled";
  return thrown instanceof ProviderError ? thrown.noAnswer ?? thrown.kind : "internal";
}
