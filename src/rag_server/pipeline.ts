import { defined } from "../core/defined.ts";
import { isTimeout, withDeadline } from "../core/async/deadline.ts";
import type { Logger } from "../core/logger.ts";
import { timed } from "../core/metrics/metric_family.ts";
import { createServerMetrics, type QueryStages } from "../core/metrics/server_metrics.ts";
import { type Principal, readerFor, serverItself } from "../core/principal.ts";
import { spanned } from "../core/tracing.ts";
import type { AccessObject } from "../identity/access_rules.ts";
import {
  type CompletionProvider,
  type EmbeddingProvider,
  noUsage,
  type RerankProvider,
  type RerankRequest,
  type Usage,
} from "../llm/provider.ts";
import { ProviderError } from "../llm/provider_error.ts";
import type { Database } from "../postgres/database.ts";
import type { AnswerThreshold } from "./answer_threshold.ts";
import type { PipelineHealth } from "./api/rag_replies.ts";
import { buildAnswerPrompt, checkQuestionLength } from "./answer_prompt.ts";
import type { SearchCaller } from "./filter/check_filter.ts";
import type { PipelineQuery } from "./query.ts";
import { createSearchQuestion } from "./search_question.ts";
import type { RetrievedDocument } from "./search/fusion.ts";
import type { Retriever } from "./search/retriever.ts";
import type { QueueState } from "./watch/embed_queue.ts";
import type { TableState } from "./search/searched_table.ts";
import type { DocumentDetails, StoredDocument, StoredDocuments } from "./search/stored_documents.ts";
import { tokensOf, type UsageCounter } from "../llm/usage.ts";

/** A named way from a question to an answer out of documents. */
export interface Pipeline extends AccessObject {
  readonly kind: "pipeline";
  readonly description: string;
  /** Optional: questions to begin with. */
  readonly examples?: string[] | undefined;
  /** Whether clients may see the documents of an answer: `allow_include_sources` of the configuration. */
  readonly allowsSources: boolean;
  /** A key that two callers share only if they may read the same rows. */
  readonly rightsKey: (principal: Principal) => string;
  /**
   * Nothing is asked, and no place taken.
   * @throws {UntoldCallerError} where its database cannot be told who asks; so do all that read for a caller
   */
  checkCaller(caller: Principal | undefined): void;
  /**
   * @throws {AppError} `invalid` for a question that is too long, and for a filter that does not fit the tables, naming
   * the field
   * @throws {ProviderError} where a provider fails
   * @throws {AppError} `unavailable` or `upstream` where the database does
   */
  answer(query: PipelineQuery): Promise<PipelineAnswer>;
  /** The same in parts, as `answer` throws. */
  stream(query: PipelineQuery): AsyncIterable<PipelineEvent>;
  /** The documents for a question, the best first, without an answer. Throws as `answer`. */
  findDocuments(query: PipelineQuery): Promise<FoundDocuments>;
  /** A document by the key that `findDocuments` or an answer's source has; undefined where there is none. Throws as `answer`. */
  readDocument(key: string, caller: SearchCaller): Promise<StoredDocument | undefined>;
  /** Reads the definitions of its tables, so that their faults show before the first query. Throws as `answer`. */
  check(signal: AbortSignal): Promise<void>;
  /** Pings its providers and its database. */
  health(): Promise<PipelineHealth>;
  /** Pings its database alone; rejects where that cannot be reached. */
  ping(signal: AbortSignal): Promise<void>;
  /** Tokens since the process began. */
  readonly usage: PipelineUsage;
}

/** A document as a search found it. */
export interface FoundDocument
  extends Source, Pick<RetrievedDocument, "table" | "similarity" | "nearest" | "matching"> {}

export interface FoundDocuments {
  /** The best first. */
  readonly sources: readonly FoundDocument[];
  /** As a {@linkcode PipelineAnswer} tells it. */
  readonly searchQuery?: string;
  /** Of embedding, reranking, and the model where it made the question. */
  readonly tokensUsed: number;
}

/** A document that went into the prompt; with details where the query shows sources. */
export interface Source extends DocumentDetails {
  /** By which `readDocument` finds it, as long as the configuration stays. */
  readonly key: string;
  /** Optional: none where the table has no column for it. */
  readonly id?: string;
  readonly content: string;
  /** Higher is better; comparable within one answer only. */
  readonly score: number;
  /** Others that say nearly the same, and were left out for it. Optional: none where there are none. */
  readonly copies?: number;
}

export interface PipelineAnswer {
  readonly answer: string;
  /** Optional: what was searched for, where that is not the question itself. */
  readonly searchQuery?: string;
  /** In the prompt's order. */
  readonly sources: readonly Source[];
  /** Of all providers, embedding and reranking among them. */
  readonly tokensUsed: number;
  /** Optional: of these, what models wrote. */
  readonly completionTokens?: number;
  /** Whether no model was asked, as no document was near enough. */
  readonly isUnanswered?: true;
  /** Whether the answer reached the longest that its model may write, and ends there. */
  readonly isCut?: boolean;
}

/** Any number of chunks, then one `done`; an error is thrown. */
export type PipelineEvent =
  | { readonly type: "chunk"; readonly content: string }
  | { readonly type: "done" } & Omit<PipelineAnswer, "answer">;

export interface PipelineUsage {
  readonly embedding: UsageCounter;
  readonly completion: UsageCounter;
  /** Optional: none where the pipeline reranks nothing. */
  readonly rerank?: UsageCounter | undefined;
}

interface PipelineOptions {
  readonly name: string;
  readonly description: string;
  /** Optional: questions to begin with. */
  readonly examples?: string[] | undefined;
  /** As in `AccessObject`. */
  readonly availableToUsers: readonly string[];
  /** The retriever over the tables as they are now. */
  readonly retriever: (signal: AbortSignal) => Promise<Retriever>;
  readonly database: Pick<Database, "ping" | "rightsKey" | "checkCaller">;
  /** How far its vectors are behind. Optional; omit where no queue is looked at. */
  readonly queue?: () => Promise<QueueState | undefined>;
  /** What is known of its tables. Optional; omit where they are not told of. */
  readonly tables?: () => Promise<readonly TableState[] | undefined>;
  /** Whether callers might read rows of others, so that it does not serve. Optional; the default is never. */
  readonly isUnproven?: () => boolean;
  /** Whether its columns have vectors of another model, so that no question is answered. Optional; the default is never. */
  readonly isOtherModel?: () => boolean;
  readonly embedding: EmbeddingProvider;
  readonly completion: CompletionProvider;
  /** Makes questions of their own of those that follow others. Optional: without it, no model does. */
  readonly rewriting?: CompletionProvider | undefined;
  /** Reorders four times the documents that are wanted. */
  readonly rerank?: { readonly provider: RerankProvider; readonly topK?: number | undefined } | undefined;
  readonly usage: PipelineUsage;
  readonly topN: number;
  readonly tokenBudget: number;
  readonly systemPrompt?: string | undefined;
  readonly allowsSources: boolean;
  /** Optional; without it, a model is asked whatever was found. */
  readonly isNearEnough?: AnswerThreshold;
  /** Optional; omit to disable counting. */
  readonly durations?: QueryStages;
  readonly logger: Logger;
}

/** Candidates for the reranker per document asked for: it can only raise what it sees. */
const rerankDepth = 4;

/** How many documents a search is asked for where a pipeline wants `topN`. */
export function searchLimit(topN: number, isReranked: boolean): number {
  return isReranked ? topN * rerankDepth : topN;
}

/** The answer where no document was near enough; no model is asked. */
const notAnswered = "The documents do not answer this question.";

export function createPipeline(options: PipelineOptions): Pipeline {
  const { name, description, allowsSources, embedding, completion, rerank, tokenBudget, logger } = options;
  const { durations = createServerMetrics().ofQueryStages(name) } = options;
  const searchQuestion = createSearchQuestion({ model: options.rewriting, logger });

  /** The documents for a question. @param usages gets what the embedding used */
  async function retrieve(
    query: PipelineQuery,
    retriever: Retriever,
    question: string,
    usages: Usage[],
  ): Promise<readonly RetrievedDocument[]> {
    const { topN = options.topN, signal, span, onUsage, filter, minSimilarity, disableHybrid } = query;
    const embedded = new Map<EmbeddingProvider, Promise<Float32Array>>();
    let embeddingMs = 0;
    const embed = async (model: EmbeddingProvider) => {
      const startedAt = performance.now();
      const { vectors: [vector], usage } = await model.embed({
        texts: [question],
        purpose: "query",
        span,
        onUsage,
        signal,
      }).finally(() => durations.embedding.observe(embeddingMs = performance.now() - startedAt));
      usages.push(usage);
      if (vector === undefined) {
        throw new ProviderError("provider", "the provider returned no vector for the question");
      }
      return vector;
    };
    const searchedAt = performance.now();
    const found = await retriever.retrieve({
      question,
      asked: query.query,
      embedding(model = embedding) {
        const vector = embedded.get(model) ?? embed(model);
        embedded.set(model, vector);
        return vector;
      },
      limit: searchLimit(topN, rerank !== undefined),
      hybrid: !disableHybrid,
      span,
      ...callerOf(query),
      ...defined({ filter, minSimilarity }),
    }).finally(() => durations.search.observe(performance.now() - searchedAt - embeddingMs));
    span?.set({ "postern.documents": found.length });
    return found;
  }

  /** The documents for a question, reranked where the pipeline reranks. @param isAnswered whether an answer is made of them */
  async function find(query: PipelineQuery, isAnswered: boolean) {
    const { signal, span, filter, caller, onStage, onUsage } = query;
    checkQuestionLength(query.query, tokenBudget);
    onStage?.("retrieving");
    const usages: Usage[] = [];
    const found = await spanned(span, "retrieval", async (span) => {
      const retriever = await options.retriever(signal);
      if (filter !== undefined) await retriever.checkFilter(filter, { ...defined({ caller }), signal });
      const question = await searchQuestion({ ...query, span }, isAnswered, (usage) => {
        usages.push(usage);
        onUsage?.(usage);
      });
      if (question !== query.query) span?.setText("postern.search_query", () => question);
      const documents = await retrieve({ ...query, span }, retriever, question, usages);
      const searchQuery = question === query.query ? undefined : question;
      return { question, searchQuery, documents, retriever, stored: retriever.documents, usages };
    });
    if (rerank === undefined) return found;
    const { question, documents } = found;
    onStage?.("reranking");
    const { topN = options.topN } = query;
    const topK = Math.min(topN, rerank.topK ?? topN);
    const request = { question, documents, topK, span, onUsage, signal, logger };
    const reranked = await timed(durations.rerank, () => rerankDocuments(rerank.provider, request));
    usages.push(reranked.usage);
    return { ...found, documents: reranked.documents };
  }

  /** What a question comes to before a model is asked for an answer. */
  async function prepare(query: PipelineQuery) {
    const { stored, usages, searchQuery, ...found } = await find(query, true);
    const { systemPrompt, isNearEnough } = options;
    const { span, signal, onUsage } = query;
    const hasHistory = query.messages.length > 0;
    const isNear = await isNearEnough?.({ ...found, hasHistory, signal }) ?? true;
    const prompt = buildAnswerPrompt({
      question: query.query,
      history: query.messages,
      documents: isNear ? found.documents : [],
      tokenBudget,
      systemPrompt,
    });
    const details = query.showsSources ? await stored.detailsOf(prompt.shown, callerOf(query)) : [];
    const sources = prompt.shown.map((document, at) => ({ ...sourceOf(document, stored), ...details[at] }));
    if (sources.length > 0) query.onStage?.("answering");
    return { request: { ...prompt, span, signal, onUsage }, sources, searchQuery, usages };
  }

  function resultOf(
    { sources, searchQuery, usages }: Omit<Awaited<ReturnType<typeof prepare>>, "request">,
    isCut = false,
  ) {
    const tokensUsed = usages.reduce((sum, usage) => sum + tokensOf(usage), 0);
    const completionTokens = usages.reduce((sum, usage) => sum + usage.completionTokens, 0);
    const isUnanswered = sources.length === 0 && { isUnanswered: true as const };
    const marks = { ...isUnanswered, ...(isCut && { isCut }) };
    return { ...defined({ searchQuery }), sources, tokensUsed, completionTokens, ...marks };
  }

  return {
    kind: "pipeline",
    name,
    available_to_users: options.availableToUsers,
    description,
    examples: options.examples,
    allowsSources,
    usage: options.usage,
    checkCaller: (caller) => options.database.checkCaller(readerFor(caller)),
    async answer(query) {
      const prepared = await prepare(query);
      if (prepared.sources.length === 0) return { answer: notAnswered, ...resultOf(prepared) };
      const { text, usage, isCut } = await timed(
        durations.answer,
        () => completion.complete(prepared.request),
      );
      prepared.usages.push(usage);
      return { answer: text, ...resultOf(prepared, isCut) };
    },
    async *stream(query) {
      const prepared = await prepare(query);
      let isCut = false;
      if (prepared.sources.length === 0) {
        yield { type: "chunk", content: notAnswered };
      } else {
        const startedAt = performance.now();
        try {
          for await (const part of completion.stream(prepared.request)) {
            if (part.type === "text") yield { type: "chunk", content: part.text };
            else {
              prepared.usages.push(part.usage);
              isCut = part.isCut;
            }
          }
        } finally {
          durations.answer.observe(performance.now() - startedAt);
        }
      }
      yield { type: "done", ...resultOf(prepared, isCut) };
    },
    async findDocuments(query) {
      const { searchQuery, documents, stored, usages } = await find(query, false);
      const details = await stored.detailsOf(documents, callerOf(query));
      const sources = documents.map((document, at) => {
        const { table, similarity, nearest, matching } = document;
        const standing = { table, ...defined({ similarity, nearest, matching }) };
        return { ...sourceOf(document, stored), ...details[at], ...standing };
      });
      return { ...resultOf({ sources, searchQuery, usages }), sources };
    },
    async readDocument(key, caller) {
      const { documents } = await options.retriever(caller.signal);
      return await documents.read(key, caller);
    },
    rightsKey: options.database.rightsKey,
    check: async (signal) => void await options.retriever(signal),
    ping: (signal) => options.database.ping(signal),
    async health() {
      // what one caller's rows do is nothing that another should see
      const isOfAll = options.database.rightsKey(serverItself) === "";
      const [pinged, ofCompletion, ofDatabase, queue, tables] = await Promise.all([
        reachabilityOf(embedding, phraseOf),
        reachabilityOf(completion, phraseOf),
        reachabilityOf(options.database, () => databaseUnreachable),
        isOfAll ? options.queue?.() : undefined,
        isOfAll ? options.tables?.() : undefined,
      ]);
      const database = ofDatabase.reachable && options.isUnproven?.()
        ? { reachable: true, error: rowSecurityUnproven }
        : ofDatabase;
      const ofEmbedding = pinged.reachable && options.isOtherModel?.()
        ? { reachable: true, error: otherModel }
        : pinged;
      const embedding_queue = queue && {
        waiting: queue.waiting,
        oldest_seconds: Math.round(queue.oldestSeconds),
        set_aside: queue.setAside,
      };
      const known = defined({ embedding_queue, tables: tables?.slice() });
      return { name, embedding: ofEmbedding, completion: ofCompletion, database, ...known };
    },
  };
}

function callerOf({ caller, signal }: PipelineQuery): SearchCaller {
  return { signal, ...defined({ caller }) };
}

function sourceOf(document: RetrievedDocument, { keyOf }: StoredDocuments): Source {
  const { id, content, score, copies } = document;
  return { key: keyOf(document), ...defined({ id, copies }), content, score };
}

const longestPingMs = 5_000;

/** What clients hear of a database that does not answer. */
export const databaseUnreachable = "the database could not be reached; retry later";

/** What clients hear of a database whose policies do not hold all callers. */
const rowSecurityUnproven = "row-level security does not hold every caller; the log says what to mend";

/** What clients hear of a model that is not that of the vectors. */
const otherModel = "the vectors are of another model; the log says of which";

/**
 * Pings a provider or a database for at most five seconds.
 *
 * @param phraseOf what clients may hear of an error
 */
async function reachabilityOf(
  { ping }: { ping(signal: AbortSignal): Promise<void> },
  phraseOf: (thrown: unknown) => string,
): Promise<PipelineHealth["database"]> {
  try {
    await withDeadline(longestPingMs, undefined, ping);
    return { reachable: true };
  } catch (thrown) {
    return { reachable: false, error: phraseOf(thrown) };
  }
}

function phraseOf(thrown: unknown): string {
  const error = thrown instanceof ProviderError
    ? thrown
    : new ProviderError(isTimeout(thrown) ? "timeout" : "internal", "");
  return error.message;
}

/**
 * Orders documents by a reranker's scores, the best first, and keeps `topK`. Where the reranker fails they stay as they
 * were: the order suffers, the answer does not.
 *
 * @throws the signal's reason
 */
export async function rerankDocuments<Document extends { readonly content: string; readonly score: number }>(
  reranker: RerankProvider,
  request: Omit<RerankRequest, "query" | "documents"> & {
    readonly question: string;
    readonly documents: readonly Document[];
    readonly topK: number;
    readonly logger: Logger;
  },
): Promise<{ readonly documents: readonly Document[]; readonly usage: Usage }> {
  const { question: query, documents, logger, ...asking } = request;
  const { topK } = asking;
  if (documents.length === 0) return { documents, usage: noUsage };
  try {
    const texts = documents.map(({ content }) => content);
    const { results, usage } = await reranker.rerank({ query, documents: texts, ...asking });
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
