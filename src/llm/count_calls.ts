import type { ProviderMetrics, ProviderOperation } from "../core/metrics/server_metrics.ts";
import type { Span, SpanAttributes } from "../core/tracing.ts";
import type {
  Completion,
  CompletionPart,
  CompletionRequest,
  Embeddings,
  ProviderOptions,
} from "./provider.ts";
import { ProviderError } from "./provider_error.ts";
import { type ProviderKind, vendorAddresses } from "./provider_kinds.ts";

/** What is read of a request of any operation. */
type CountedRequest = Pick<CompletionRequest, "span" | "signal"> & Partial<CompletionRequest>;
/** What is told of its result. */
type CountedResult = Pick<Completion, "usage"> & Partial<Completion & Embeddings>;

/** Counts a provider's calls, and traces those whose request has a span, with all of their attempts. */
export function createCallCounter(
  metrics: ProviderMetrics,
  described: Pick<ProviderOptions, "kind" | "model" | "baseUrl">,
) {
  const ofProvider = providerAttributes(described);

  /** @returns the request to send, and what ends the call, with `ok` or what kept it from that */
  function begin<Request extends CountedRequest>(operation: ProviderOperation, request: Request) {
    const startedAt = performance.now();
    const name = operations[operation];
    const span = request.span?.begin(`${name} ${described.model}`.trimEnd(), "client", {
      ...ofProvider,
      "gen_ai.operation.name": name,
      "gen_ai.request.stream": operation === "stream" ? true : undefined,
    });
    setPrompt(span, request);
    return {
      span,
      traced: span === undefined ? request : { ...request, span },
      end(result: string): void {
        span?.end(result === "ok" ? undefined : result);
        metrics.called(operation, result, performance.now() - startedAt);
      },
    };
  }

  return {
    /** Runs a call. @throws as it does */
    async count<Request extends CountedRequest, Result extends CountedResult>(
      operation: ProviderOperation,
      request: Request,
      call: (request: Request) => Promise<Result>,
    ): Promise<Result> {
      const { span, traced, end } = begin(operation, request);
      let result = "ok";
      try {
        const told = await call(traced);
        setResult(span, told);
        return told;
      } catch (thrown) {
        result = resultOf(thrown, request.signal);
        throw thrown;
      } finally {
        end(result);
      }
    },
    /** Goes through a stream, which counts when it ends; one that its reader leaves counts as cancelled. */
    async *countStream(
      request: CompletionRequest,
      open: (request: CompletionRequest) => AsyncIterable<CompletionPart>,
    ): AsyncGenerator<CompletionPart, void, void> {
      const { span, traced, end } = begin("stream", request);
      const texts: string[] = [];
      let result = "cancelled";
      try {
        for await (const part of open(traced)) {
          if (part.type === "text") {
            if (span !== undefined) texts.push(part.text);
          } else {
            // its reader may ask for nothing after the end
            result = "ok";
            setResult(span, part);
          }
          yield part;
        }
      } catch (thrown) {
        result = resultOf(thrown, request.signal);
        throw thrown;
      } finally {
        setAnswer(span, texts.join(""));
        end(result);
      }
    },
  };
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
  { kind, model, baseUrl = vendorAddresses[kind] }: Pick<ProviderOptions, "kind" | "model" | "baseUrl">,
): SpanAttributes {
  const { hostname, port, protocol } = URL.parse(baseUrl) ?? {};
  return {
    "gen_ai.provider.name": providerNames[kind] ?? kind,
    "gen_ai.request.model": model === "" ? undefined : model,
    ...(hostname &&
      { "server.address": hostname, "server.port": Number(port) || (protocol === "http:" ? 80 : 443) }),
  };
}

/** What a model was asked. */
function setPrompt(span: Span | undefined, { system, messages }: CountedRequest): void {
  if (system !== undefined) {
    span?.setText("gen_ai.system_instructions", () => JSON.stringify([textPart(system)]));
  }
  if (messages === undefined) return;
  span?.setText(
    "gen_ai.input.messages",
    () => JSON.stringify(messages.map(({ role, content }) => ({ role, parts: [textPart(content)] }))),
  );
}

/** What a model answered. */
function setAnswer(span: Span | undefined, text: string): void {
  span?.setText(
    "gen_ai.output.messages",
    () => JSON.stringify([{ role: "assistant", parts: [textPart(text)] }]),
  );
}

const textPart = (content: string) => ({ type: "text", content });

/** What a call used and gave, and whether a completion was cut at its greatest length. */
function setResult(span: Span | undefined, { usage, isCut, text, vectors }: CountedResult): void {
  const { promptTokens, completionTokens, cacheCreationInputTokens, cacheReadInputTokens } = usage;
  span?.set({
    "gen_ai.usage.input_tokens": promptTokens,
    "gen_ai.usage.output_tokens": completionTokens || undefined,
    "gen_ai.usage.cache_creation.input_tokens": cacheCreationInputTokens || undefined,
    "gen_ai.usage.cache_read.input_tokens": cacheReadInputTokens || undefined,
    "gen_ai.embeddings.dimension.count": vectors?.[0]?.length,
    "postern.answer.is_cut": isCut || undefined,
  });
  if (text !== undefined) setAnswer(span, text);
}
