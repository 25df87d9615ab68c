import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import { readerFor } from "../../core/principal.ts";
import type { Span } from "../../core/tracing.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import type { Database } from "../../postgres/database.ts";
import type { Row } from "../../postgres/read/portal.ts";
import { type StatementError, withoutQuotes } from "../../postgres/read/statement_error.ts";
import { nameInMessage, renderSql, sql, type SqlText } from "../../postgres/sql_text.ts";
import { checkFilter, isFaultOfValue, type SearchCaller, valueFault } from "../filter/check_filter.ts";
import { compileFilter } from "../filter/compile_filter.ts";
import type { Bm25 } from "../keyword/term_sql.ts";
import type { Filter } from "../query.ts";
import {
  type Candidate,
  depthOf,
  fuseTables,
  maxDepth,
  type RetrievedDocument,
  type TableSearch,
  withStandings,
} from "./fusion.ts";
import { readOperators } from "../keyword/question_operators.ts";
import type { DocumentTable } from "./document_table.ts";
import { foldNearCopies } from "./near_copies.ts";
import { type RetrievalSearch, retrievalSql } from "./retrieval_sql.ts";
import type { SearchedTable } from "./searched_table.ts";
import {
  createStoredDocuments,
  maxCharacters,
  statementFault,
  type StoredDocuments,
} from "./stored_documents.ts";
import { distanceOf } from "./vector_index.ts";
import { vectorSettings } from "./vector_search.ts";

export interface SearchSettings {
  readonly hybridEnabled: boolean;
  /** From 0, the question's words alone, to 1, the embedding alone. */
  readonly vectorWeight: number;
  /** How words are weighed. Optional; the default is `usualBm25`. */
  readonly bm25?: Bm25;
  /** Least cosine similarity of a document, whichever search found it. */
  readonly minSimilarity?: number;
}

interface RetrieverOptions {
  readonly database: Database;
  /** In the pipeline's order. */
  readonly tables: readonly SearchedTable[];
  readonly search: SearchSettings;
  /** How long both searches together may take, in milliseconds, before the vectors alone are searched. Optional; the default is 5 s. */
  readonly hybridTimeoutMs?: number;
  readonly logger: Logger;
}

export interface RetrieveRequest extends SearchCaller {
  /** Optional; none where it is not traced. */
  readonly span?: Span | undefined;
  readonly question: string;
  /** The caller's own words, whose quotes and exclusions count, where the question has other words too. Optional. */
  readonly asked?: string;
  /**
   * The question's, or how to get it, by a model of the retriever's choice, where a search turns out to need it, which may
   * be asked for more than once.
   */
  readonly embedding: Float32Array | ((model?: EmbeddingProvider) => Promise<Float32Array>);
  /** Documents at most; 1 or more. */
  readonly limit: number;
  readonly filter?: Filter;
  /** Whether this request wants the keyword search. */
  readonly hybrid: boolean;
  /** In place of the pipeline's own. */
  readonly minSimilarity?: number;
}

export interface Retriever {
  /** Those of its tables. */
  readonly documents: StoredDocuments;
  /**
   * Says whether a filter fits all tables, so that nothing is spent on a request that cannot be answered: a column that
   * only some of them have would let rows of the others through unseen.
   *
   * @throws {AppError} `invalid`, naming the field; `unavailable` without a connection; the signal's reason
   */
  checkFilter(filter: Filter, caller: SearchCaller): Promise<void>;
  /**
   * The documents that answer a question best, the best first, none twice. The embedding is not asked for where only the
   * words count, there is no least similarity, ids are unique and the words are found in time.
   *
   * @throws {AppError} `invalid` for a filter that does not fit, `unavailable` without a connection, `timeout`,
   * `upstream` where a statement fails; the signal's reason where that aborts
   */
  retrieve(request: RetrieveRequest): Promise<readonly RetrievedDocument[]>;
}

/** Documents that may turn out to say the same as another, and are read to take its place. */
const spareRows = 10;

const defaultHybridTimeoutMs = 5_000;

/** Too little to change the order of what both searches found. */
const leastVectorWeight = 1e-6;

/**
 * What keeps the plan of a question for the next one: planning takes a tenth of the time. With a filter the best plan depends
 * on its values, and what extensions plan may depend on the question.
 */
const keptPlan = { plan_cache_mode: "force_generic_plan" };

/** The most that comes over the wire for one table. */
const maxBytes = 64 * 1_048_576;

/** The search of one table. */
interface TablePlan extends
  Pick<
    RetrievalSearch,
    "table" | "question" | "phrases" | "filter" | "vectorWeight" | "keywordSearch" | "embedding"
  > {
  /** The filter without what the question excludes. */
  readonly filterAlone: SqlText | undefined;
  /** Places of conditions that the database may refuse. */
  readonly unchecked: readonly string[];
  /** Whether the search by words needs a plan for each question. */
  readonly isPlannedAnew: boolean;
  /** Of the vectors alone: what a search that took too long by words has left. Optional; the default is the database's. */
  readonly timeoutMs?: number;
}

interface Found {
  /** As it was searched in the end. */
  readonly planned: TablePlan;
  readonly search: TableSearch;
  /** Whether repeats took the room of others that are wanted. */
  readonly isShort: boolean;
}

export function createRetriever(
  { database, tables, search, hybridTimeoutMs = defaultHybridTimeoutMs, logger }: RetrieverOptions,
): Retriever {
  // what is left after it has to be worth a search
  const longestHybridMs = Math.min(hybridTimeoutMs, database.statementTimeoutMs / 2);
  const isHybrid = search.hybridEnabled && search.vectorWeight < 1;
  for (const { table, lackText } of isHybrid ? tables : []) {
    if (lackText !== undefined) logger.warn(lackText, { database: database.name, table: table.name });
  }

  function weightOfVectors({ hybrid }: RetrieveRequest): number {
    return search.hybridEnabled && hybrid ? search.vectorWeight : 1;
  }

  /** Throws what is wrong with the request, so that nothing is sent for any table. */
  function plan(searched: SearchedTable, request: RetrieveRequest): TablePlan {
    const { table, keywordSearch, lackOfWords, isPlannedAnew = false } = searched;
    const asked = request.filter && compileFilter(request.filter, table.requestColumns);
    const vectorWeight = keywordSearch === undefined ? 1 : weightOfVectors(request);
    const { text } = readOperators(request.question);
    const { phrases, excluded } = readOperators(request.asked ?? request.question);
    const lack = vectorWeight < 1 && excluded.length > 0 ? lackOfWords?.(excluded) : undefined;
    const filter = both(table.filter, asked?.condition);
    return {
      table,
      question: text,
      phrases,
      filter: both(filter, lack),
      filterAlone: filter,
      unchecked: asked?.unchecked.map(({ place }) => place) ?? [],
      vectorWeight,
      keywordSearch: vectorWeight < 1 ? keywordSearch : undefined,
      embedding: undefined,
      isPlannedAnew: vectorWeight < 1 && isPlannedAnew,
    };
  }

  async function withEmbedding(planned: TablePlan, { embedding }: RetrieveRequest): Promise<TablePlan> {
    const vector = embedding instanceof Float32Array ? embedding : await embedding();
    const { name, vector: { dimensions } } = planned.table;
    if (dimensions !== undefined && dimensions !== vector.length) {
      const reason = `its vectors have ${dimensions} dimensions, but the provider's have ${vector.length}`;
      throw new AppError("upstream", `Cannot search table ${nameInMessage(name)}: ${reason}`);
    }
    return { ...planned, embedding: vector };
  }

  /** Searches a table once, and once more as deep as can be where repeats left too few documents. */
  async function find(planned: TablePlan, request: RetrieveRequest, signal: AbortSignal): Promise<Found> {
    const found = await run(planned, request, false, signal);
    return found.isShort ? await run(found.planned, request, true, signal) : found;
  }

  async function run(
    planned: TablePlan,
    request: RetrieveRequest,
    isThorough: boolean,
    signal: AbortSignal,
  ): Promise<Found> {
    const { table, filter, keywordSearch } = planned;
    const { caller, span } = request;
    const limit = request.limit + spareRows;
    // the order of vectors alone is known without further ones, unless their least similarity is of another distance
    const isAlone = keywordSearch === undefined && search.minSimilarity === undefined;
    const depth = isThorough ? maxDepth : isAlone ? limit : depthOf(request.limit);
    const isKept = filter === undefined && planned.phrases.length === 0 && !planned.isPlannedAnew;
    const statement = retrievalSql({
      ...planned,
      depth,
      limit,
      isThorough,
      maxCharacters,
      minSimilarity: request.minSimilarity ?? search.minSimilarity,
      bm25: search.bm25,
    });
    const result = await database.read({
      principal: readerFor(caller),
      trusted: true,
      settings: { ...vectorSettings({ table, limit: depth, filter }), ...(isKept && keptPlan) },
      isKept,
      span,
      maxRows: limit,
      maxBytes,
      signal,
      ...defined({ timeoutMs: keywordSearch === undefined ? planned.timeoutMs : longestHybridMs }),
      ...renderSql(statement),
    });
    if (result.ok) {
      const { rows } = result;
      // only an embedding can tell which of several rows with one id is meant
      if (rows.some((row) => row[7] === "t")) {
        return await run(await withEmbedding(planned, request), request, isThorough, signal);
      }
      const found = searchOf(rows, planned, depth);
      const texts = new Set(found.candidates.map(({ digest }) => digest)).size;
      const isCrowded = rows.length >= depth || rows.some((row) => row[6] === "t");
      return { planned, search: found, isShort: isCrowded && texts < request.limit };
    }
    signal.throwIfAborted();
    if (result.error.kind !== "timeout" || keywordSearch === undefined) {
      throw searchError(planned, result.error);
    }
    logger.warn(
      "The keyword search took too long; the answer uses the vector search only, and not the question's quotes and exclusions",
      { database: database.name, table: table.name },
    );
    const alone = await withEmbedding({
      ...planned,
      phrases: [],
      filter: planned.filterAlone,
      vectorWeight: 1,
      keywordSearch: undefined,
      isPlannedAnew: false,
      timeoutMs: database.statementTimeoutMs - longestHybridMs,
    }, request);
    return await run(alone, request, isThorough, signal);
  }

  function searchError({ table, unchecked }: TablePlan, error: StatementError): AppError {
    if (unchecked.length > 0 && isFaultOfValue(error)) {
      return valueFault(unchecked.length === 1 ? unchecked[0] ?? "filter" : "filter");
    }
    // a policy's cast quotes the claim that it is given
    const told = table.isExact ? withoutQuotes(error) : error;
    logger.warn("search failed", { database: database.name, table: table.name, error: told });
    return statementFault("search the documents", error);
  }

  return {
    documents: createStoredDocuments({ database, tables: tables.map(({ table }) => table), logger }),
    checkFilter: (filter, caller) => checkFilter(database, tables.map(({ table }) => table), filter, caller),
    async retrieve(request) {
      const planned = tables.map((searched) => plan(searched, request));
      const plans = await Promise.all(planned.map(async (one) => {
        const needsEmbedding = one.vectorWeight > 0 ||
          (request.minSimilarity ?? search.minSimilarity) !== undefined;
        return needsEmbedding ? await withEmbedding(one, request) : one;
      }));
      // where one table's search ends in an error, those of the others end with it
      const others = new AbortController();
      const signal = AbortSignal.any([request.signal, others.signal]);
      try {
        const found = await Promise.all(plans.map((planned) => find(planned, request, signal)));
        const vectorWeight = weightOver(found.map(({ planned }) => planned), weightOfVectors(request));
        const searches = withStandings(found.map((table) => table.search));
        const words = `${request.question} ${request.asked ?? ""}`;
        return foldNearCopies(fuseTables(searches, vectorWeight), words).slice(0, request.limit);
      } catch (error) {
        others.abort(error);
        throw error;
      }
    },
  };
}

/**
 * The weight of the vectors over all tables. If no table was searched by words, the vectors alone count; if only some were,
 * the vectors give the order below what words found.
 */
function weightOver(plans: readonly TablePlan[], vectorWeight: number): number {
  const byWords = plans.filter(({ keywordSearch }) => keywordSearch !== undefined).length;
  if (byWords === 0) return 1;
  return byWords === plans.length ? vectorWeight : Math.max(vectorWeight, leastVectorWeight);
}

function both(one: SqlText | undefined, other: SqlText | undefined): SqlText | undefined {
  return one !== undefined && other !== undefined ? sql`(${one} AND ${other})` : one ?? other;
}

function searchOf(rows: readonly Row[], { table, embedding }: TablePlan, depth: number): TableSearch {
  const candidates = rows.map((row) => candidateOf(row, table));
  const [nearest, matching]: (number | null | undefined)[][] = JSON.parse(rows[0]?.[8] ?? "null") ??
    [
      candidates.map(({ nearestScore }) => nearestScore),
      candidates.map(({ matchingScore }) => matchingScore),
    ];
  return {
    candidates: candidates.filter(({ content }) => content.trim() !== ""),
    nearestScores: nearest?.flatMap((score) => score ?? []) ?? [],
    matchingScores: matching?.flatMap((score) => score ?? []) ?? [],
    distance: distanceOf(table, embedding?.length),
    depth,
  };
}

function candidateOf(row: Row, table: DocumentTable): Candidate {
  const [id, content, digest] = row;
  const numbers = [...row.slice(3, 6), ...row.slice(9, 11)];
  const [nearestScore, matchingScore, similarity, agreedNearest, agreedMatching] = numbers
    .map((value) => typeof value === "string" ? Number(value) : undefined);
  return {
    table: table.name,
    ...(typeof id === "string" && { id }),
    content: content ?? "",
    digest: digest ?? "",
    ...defined({ nearestScore, matchingScore, similarity }),
    ...(agreedNearest !== undefined &&
      { agreed: defined({ nearestScore: agreedNearest, matchingScore: agreedMatching }) }),
  };
}
