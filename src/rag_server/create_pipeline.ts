import { AppError } from "../core/app_error.ts";
import type { Logger } from "../core/logger.ts";
import type { CompletionProvider, EmbeddingProvider, RerankProvider, Usage } from "../llm/provider.ts";
import { ProviderError } from "../llm/provider_error.ts";
import { countTokens } from "../text/token_count.ts";
import { type AnswerPrompt, buildAnswerPrompt, longestQuestion } from "./answer_prompt.ts";
import type { Pipeline } from "./pipelines.ts";
import type { PipelineQuery, Source } from "./query.ts";
import { rerankDocuments } from "./rerank_documents.ts";
import type { RetrievedDocument, Retriever } from "./search/retrieve.ts";
import { searchText } from "./search_text.ts";

export interface PipelineOptions {
  readonly name: string;
  readonly description: string;
  /** The retriever over the tables as they are now. */
  readonly retriever: (signal: AbortSignal) => Promise<Retriever>;
  readonly embedding: EmbeddingProvider;
  readonly completion: CompletionProvider;
  /** Reorders four times the documents that are wanted. */
  readonly rerank?: { readonly provider: RerankProvider; readonly topK?: number };
  readonly topN: number;
  readonly tokenBudget: number;
  readonly systemPrompt?: string;
  readonly allowsSources: boolean;
  readonly logger: Logger;
}

/** What a reranker sees for each document that is wanted: it can only raise what it is shown. */
const rerankDepth = 4;

/** Said in place of an answer that would have nothing to stand on. */
const nothingFound = "No relevant information was found in the documents.";

/** What a question comes to before a model is asked. */
interface Prepared {
  readonly prompt: AnswerPrompt<RetrievedDocument>;
  readonly usages: readonly Usage[];
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { embedding, completion, rerank, allowsSources, logger } = options;

  async function prepare(query: PipelineQuery): Promise<Prepared> {
    const { signal, filter, messages } = query;
    const caller = query.address === undefined ? {} : { address: query.address };
    checkLength(query.query, options.tokenBudget);
    const retriever = await options.retriever(signal);
    if (filter !== undefined) await retriever.checkFilter(filter, { ...caller, signal });
    const question = searchText(query.query, messages);
    const usages: Usage[] = [];
    const embed = once(async () => {
      const { vectors: [vector], usage } = await embedding.embed({
        texts: [question],
        purpose: "query",
        signal,
      });
      usages.push(usage);
      if (vector === undefined) throw new ProviderError("provider", "no vector for the question");
      return vector;
    });
    const topN = query.topN ?? options.topN;
    const found = await retriever.retrieve({
      question,
      embedding: embed,
      limit: rerank === undefined ? topN : topN * rerankDepth,
      hybrid: !query.disableHybrid,
      signal,
      ...caller,
      ...(filter === undefined ? {} : { filter }),
    });
    let documents = found;
    if (rerank !== undefined) {
      const topK = Math.min(topN, rerank.topK ?? topN);
      const order = { question, documents, topK, signal, logger };
      const reranked = await rerankDocuments(rerank.provider, order);
      documents = reranked.documents;
      usages.push(reranked.usage);
    }
    const prompt = buildAnswerPrompt({
      question: query.query,
      history: messages,
      documents,
      tokenBudget: options.tokenBudget,
      ...(options.systemPrompt === undefined ? {} : { systemPrompt: options.systemPrompt }),
    });
    return { prompt, usages };
  }

  function ending(query: PipelineQuery, { prompt, usages }: Prepared, completed: readonly Usage[]) {
    const tokensUsed = [...usages, ...completed].reduce((sum, usage) => sum + totalOf(usage), 0);
    if (!query.includeSources) return { tokensUsed };
    if (allowsSources) return { sources: prompt.shown.map(sourceOf), tokensUsed };
    logger.info("Sources were asked for and are not permitted", { pipeline: options.name });
    return { tokensUsed };
  }

  return {
    name: options.name,
    description: options.description,
    allowsSources,
    async answer(query) {
      const prepared = await prepare(query);
      if (prepared.prompt.shown.length === 0) return { answer: nothingFound, ...ending(query, prepared, []) };
      const { text, usage } = await completion.complete({ ...prepared.prompt, signal: query.signal });
      return { answer: text, ...ending(query, prepared, [usage]) };
    },
    async *stream(query) {
      const prepared = await prepare(query);
      const completed: Usage[] = [];
      if (prepared.prompt.shown.length === 0) {
        yield { type: "chunk", content: nothingFound };
      } else {
        for await (const part of completion.stream({ ...prepared.prompt, signal: query.signal })) {
          if (part.type === "text") yield { type: "chunk", content: part.text };
          else completed.push(part.usage);
        }
      }
      yield { type: "done", ...ending(query, prepared, completed) };
    },
  };
}

/** The same promise for every caller. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => made ??= make();
}

function checkLength(question: string, tokenBudget: number): void {
  const longest = longestQuestion(tokenBudget);
  const tokens = countTokens(question);
  if (tokens <= longest) return;
  throw new AppError(
    "invalid",
    `query: expected at most ${longest} tokens for this pipeline; got about ${tokens}`,
  );
}

function sourceOf({ id, content, score }: RetrievedDocument): Source {
  return { ...(id === undefined ? {} : { id }), content, score };
}

function totalOf({ promptTokens, completionTokens }: Usage): number {
  return promptTokens + completionTokens;
}
