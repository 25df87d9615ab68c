import { z } from "zod";
import type { CompletionProvider, ProviderOptions, Usage } from "../provider.ts";
import { vendorAddresses } from "../provider_kinds.ts";
import { type CompletionDelta, longestAnswer, type Prompt, vendorCompletion } from "../read_completion.ts";
import { errorWithinReply } from "../provider_error.ts";
import { createVendorExchange, versionedUrl } from "../transport/exchange.ts";
import { parseItem, replyReader } from "../transport/read_reply.ts";

const wireUsage = z.object({
  input_tokens: z.number().nullish(),
  output_tokens: z.number().nullish(),
  cache_creation_input_tokens: z.number().nullish(),
  cache_read_input_tokens: z.number().nullish(),
});
type WireUsage = z.infer<typeof wireUsage>;

const readMessage = replyReader(z.object({
  content: z.array(z.object({ type: z.string(), text: z.string().optional() })),
  stop_reason: z.string().nullish(),
  usage: wireUsage,
}));
// one schema for all events; unknown events are ignored, as the documentation asks
const readEvent = replyReader(z.object({
  type: z.string(),
  message: z.object({ usage: wireUsage }).optional(),
  delta: z.object({
    type: z.string().optional(),
    text: z.string().optional(),
    stop_reason: z.string().nullish(),
  }).optional(),
  usage: wireUsage.nullish(),
  error: z.object({ type: z.string(), message: z.string().optional() }).optional(),
}));

/**
 * Completions of Anthropic: POST `/v1/messages`.
 * Source: Claude API documentation, "Messages", "Streaming messages", "Stop reasons", "Errors".
 */
export function completion(options: ProviderOptions): CompletionProvider {
  const exchange = createVendorExchange(options, {
    baseUrl: versionedUrl(options.baseUrl ?? vendorAddresses.anthropic, "v1"),
    needsKey: true,
    authHeaders: (key) => ({ "x-api-key": key }),
  });
  const headers = { "anthropic-version": "2023-06-01" };
  return vendorCompletion(options, exchange, { path: "/models?limit=1", headers }, (prompt, isStream) => ({
    path: "/messages",
    headers,
    body: { ...messagesBody(prompt, options), stream: isStream || undefined },
    format: "events",
    readReply(json) {
      const { content, stop_reason, usage } = readMessage(json);
      const text = content.map((block) => block.type === "text" ? block.text ?? "" : "").join("");
      return { text, usage: readUsage(usage), ...readStop(stop_reason) };
    },
    readItem: createEventReader(),
  }));
}

function messagesBody({ system, messages }: Prompt, options: ProviderOptions) {
  return {
    model: options.model,
    // the interface demands a number
    max_tokens: longestAnswer(options.kind, options.model, options.maxTokens),
    system: system || undefined,
    messages,
    temperature: options.temperature,
  };
}

function createEventReader(): (item: { readonly data: string }) => CompletionDelta {
  let usage: WireUsage = {};
  return ({ data }) => {
    const event = readEvent(parseItem(data));
    switch (event.type) {
      case "message_start":
        usage = { ...event.message?.usage };
        return { usage: readUsage(usage) };
      case "content_block_delta":
        return event.delta?.type === "text_delta" ? { text: event.delta.text ?? "" } : {};
      case "message_delta":
        usage = merged(usage, event.usage);
        return { usage: readUsage(usage), ...readStop(event.delta?.stop_reason) };
      case "message_stop":
        return { isEnd: true };
      case "error":
        throw errorWithinReply(event.error?.message, event.error?.type);
      default:
        return {};
    }
  };
}

// the counts of a later event are totals, and it may leave out those that did not change
function merged(earlier: WireUsage, later: WireUsage | null | undefined): WireUsage {
  const given = Object.entries(later ?? {}).filter(([, count]) => count !== null && count !== undefined);
  return { ...earlier, ...Object.fromEntries(given) };
}

// The documentation says to throw away what came before a refusal.
function readStop(stopReason: string | null | undefined): Pick<CompletionDelta, "isCut" | "declined"> {
  return {
    isCut: stopReason === "max_tokens" || stopReason === "model_context_window_exceeded",
    declined: stopReason === "refusal" ? "the model declined to answer: refusal" : undefined,
  };
}

function readUsage(usage: WireUsage): Usage {
  const cacheCreationInputTokens = usage.cache_creation_input_tokens ?? 0;
  const cacheReadInputTokens = usage.cache_read_input_tokens ?? 0;
  return {
    // `input_tokens` counts only what no cache held
    promptTokens: (usage.input_tokens ?? 0) + cacheCreationInputTokens + cacheReadInputTokens,
    completionTokens: usage.output_tokens ?? 0,
    cacheCreationInputTokens,
    cacheReadInputTokens,
  };
}
