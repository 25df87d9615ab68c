import { z } from "zod";
import {
  noUsage,
  providerName,
  type ProviderOptions,
  type Reranking,
  type RerankProvider,
  type RerankRequest,
} from "../provider.ts";
import { ProviderError } from "../provider_error.ts";
import { vendorAddresses } from "../provider_kinds.ts";
import { bearer, createVendorExchange } from "../transport/exchange.ts";
import type { VendorInterface } from "../transport/http_attempt.ts";
import { replyReader } from "../transport/read_reply.ts";
import { tellThoughLeft, usageTeller } from "../usage.ts";

const scored = z.array(z.object({ index: z.number(), relevance_score: z.number() }));
const readReply = replyReader(z.object({
  results: scored.optional(),
  data: scored.optional(),
  usage: z.object({ total_tokens: z.number().nullish() }).nullish(),
  meta: z.object({ tokens: z.object({ input_tokens: z.number().nullish() }).nullish() }).nullish(),
}));

/** Reranking by Cohere, or with a base URL by any server with its interface, which may need no key. */
export function rerank(options: ProviderOptions): RerankProvider {
  const { baseUrl = vendorAddresses.cohere } = options;
  const needsKey = baseUrl === vendorAddresses.cohere;
  return createRerank(options, { baseUrl, needsKey, authHeaders: bearer }, "top_n");
}

/**
 * Reranking by any server with the interface that Cohere, Jina and Voyage share: POST `/rerank`.
 * @param topName how the server calls the number of results wanted
 * Source: Cohere API reference, "Rerank"; Jina API, "Reranker"; Voyage API reference, "Rerankers".
 */
export function createRerank(
  options: ProviderOptions,
  vendor: VendorInterface,
  topName: "top_n" | "top_k",
): RerankProvider {
  const exchange = createVendorExchange(options, vendor);

  async function rerank(
    { query, documents, topK, signal, span, onUsage }: RerankRequest,
  ): Promise<Reranking> {
    const wanted = Math.min(topK ?? documents.length, documents.length);
    if (wanted <= 0) return { results: [], usage: noUsage };
    const tellUse = usageTeller(options.onUsage, onUsage, () => [query, ...documents]);
    return await tellThoughLeft(tellUse, signal, (tell) =>
      exchange.send({
        path: "/rerank",
        signal,
        span,
        body: { model: options.model, query, documents, [topName]: wanted },
        read: (json) => {
          const reply = readReply(json);
          const promptTokens = reply.usage?.total_tokens ?? reply.meta?.tokens?.input_tokens ?? 0;
          const usage = { ...noUsage, promptTokens };
          tell(usage);
          return { results: best(reply.results ?? reply.data ?? [], documents.length, wanted), usage };
        },
      }));
  }

  return {
    name: providerName(options),
    rerank,
    // no vendor offers these models anything cheaper
    async ping(signal) {
      await rerank({ query: "ping", documents: ["ping"], signal });
    },
  };
}

function best(scores: z.infer<typeof scored>, documents: number, wanted: number): Reranking["results"] {
  const seen = new Set<number>();
  for (const { index } of scores) {
    if (!Number.isInteger(index) || index < 0 || index >= documents || seen.has(index)) {
      throw new ProviderError(
        "provider",
        `the reply ranks document ${index} of ${documents}, which does not exist or was ranked before`,
      );
    }
    seen.add(index);
  }
  if (scores.length < wanted) {
    throw new ProviderError("provider", `the reply ranks ${scores.length} documents instead of ${wanted}`);
  }
  return scores
    .map(({ index, relevance_score }) => ({ index, score: relevance_score }))
    .sort((a, b) => b.score - a.score)
    .slice(0, wanted);
}
