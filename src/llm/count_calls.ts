import type { ProviderMetrics, ProviderOperation } from "../core/metrics/server_metrics.ts";
import type { Span, SpanAttributes } from "../core/tracing.ts";
import type {
  CompletionPart,
  CompletionProvider,
  CompletionRequest,
  EmbeddingProvider,
  ProviderOptions,
  RerankProvider,
  Usage,
} from "./provider.ts";
import { ProviderError } from "./provider_error.ts";
import { type ProviderKind, vendorAddresses } from "./provider_kinds.ts";

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

/** As the semantic conventions for GenAI call the operations; they have none for reranking. */
const operations: Readonly<Record<ProviderOperation, string>> = {
  complete: "chat",
  stream: "chat",
  embed: "embeddings",
  rerank: "rerank",
};

/** The names of providers that differ from ours. */
const providerNames: Partial<Record<ProviderKind, string>> = { gemini: "gcp.gemini" };

/** What all spans of a provider's calls say. */
function providerAttributes(
  { kind, model, baseUrl }: Pick<ProviderOptions, "kind" | "model" | "baseUrl">,
): SpanAttributes {
  const address = baseUrl ?? vendorAddresses[kind];
  const { hostname, port, protocol } = URL.parse(address) ?? {};
  return {
    "gen_ai.provider.name": providerNames[kind] ?? kind,
    "gen_ai.request.model": model === "" ? undefined : model,
    ...(hostname &&
      { "server.address": hostname, "server.port": Number(port) || (protocol === "http:" ? 80 : 443) }),
  };
}

/** Begins the span of a call, with all of its attempts. */
function beginCall(
  parent: Span | undefined,
  operation: ProviderOperation,
  ofProvider: SpanAttributes,
): Span | undefined {
  const name = operations[operation];
  return parent?.begin(`${name} ${ofProvider["gen_ai.request.model"] ?? ""}`.trimEnd(), "client", {
    ...ofProvider,
    "gen_ai.operation.name": name,
    "gen_ai.request.stream": operation === "stream" ? true : undefined,
  });
}

/** What a model was asked. */
function setPrompt(span: Span | undefined, { system, messages }: CompletionRequest): void {
  if (system !== undefined) {
    span?.setText("gen_ai.system_instructions", () => JSON.stringify([textPart(system)]));
  }
  span?.setText(
    "gen_ai.input.messages",
    () => JSON.stringify(messages.map(({ role, content }) => ({ role, parts: [textPart(content)] }))),
  );
}

/** What a model answered. */
function setAnswer(span: Span | undefined, text: () => string): void {
  span?.setText(
    "gen_ai.output.messages",
    () => JSON.stringify([{ role: "assistant", parts: [textPart(text())] }]),
  );
}

const textPart = (content: string) => ({ type: "text", content });

/** What a call used, and whether a completion was cut at its greatest length. */
function setUsage(span: Span | undefined, usage: Usage, isCut = false): void {
  const { promptTokens, completionTokens, cacheCreationInputTokens, cacheReadInputTokens } = usage;
  span?.set({
    "gen_ai.usage.input_tokens": promptTokens,
    "gen_ai.usage.output_tokens": completionTokens || undefined,
    "gen_ai.usage.cache_creation.input_tokens": cacheCreationInputTokens || undefined,
    "gen_ai.usage.cache_read.input_tokens": cacheReadInputTokens || undefined,
    "postern.answer.is_cut": isCut ? true : undefined,
  });
}
