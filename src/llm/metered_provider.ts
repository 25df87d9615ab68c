import type {
  CompletionPart,
  CompletionProvider,
  CompletionRequest,
  EmbeddingProvider,
  RerankProvider,
  Usage,
} from "./provider.ts";
import type { UsageCounter } from "./usage_ledger.ts";

/** Counts what completions use: a stream's as soon as it is reported, whether or not the reader stays for it. */
export function meterCompletion(provider: CompletionProvider, counter: UsageCounter): CompletionProvider {
  return {
    name: provider.name,
    ping: (signal) => provider.ping(signal),
    complete: (request) => metered(provider.complete(request), counter),
    stream: (request) => meterStream(provider, counter, request),
  };
}

/** Counts what embeddings use. */
export function meterEmbedding(provider: EmbeddingProvider, counter: UsageCounter): EmbeddingProvider {
  return {
    name: provider.name,
    ping: (signal) => provider.ping(signal),
    embed: (request) => metered(provider.embed(request), counter),
  };
}

/** Counts what reranking uses. */
export function meterRerank(provider: RerankProvider, counter: UsageCounter): RerankProvider {
  return {
    name: provider.name,
    ping: (signal) => provider.ping(signal),
    rerank: (request) => metered(provider.rerank(request), counter),
  };
}

async function metered<T extends { readonly usage: Usage }>(
  reply: Promise<T>,
  counter: UsageCounter,
): Promise<T> {
  const result = await reply;
  counter.add(result.usage);
  return result;
}

async function* meterStream(
  provider: CompletionProvider,
  counter: UsageCounter,
  request: CompletionRequest,
): AsyncGenerator<CompletionPart, void, void> {
  for await (const part of provider.stream(request)) {
    if (part.type === "end") counter.add(part.usage);
    yield part;
  }
}
