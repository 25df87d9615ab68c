import { AppError } from "../../../core/app_error.ts";
import type { Principal } from "../../../core/principal.ts";
import type { EmbeddingProvider, OnUsage } from "../../../llm/provider.ts";
import { ProviderError } from "../../../llm/provider_error.ts";
import type { CallContext } from "../../call_context.ts";
import { z } from "zod";
import { defineTool, type Tool } from "../tool.ts";
import { questionArgument } from "./pipeline_directory.ts";

/** The embedding provider of the tool server. */
export interface Embedding {
  /** As configured; the kind where it has no models. */
  readonly model: string;
  /** Of its vectors against words, in a search by both; from 0 to 1. */
  readonly vectorWeight: number;
  /** Opened when it is first asked for. */
  readonly provider: () => Promise<EmbeddingProvider>;
  /**
   * Asked before the provider is asked for a caller; what it returns is told what that used. Optional: without it, nothing counts it.
   * @throws {AppError} `quota_exceeded`
   */
  readonly count?: ((principal: Principal) => OnUsage | undefined) | undefined;
}

/**
 * The vector of one text.
 * @throws {AppError} `quota_exceeded`; with the provider's phrase, after the log has heard the rest; the signal's reason
 */
export async function embedText(
  { provider, count }: Embedding,
  text: string,
  purpose: "query" | "document",
  { principal, signal, span, logger }: Pick<CallContext, "principal" | "signal" | "span" | "logger">,
): Promise<Float32Array> {
  const onUsage = count?.(principal);
  try {
    const request = { texts: [text], purpose, span, onUsage, signal };
    const { vectors: [vector] } = await (await provider()).embed(request);
    if (vector !== undefined) return vector;
    throw new ProviderError("provider", "the provider returned no vector for the text");
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    const { detail, message, code } = error;
    logger.error("A text was not embedded", { error, detail });
    throw new AppError(code === "internal" ? "upstream" : code, `Cannot embed the text: ${message}`, {
      cause: error,
    });
  }
}

/** Single precision has no more that count. */
const digits = 7;

export function generateEmbedding(embedding: Embedding): Tool {
  return defineTool({
    name: "generate_embedding",
    title: "Generate an embedding",
    description:
      "Turn a text into a vector by the configured model, as a literal for pgvector. Vectors are long: to " +
      "search by meaning use similarity_search, which embeds by itself.",
    input: z.strictObject({ text: questionArgument }),
    output: z.object({ model: z.string(), dimensions: z.int(), vector: z.array(z.number()) }),
    annotations: { idempotentHint: true, openWorldHint: true },
    async run({ text }, context) {
      const embedded = await embedText(embedding, text, "query", context);
      const vector = Array.from(embedded, (value) => Number(value.toPrecision(digits)));
      const { model } = embedding;
      return {
        text: `Model: ${model}\nDimensions: ${vector.length}\n\n[${vector.join(",")}]`,
        data: { model, dimensions: vector.length, vector },
      };
    },
  });
}
