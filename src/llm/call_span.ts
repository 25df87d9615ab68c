import type { ProviderOperation } from "../core/metrics/server_metrics.ts";
import type { Span, SpanAttributes } from "../core/tracing.ts";
import type { CompletionRequest, ProviderOptions, Usage } from "./provider.ts";
import { type ProviderKind, vendorAddresses } from "./provider_kinds.ts";

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
export function providerAttributes(
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
export function beginCall(
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
export function setPrompt(span: Span | undefined, { system, messages }: CompletionRequest): void {
  if (system !== undefined) {
    span?.setText("gen_ai.system_instructions", () => JSON.stringify([textPart(system)]));
  }
  span?.setText(
    "gen_ai.input.messages",
    () => JSON.stringify(messages.map(({ role, content }) => ({ role, parts: [textPart(content)] }))),
  );
}

/** What a model answered. */
export function setAnswer(span: Span | undefined, text: () => string): void {
  span?.setText(
    "gen_ai.output.messages",
    () => JSON.stringify([{ role: "assistant", parts: [textPart(text())] }]),
  );
}

const textPart = (content: string) => ({ type: "text", content });

/** What a call used, and whether a completion was cut at its greatest length. */
export function setUsage(span: Span | undefined, usage: Usage, isCut = false): void {
  const { promptTokens, completionTokens, cacheCreationInputTokens, cacheReadInputTokens } = usage;
  span?.set({
    "gen_ai.usage.input_tokens": promptTokens,
    "gen_ai.usage.output_tokens": completionTokens || undefined,
    "gen_ai.usage.cache_creation.input_tokens": cacheCreationInputTokens || undefined,
    "gen_ai.usage.cache_read.input_tokens": cacheReadInputTokens || undefined,
    "postern.answer.is_cut": isCut ? true : undefined,
  });
}
