import { z } from "zod";
import type { EmbeddingProvider, ProviderOptions, RerankProvider } from "../provider.ts";
import { vendorAddresses } from "../provider_kinds.ts";
import { bearer, createVendorExchange } from "../transport/exchange.ts";
import type { VendorInterface } from "../transport/http_attempt.ts";
import { replyReader } from "../transport/read_reply.ts";
import { readNumberedVectors, vendorEmbedding, wireVector } from "./embeddings.ts";
import { createRerank } from "./cohere.ts";

const readEmbeddings = replyReader(z.object({
  data: z.array(z.object({ index: z.number(), embedding: wireVector })),
  usage: z.object({ total_tokens: z.number() }).nullish(),
}));

/**
 * Embeddings of Voyage: POST `/embeddings`.
 * Source: Voyage API reference, "Text embedding models".
 */
export function embedding(options: ProviderOptions): EmbeddingProvider {
  return vendorEmbedding(options, createVendorExchange(options, voyage(options)), {
    path: "/embeddings",
    // 120,000 tokens with the models that take the fewest; hardly a text has a token for every two bytes
    limits: { texts: 1000, bytes: 240_000 },
    body: (input, purpose) => ({
      model: options.model,
      input,
      input_type: purpose,
      output_dimension: options.dimensions,
      encoding_format: "base64",
    }),
    read(json) {
      const { data, usage } = readEmbeddings(json);
      return { vectors: readNumberedVectors(data), promptTokens: usage?.total_tokens ?? 0 };
    },
  });
}

/**
 * Reranking by Voyage, of a thousand documents at most.
 * Source: Voyage API reference, "Rerankers".
 */
export function rerank(options: ProviderOptions): RerankProvider {
  return createRerank(options, voyage(options), "top_k");
}

function voyage({ baseUrl }: ProviderOptions): VendorInterface {
  return { baseUrl: baseUrl ?? vendorAddresses.voyage, needsKey: true, authHeaders: bearer };
}
