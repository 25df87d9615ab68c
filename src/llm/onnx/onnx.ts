import { withDeadline } from "../../core/async/deadline.ts";
import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import {
  type EmbeddingProvider,
  noUsage,
  providerName,
  type ProviderOptions,
  type RerankProvider,
} from "../provider.ts";
import { ProviderError } from "../provider_error.ts";
import { usageTeller } from "../usage.ts";
import { embedInBatches } from "../vendors/embeddings.ts";
import type { OnnxModel } from "./onnx_models.ts";

/** So many that other callers of the model wait no more than a moment, and few enough to be cancelled between them. */
const limits = { texts: 8, bytes: 16_384 };
/** Of a question; a cross-encoder reads each with the question. */
const mostReranked = 50;

/** Embeddings by a model on this machine. */
export function embedding(options: ProviderOptions): EmbeddingProvider {
  const run = runner(options);
  async function embed(request: Parameters<EmbeddingProvider["embed"]>[0]) {
    // texts of one length in one run leave no room unused
    const order = [...request.texts.keys()].sort((one, other) =>
      (request.texts[one]?.length ?? 0) - (request.texts[other]?.length ?? 0)
    );
    const texts = order.map((place) => request.texts[place] ?? "");
    const embedded = await embedInBatches({ ...request, texts }, {
      ...options,
      limits,
      async embed(texts, signal) {
        const { rows, tokens } = await run({ kind: "embed", texts, purpose: request.purpose }, signal);
        return { vectors: rows, promptTokens: tokens };
      },
    });
    const vectors: Float32Array[] = [];
    order.forEach((place, at) => vectors[place] = embedded.vectors[at] ?? new Float32Array());
    return { ...embedded, vectors };
  }
  return {
    name: providerName(options),
    ...defined({ readTokens: options.onnx?.readTokens }),
    embed,
    async ping(signal) {
      await embed({ texts: ["ping"], purpose: "query", signal });
    },
  };
}

/**
 * Reranking by a cross-encoder on this machine: of the first 50 documents, with scores from 0 to 1. Those after them
 * follow in their order, with 0.
 */
export function rerank(options: ProviderOptions): RerankProvider {
  const run = runner(options);
  const rerank: RerankProvider["rerank"] = async ({ query, documents, topK, onUsage, signal }) => {
    const scores = documents.map(() => 0);
    let promptTokens = 0;
    for (let first = 0; first < Math.min(documents.length, mostReranked); first += limits.texts) {
      const texts = documents.slice(first, Math.min(first + limits.texts, mostReranked));
      const { rows, tokens } = await run({ kind: "score", query, texts }, signal);
      rows.forEach(([score = 0], at) => scores[first + at] = score);
      promptTokens += tokens;
      usageTeller(options.onUsage, onUsage, () => texts)({ ...noUsage, promptTokens: tokens });
    }
    const results = scores.map((score, index) => ({ index, score })).sort((one, other) =>
      other.score - one.score
    );
    return { results: results.slice(0, topK), usage: { ...noUsage, promptTokens } };
  };
  return {
    name: providerName(options),
    rerank,
    async ping(signal) {
      await rerank({ query: "ping", documents: ["ping"], signal });
    },
  };
}

function runner({ onnx, requestTimeoutMs }: ProviderOptions): OnnxModel["run"] {
  if (onnx === undefined) {
    throw new AppError("internal", "Cannot make a provider of kind onnx: its model is not open");
  }
  const overdue = () => new ProviderError("timeout", `the model took more than ${requestTimeoutMs} ms`);
  return (request, signal) =>
    withDeadline(requestTimeoutMs, signal, (inner) => onnx.run(request, inner), overdue);
}
