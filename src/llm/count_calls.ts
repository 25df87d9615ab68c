import type { ProviderMetrics, ProviderOperation } from "../core/metrics/server_metrics.ts";
import type {
  CompletionPart,
  CompletionProvider,
  CompletionRequest,
  EmbeddingProvider,
  RerankProvider,
} from "./provider.ts";
import { ProviderError } from "./provider_error.ts";

/** A provider whose calls are counted. A stream counts when it ends; one that its reader leaves counts as cancelled. */
export function countCompletion(provider: CompletionProvider, metrics: ProviderMetrics): CompletionProvider {
  metrics.offers("complete");
  metrics.offers("stream");
  return {
    ...provider,
    complete: (request) => count(metrics, "complete", () => provider.complete(request), request.signal),
    stream: (request) => countStream(provider, metrics, request),
  };
}

/** A provider whose calls are counted. */
export function countEmbedding(provider: EmbeddingProvider, metrics: ProviderMetrics): EmbeddingProvider {
  metrics.offers("embed");
  return {
    ...provider,
    embed: (request) => count(metrics, "embed", () => provider.embed(request), request.signal),
  };
}

/** A provider whose calls are counted. */
export function countRerank(provider: RerankProvider, metrics: ProviderMetrics): RerankProvider {
  metrics.offers("rerank");
  return {
    ...provider,
    rerank: (request) => count(metrics, "rerank", () => provider.rerank(request), request.signal),
  };
}

async function count<T>(
  metrics: ProviderMetrics,
  operation: ProviderOperation,
  call: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const startedAt = performance.now();
  let result = "ok";
  try {
    return await call();
  } catch (thrown) {
    result = resultOf(thrown, signal);
    throw thrown;
  } finally {
    metrics.called(operation, result, performance.now() - startedAt);
  }
}

async function* countStream(
  provider: CompletionProvider,
  metrics: ProviderMetrics,
  request: CompletionRequest,
): AsyncGenerator<CompletionPart, void, void> {
  const startedAt = performance.now();
  let result = "cancelled";
  try {
    for await (const part of provider.stream(request)) {
      // its reader may ask for nothing after the end
      if (part.type === "end") result = "ok";
      yield part;
    }
  } catch (thrown) {
    result = resultOf(thrown, request.signal);
    throw thrown;
  } finally {
    metrics.called("stream", result, performance.now() - startedAt);
  }
}

function resultOf(thrown: unknown, signal: AbortSignal): string {
  if (signal.aborted) return "cancelled";
  return thrown instanceof ProviderError ? thrown.noAnswer ?? thrown.kind : "internal";
}
