import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import { type Principal, readerFor } from "../../core/principal.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import type { Database } from "../../postgres/database.ts";
import {
  arrayText,
  identifierSql,
  joinSql,
  nameInMessage,
  renderSql,
  sql,
  verbatim,
} from "../../postgres/sql_text.ts";
import { createRetriever, type SearchSettings } from "../search/retriever.ts";
import type { SearchedTable } from "../search/searched_table.ts";
import type { JudgedQuestion, Judgements, Qrels } from "./judged_questions.ts";
import {
  mean,
  ndcgAt,
  type PairedDifference,
  pairedDifference,
  percentile,
  recallAt,
  reciprocalRank,
} from "./metrics.ts";

/** Both searches alone, and their fusion. */
type SearchName = "vector" | "keyword" | "hybrid";

/** One way to find documents. */
export interface MeasuredSearch {
  readonly name: SearchName;
  /** Ids of documents, the best first. */
  retrieve(question: string, limit: number, signal: AbortSignal): Promise<readonly string[]>;
}

/** The fusion with one weight of the vector search, from 0 to 1. */
interface WeighedSearch {
  readonly vectorWeight: number;
  readonly search: MeasuredSearch;
}

export interface EvaluateOptions {
  readonly searches: readonly MeasuredSearch[];
  /** The fusion by each weight to compare; one that is among the searches is not asked again. */
  readonly fusions?: readonly WeighedSearch[];
  /** Documents that the server asks a search for; 10 where it asks for fewer. */
  readonly limit: number;
  /** The configured weight of the vector search, from 0 to 1. */
  readonly vectorWeight: number;
  readonly queries: readonly JudgedQuestion[];
  readonly qrels: Qrels;
  /** Gets the questions that are done, and all that take part. */
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

/** Means over all questions. */
interface SearchFigures {
  readonly search: SearchName;
  readonly ndcgAt10: number;
  readonly recallAt10: number;
  readonly recallAt100: number;
  /** Mean reciprocal rank: one over the place of the first relevant document among the first ten, 0 without one. */
  readonly mrr: number;
  /** The time of the server's search in a warm cache, one at a time, without the embedding of the question. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number };
}

export interface Evaluation {
  /** Questions that took part: those with a relevant document. */
  readonly queries: number;
  /** Questions without one. */
  readonly unjudgedQueries: number;
  readonly searches: readonly SearchFigures[];
  /** The gain of the fusion over the better of the other searches, in nDCG@10. */
  readonly difference?: PairedDifference & { readonly search: "hybrid"; readonly against: SearchName };
  /** The gains of other weights of the vector search; where there are both searches. */
  readonly weighed?: FusionWeights;
  /** Ids of judged documents that no table has, in order. Optional: none where the tables were not looked at. */
  readonly missing?: readonly string[];
}

interface EvaluatePipelineOptions extends Omit<EvaluateOptions, "searches" | "fusions" | "vectorWeight"> {
  readonly database: Database;
  readonly tables: readonly SearchedTable[];
  readonly search: SearchSettings;
  readonly embedding: EmbeddingProvider;
  /** Whom to search as, where what is read depends on who asks. */
  readonly caller?: Principal | undefined;
  readonly logger: Logger;
}

/**
 * Measures a pipeline's retrieval: by vectors alone, by words alone and by both with the configured weight, whether or
 * not the configuration turns both on; by vectors only where the words of no table are searched. The judgements call
 * documents by the tables' ids, as PostgreSQL writes them. A table whose words no index holds is named in the log first.
 *
 * @throws {UntoldCallerError} before a provider is asked
 * @throws {AppError} `invalid` for a table without an id, and as `evaluate` and the retriever throw
 * @throws {ProviderError} where the questions cannot be embedded
 */
export async function evaluatePipeline(options: EvaluatePipelineOptions): Promise<Evaluation> {
  const { database, tables, search: { vectorWeight }, queries, caller, signal } = options;
  database.checkCaller(readerFor(caller));
  const nameless = tables.find(({ table }) => !table.key.isId);
  if (nameless !== undefined) {
    throw new AppError(
      "invalid",
      `Cannot evaluate: table ${
        nameInMessage(nameless.table.name)
      } has no id for judgements to name; set its id_column`,
    );
  }
  const indexed = tables.map((searched) => withoutWarning(searched, options));
  const texts = [...new Set(queries.map(({ text }) => text))];
  const { vectors } = await options.embedding.embed({ texts, purpose: "query", signal });
  const embeddings = new Map(texts.map((text, at) => [text, vectors[at]]));
  const measured = (name: SearchName, weight: number) =>
    measuredSearch(name, weight, { ...options, tables: indexed }, embeddings);
  const [byVector, byKeyword] = [measured("vector", 1), measured("keyword", 0)];
  const missing = await missingDocuments(options);
  if (tables.every(({ keywordSearch }) => keywordSearch === undefined)) {
    return { ...await evaluate({ ...options, vectorWeight, searches: [byVector] }), missing };
  }
  const known = new Map([[0, byKeyword], [1, byVector]]);
  const fusions = triedWeights(vectorWeight).map((weight) => ({
    vectorWeight: weight,
    search: known.get(weight) ?? measured("hybrid", weight),
  }));
  const configured = fusions.filter(({ search, vectorWeight: weight }) =>
    search.name === "hybrid" && weight === vectorWeight
  );
  const searches = [byVector, byKeyword, ...configured.map(({ search }) => search)];
  return { ...await evaluate({ ...options, vectorWeight, searches, fusions }), missing };
}

/** Of the documents that are judged for the questions, those that no table has among the rows which it is searched for. */
async function missingDocuments(
  { database, tables, queries, qrels, caller, signal }: EvaluatePipelineOptions,
): Promise<readonly string[]> {
  const ids = [...new Set(queries.flatMap(({ id }) => [...qrels.get(id)?.keys() ?? []]))];
  const ofTables = tables.map(({ table: { key, relation, filter } }) =>
    sql`SELECT ${identifierSql(key.name)}::text FROM ${verbatim(relation)} AS source WHERE ${
      filter ?? verbatim("true")
    }`
  );
  const statement = sql`${
    joinSql([sql`SELECT unnest(${arrayText(ids)}::text[])`, ...ofTables], " EXCEPT ")
  } ORDER BY 1`;
  const result = await database.read({
    principal: readerFor(caller),
    trusted: true,
    signal,
    ...renderSql(statement),
  });
  if (result.ok) return result.rows.flatMap(([id]) => id ?? []);
  signal.throwIfAborted();
  throw new AppError("upstream", `Cannot read the ids of the documents: ${result.error.message}`);
}

/** Tells once what is wrong with the search of a table's words, which each search's retriever would do again or not at all. */
function withoutWarning(
  { lackText, readsTexts, ...searched }: SearchedTable,
  { database, logger }: EvaluatePipelineOptions,
): SearchedTable {
  const text = lackText ?? (readsTexts ? readsAllTexts : undefined);
  if (text !== undefined) logger.warn(text, { database: database.name, table: searched.table.name });
  return searched;
}

const readsAllTexts =
  "Every question reads all texts of a table, which is slow; build a keyword index with -index-pipeline";

function measuredSearch(
  name: SearchName,
  vectorWeight: number,
  { database, tables, search, caller, logger }: EvaluatePipelineOptions,
  embeddings: ReadonlyMap<string, Float32Array | undefined>,
): MeasuredSearch {
  const retriever = createRetriever({
    database,
    tables,
    search: { ...search, hybridEnabled: true, vectorWeight },
    logger,
  });
  return {
    name,
    async retrieve(question, limit, signal) {
      const embedding = embeddings.get(question);
      if (embedding === undefined) {
        throw new AppError("internal", "Cannot search: the question has no vector");
      }
      const asked = { signal, ...defined({ caller }) };
      const found = await retriever.retrieve({ question, embedding, limit, hybrid: true, ...asked });
      return found.flatMap(({ id }) => id === undefined ? [] : [id]);
    },
  };
}

/** The figures of a search for one question. */
interface Sample {
  /** Ids of the first documents, none twice. */
  readonly ten: readonly string[];
  readonly ndcgAt10: number;
  readonly recallAt10: number;
  readonly recallAt100: number;
  readonly reciprocalRank: number;
  readonly ms: number;
}

/**
 * Asks every search every question that has a judged answer, one after another, and compares what comes back with
 * the judgements.
 *
 * @throws {AppError} `invalid` where no question has a relevant document; what a search throws; the signal's reason
 */
export async function evaluate(options: EvaluateOptions): Promise<Evaluation> {
  const { searches, fusions = [], queries, qrels, vectorWeight, onProgress } = options;
  const judged = queries.flatMap(({ id, text }) => {
    const judgements = qrels.get(id) ?? new Map<string, number>();
    const hasRelevant = [...judgements.values()].some((gain) => gain > 0);
    return hasRelevant ? [{ text, judgements }] : [];
  });
  if (judged.length === 0) {
    throw new AppError(
      "invalid",
      "Cannot evaluate: no question has a relevant document; the two files must call the questions by the same ids",
    );
  }
  const samples = new Map<SearchName, Sample[]>(searches.map(({ name }) => [name, []]));
  const gains = new Map<number, number[]>(fusions.map((fusion) => [fusion.vectorWeight, []]));
  for (const [index, { text, judgements }] of judged.entries()) {
    const asked = new Map<MeasuredSearch, Sample>();
    for (const search of searches) {
      const sample = await measure(search, text, judgements, options);
      samples.get(search.name)?.push(sample);
      asked.set(search, sample);
    }
    for (const { vectorWeight: weight, search } of fusions) {
      const ten = asked.get(search)?.ten ?? await firstTen(search, text, options);
      gains.get(weight)?.push(ndcgAt(10, ten, judgements));
    }
    onProgress?.(index + 1, judged.length);
  }
  const figures = Array.from(samples, ([name, list]) => summarize(name, list));
  const difference = await fusionDifference(figures, samples);
  return {
    queries: judged.length,
    unjudgedQueries: queries.length - judged.length,
    searches: figures,
    ...defined({ difference }),
    ...(fusions.length > 0 && { weighed: await weighFusion(gains, vectorWeight) }),
  };
}

type Asking = Pick<EvaluateOptions, "limit" | "signal">;

async function measure(
  search: MeasuredSearch,
  question: string,
  judgements: Judgements,
  options: Asking,
): Promise<Sample> {
  options.signal.throwIfAborted();
  // the longer list first, so that it warms the caches for every search's short list
  const hundred = unique(await search.retrieve(question, 100, options.signal));
  const startedAt = performance.now();
  const ten = await firstTen(search, question, options);
  const ms = performance.now() - startedAt;
  return {
    ten,
    ndcgAt10: ndcgAt(10, ten, judgements),
    recallAt10: recallAt(10, ten, judgements),
    recallAt100: recallAt(100, hundred, judgements),
    reciprocalRank: reciprocalRank(ten, judgements),
    ms,
  };
}

/** As the server searches: how many documents are asked for decides how deep it looks. */
async function firstTen(
  search: MeasuredSearch,
  question: string,
  { limit, signal }: Asking,
): Promise<readonly string[]> {
  signal.throwIfAborted();
  return unique(await search.retrieve(question, Math.max(10, limit), signal)).slice(0, 10);
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)];
}

function summarize(search: SearchName, samples: readonly Sample[]): SearchFigures {
  const meanOf = (part: Exclude<keyof Sample, "ten">) => mean(samples.map((sample) => sample[part]));
  const ms = samples.map((sample) => sample.ms);
  return {
    search,
    ndcgAt10: meanOf("ndcgAt10"),
    recallAt10: meanOf("recallAt10"),
    recallAt100: meanOf("recallAt100"),
    mrr: meanOf("reciprocalRank"),
    latencyMs: { p50: percentile(50, ms), p95: percentile(95, ms), p99: percentile(99, ms) },
  };
}

async function fusionDifference(
  figures: readonly SearchFigures[],
  samples: ReadonlyMap<SearchName, readonly Sample[]>,
): Promise<Evaluation["difference"]> {
  const fusion = samples.get("hybrid");
  const [better] = figures.filter(({ search }) => search !== "hybrid")
    .sort((one, other) => other.ndcgAt10 - one.ndcgAt10);
  if (fusion === undefined || better === undefined) return undefined;
  const single = samples.get(better.search) ?? [];
  const differences = fusion.map(({ ndcgAt10 }, at) => ndcgAt10 - (single[at]?.ndcgAt10 ?? 0));
  return { search: "hybrid", against: better.search, ...await pairedDifference(differences) };
}

/** A weight of the vector search and what it gives, both from 0 to 1. */
interface WeighedFusion {
  readonly vectorWeight: number;
  readonly ndcgAt10: number;
}

export interface FusionWeights {
  /** In steps of 0.05, and the configured one. */
  readonly weights: readonly WeighedFusion[];
  /** The configured one where no other does better, and how much better it is than that one, in nDCG@10. */
  readonly best: WeighedFusion & { readonly configured: number; readonly difference: PairedDifference };
}

const steps = 20;

/** The weights that are worth comparing: steps of 0.05 from 0 to 1, and the configured one, in order. */
export function triedWeights(configured: number): number[] {
  const grid = Array.from({ length: steps + 1 }, (_, step) => step / steps);
  return [...new Set([...grid, configured])].sort((a, b) => a - b);
}

/**
 * The best of several weights, from what each of them gives.
 *
 * @param gains by weight, the nDCG@10 of each question, the questions in the same order
 * @param configured one of the weights
 */
export async function weighFusion(
  gains: ReadonlyMap<number, readonly number[]>,
  configured: number,
): Promise<FusionWeights> {
  const weights = Array.from(gains, ([vectorWeight, values]) => ({ vectorWeight, ndcgAt10: mean(values) }));
  const ownGains = gains.get(configured) ?? [];
  const own = { vectorWeight: configured, ndcgAt10: mean(ownGains) };
  const best = weights.reduce((best, one) => one.ndcgAt10 > best.ndcgAt10 ? one : best, own);
  const differences = (gains.get(best.vectorWeight) ?? []).map((gain, at) => gain - (ownGains[at] ?? 0));
  return { weights, best: { ...best, configured, difference: await pairedDifference(differences) } };
}
