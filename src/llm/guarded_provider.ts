import type { CircuitBreaker } from "./circuit_breaker.ts";
import type {
  CompletionPart,
  CompletionProvider,
  CompletionRequest,
  EmbeddingProvider,
  RerankProvider,
} from "./provider.ts";

// A ping goes past the breaker both ways: who asks for a provider's health wants its own answer, and a list of models
// that can be read says nothing about completions.

/** A provider behind a circuit breaker. A stream succeeds with its `end`; its failure counts however late it comes. */
export function guardCompletion(provider: CompletionProvider, breaker: CircuitBreaker): CompletionProvider {
  return {
    name: provider.name,
    ping: (signal) => provider.ping(signal),
    complete: (request) => breaker.run(() => provider.complete(request), request.signal),
    stream: (request) => guardStream(provider, breaker, request),
  };
}

/** A provider behind a circuit breaker. */
export function guardEmbedding(provider: EmbeddingProvider, breaker: CircuitBreaker): EmbeddingProvider {
  return {
    name: provider.name,
    ping: (signal) => provider.ping(signal),
    embed: (request) => breaker.run(() => provider.embed(request), request.signal),
  };
}

/** A provider behind a circuit breaker. */
export function guardRerank(provider: RerankProvider, breaker: CircuitBreaker): RerankProvider {
  return {
    name: provider.name,
    ping: (signal) => provider.ping(signal),
    rerank: (request) => breaker.run(() => provider.rerank(request), request.signal),
  };
}

async function* guardStream(
  provider: CompletionProvider,
  breaker: CircuitBreaker,
  request: CompletionRequest,
): AsyncGenerator<CompletionPart, void, void> {
  const pass = breaker.enter();
  // a reader that went away may never ask for the next part, and would hold a probe's place
  request.signal.addEventListener("abort", pass.leave, { once: true });
  try {
    for await (const part of provider.stream(request)) {
      if (part.type === "end") pass.succeed();
      yield part;
    }
  } catch (thrown) {
    if (!request.signal.aborted) pass.fail(thrown);
    throw thrown;
  } finally {
    pass.abandon();
    request.signal.removeEventListener("abort", pass.leave);
  }
}
