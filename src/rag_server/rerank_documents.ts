import type { Logger } from "../core/logger.ts";
import type { Span } from "../core/tracing.ts";
import { noUsage, type OnUsage, type RerankProvider, type Usage } from "../llm/provider.ts";
import { ProviderError } from "../llm/provider_error.ts";

/**
 * Orders documents by a reranker's scores, the best first, and keeps `topK`. Where the reranker fails they stay as they
 * were: the order suffers, the answer does not.
 *
 * @throws the signal's reason
 */
export async function rerankDocuments<Document extends { readonly content: string; readonly score: number }>(
  reranker: RerankProvider,
  request: {
    readonly question: string;
    readonly documents: readonly Document[];
    readonly topK: number;
    readonly span?: Span | undefined;
    readonly onUsage?: OnUsage | undefined;
    readonly signal: AbortSignal;
    readonly logger: Logger;
  },
): Promise<{ readonly documents: readonly Document[]; readonly usage: Usage }> {
  const { question, documents, topK, span, onUsage, signal, logger } = request;
  if (documents.length === 0) return { documents, usage: noUsage };
  try {
    const { results, usage } = await reranker.rerank({
      query: question,
      documents: documents.map(({ content }) => content),
      topK,
      span,
      onUsage,
      signal,
    });
    const ordered = results.flatMap(({ index, score }) => {
      const document = documents[index];
      return document === undefined ? [] : [{ ...document, score }];
    });
    return { documents: ordered.slice(0, topK), usage };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    logger.warn("Reranking failed; the documents keep the order of the search", {
      provider: reranker.name,
      error,
      detail: error.detail,
    });
    return { documents: documents.slice(0, topK), usage: noUsage };
  }
}
