import { AppError } from "../core/app_error.ts";
import type { Logger } from "../core/logger.ts";
import type { Database } from "../postgres/database.ts";
import type { Row } from "../postgres/portal.ts";
import type { StatementError } from "../postgres/statement_error.ts";
import type { DocumentTable } from "./document_table.ts";
import { compileFilter } from "./filter/compile_filter.ts";
import { type Candidate, fuseTables, type RetrievedDocument } from "./fuse_tables.ts";
import type { KeywordArm } from "./keyword_arm.ts";
import type { Filter } from "./query.ts";
import { retrievalSql } from "./retrieval_sql.ts";
import { renderSql, sql, type SqlText } from "./sql_text.ts";
import { vectorSettings } from "./vector_arm.ts";

export type { RetrievedDocument } from "./fuse_tables.ts";

/** A table that is searched. */
export interface SearchedTable {
  readonly table: DocumentTable;
  /** Absent where its words are not searched. */
  readonly keywordArm?: KeywordArm;
}

export interface SearchSettings {
  readonly hybridEnabled: boolean;
  /** From 0, the question's words alone, to 1, the embedding alone. */
  readonly vectorWeight: number;
  /** Least cosine similarity of a document, whichever arm found it. */
  readonly minSimilarity?: number;
}

interface RetrieverOptions {
  readonly database: Database;
  /** In the pipeline's order. */
  readonly tables: readonly SearchedTable[];
  readonly search: SearchSettings;
  readonly logger: Logger;
}

export interface RetrieveRequest {
  readonly question: string;
  readonly embedding: Float32Array;
  /** Documents at most; 1 or more. */
  readonly limit: number;
  readonly filter?: Filter;
  /** Whether this request wants the keyword arm. */
  readonly hybrid: boolean;
  readonly signal: AbortSignal;
}

export interface Retriever {
  /**
   * Says whether a filter fits all tables, so that nothing is spent on a request that cannot be answered: a column that
   * only some of them have would let rows of the others through unseen.
   *
   * @throws {AppError} `invalid`, naming the field
   */
  checkFilter(filter: Filter): void;
  /**
   * The documents that answer a question best, the best first, none twice.
   *
   * @throws {AppError} `invalid` for a filter that does not fit, `unavailable` without a connection, `timeout`,
   * `upstream` where a statement fails; the signal's reason where that aborts
   */
  retrieve(request: RetrieveRequest): Promise<readonly RetrievedDocument[]>;
}

/** Documents that may turn out to say the same as another, and are read to take its place. */
const spareRows = 10;

/** What comes over the wire for one table at most. */
const maxBytes = 64 * 1_048_576;

export function createRetriever({ database, tables, search, logger }: RetrieverOptions): Retriever {
  /** The statement for one table. Throws what is wrong with the request, so that nothing is sent for any table. */
  function plan({ table, keywordArm }: SearchedTable, request: RetrieveRequest): TablePlan {
    checkDimensions(table, request.embedding);
    const asked = request.filter && compileFilter(request.filter, table.columns);
    const depth = depthOf(request.limit);
    const vectorWeight = keywordArm === undefined ? 1 : weightOfVectors(request);
    const statement = retrievalSql({
      table,
      question: request.question,
      embedding: request.embedding,
      filter: both(table.filter, asked?.condition),
      depth,
      limit: request.limit + spareRows,
      vectorWeight,
      keywordArm: vectorWeight < 1 ? keywordArm : undefined,
      minSimilarity: search.minSimilarity,
    });
    return { table, statement, settings: vectorSettings(table, depth), unchecked: asked?.unchecked ?? [] };
  }

  async function run(
    { table, statement, settings, unchecked }: TablePlan,
    signal: AbortSignal,
  ): Promise<Candidate[]> {
    const outcome = await database.read({
      principal: { kind: "local" },
      trusted: true,
      settings,
      maxBytes,
      signal,
      ...renderSql(statement),
    });
    if (outcome.ok) return outcome.rows.map((row) => candidateOf(row, table));
    signal.throwIfAborted();
    throw failure(table, outcome.error, unchecked);
  }

  function weightOfVectors({ hybrid }: RetrieveRequest): number {
    return search.hybridEnabled && hybrid ? search.vectorWeight : 1;
  }

  function failure(table: DocumentTable, error: StatementError, unchecked: readonly string[]): AppError {
    if (unchecked.length > 0 && isFaultOfValue(error)) {
      const place = unchecked.length === 1 ? unchecked[0] : "filter";
      return new AppError("invalid", `${place}: the operator or the value does not fit the column's type`);
    }
    logger.warn("search failed", { database: database.name, table: table.name, error });
    return error.kind === "timeout"
      ? new AppError("timeout", "Cannot search the documents: it took too long")
      : new AppError("upstream", "Cannot search the documents: the database reported an error");
  }

  return {
    checkFilter(filter) {
      for (const { table } of tables) compileFilter(filter, table.columns);
    },
    async retrieve(request) {
      const plans = tables.map((searched) => plan(searched, request));
      // the failure of one table ends the search of the others
      const failed = new AbortController();
      const signal = AbortSignal.any([request.signal, failed.signal]);
      try {
        const found = await Promise.all(plans.map((planned) => run(planned, signal)));
        return fuseTables(found, weightOfVectors(request)).slice(0, request.limit);
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    },
  };
}

interface TablePlan {
  readonly table: DocumentTable;
  readonly statement: SqlText;
  readonly settings: Readonly<Record<string, string>>;
  /** Places of conditions that the database may refuse. */
  readonly unchecked: readonly string[];
}

/** Deep enough to find what is good in both arms and best in neither. */
function depthOf(limit: number): number {
  return Math.max(50, Math.min(4 * limit, limit + 100, 400));
}

function both(one: SqlText | undefined, other: SqlText | undefined): SqlText | undefined {
  return one !== undefined && other !== undefined ? sql`(${one} AND ${other})` : one ?? other;
}

function checkDimensions({ name, vector: { dimensions } }: DocumentTable, embedding: Float32Array): void {
  if (dimensions === undefined || dimensions === embedding.length) return;
  throw new AppError(
    "upstream",
    `Cannot search table "${name}": its vectors have ${dimensions} dimensions, the provider's ${embedding.length}`,
  );
}

function candidateOf([id, content, nearest, matching, similarity]: Row, table: DocumentTable): Candidate {
  return {
    table: table.name,
    ...(table.key.isId && typeof id === "string" && { id }),
    content: content ?? "",
    ...(typeof nearest === "string" && { nearestRank: Number(nearest) }),
    ...(typeof matching === "string" && { matchingRank: Number(matching) }),
    ...(typeof similarity === "string" && { similarity: Number(similarity) }),
  };
}

/** Class 22 is about data; 42883, 42804 and 42846 are operators and casts that do not exist. */
function isFaultOfValue({ sqlState }: StatementError): boolean {
  return sqlState !== undefined && /^(22|42883|42804|42846|42725)/.test(sqlState);
}
