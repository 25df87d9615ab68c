import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import type { Database } from "../../postgres/database.ts";
import { createRetriever, type SearchSettings } from "../search/retriever.ts";
import type { SearchedTable } from "../search/searched_table.ts";
import {
  type ArmName,
  evaluate,
  type EvaluateOptions,
  type Evaluation,
  type RetrievalArm,
} from "./evaluate.ts";

export interface EvaluatePipelineOptions extends Omit<EvaluateOptions, "arms" | "vectorWeight"> {
  readonly database: Database;
  readonly tables: readonly SearchedTable[];
  readonly search: SearchSettings;
  readonly embedding: EmbeddingProvider;
  readonly logger: Logger;
}

/**
 * Measures a pipeline's retrieval: by vectors alone, by words alone and by both with the configured weight, whether or
 * not the configuration turns both on; by vectors only where the words of no table are searched. The judgements call
 * documents by the tables' ids, as PostgreSQL writes them. A table whose words no index holds is named in the log first.
 *
 * @throws {AppError} `invalid` for a table without an id, and as `evaluate` and the retriever throw
 * @throws {ProviderError} where the questions cannot be embedded
 */
export async function evaluatePipeline(options: EvaluatePipelineOptions): Promise<Evaluation> {
  const { tables, search, queries, signal } = options;
  const nameless = tables.find(({ table }) => !table.key.isId);
  if (nameless !== undefined) {
    throw new AppError(
      "invalid",
      `Cannot evaluate: table "${nameless.table.name}" has no id that judgements could name; set its id_column`,
    );
  }
  const indexed = tables.map((searched) => withoutWarning(searched, options));
  const texts = [...new Set(queries.map(({ text }) => text))];
  const { vectors } = await options.embedding.embed({ texts, purpose: "query", signal });
  const embeddings = new Map(texts.map((text, at) => [text, vectors[at]]));
  return await evaluate({
    ...options,
    vectorWeight: search.vectorWeight,
    arms: armsOf(tables, search).map(([name, vectorWeight]) =>
      createArm(name, vectorWeight, { ...options, tables: indexed }, embeddings)
    ),
  });
}

/** Warns of a table without a keyword index once, which each arm's retriever would do again or not at all. */
function withoutWarning(
  { needsKeywordIndex, readsTexts, ...searched }: SearchedTable,
  { database, logger }: EvaluatePipelineOptions,
): SearchedTable {
  const fields = { database: database.name, table: searched.table.name };
  if (needsKeywordIndex) {
    logger.warn(
      "The words of a table are not measured: it is too large without a keyword index; make one with -index-pipeline",
      fields,
    );
  } else if (readsTexts) {
    logger.warn(
      "Every question reads the texts of a table, which is slow; make a keyword index with -index-pipeline",
      fields,
    );
  }
  return searched;
}

function armsOf(tables: readonly SearchedTable[], { vectorWeight }: SearchSettings): [ArmName, number][] {
  if (tables.every(({ keywordSearch }) => keywordSearch === undefined)) return [["vector", 1]];
  const isFusion = vectorWeight > 0 && vectorWeight < 1;
  return [
    ["vector", 1],
    ["keyword", 0],
    ...(isFusion ? [["hybrid", vectorWeight] satisfies [ArmName, number]] : []),
  ];
}

function createArm(
  name: ArmName,
  vectorWeight: number,
  { database, tables, search, logger }: EvaluatePipelineOptions,
  embeddings: ReadonlyMap<string, Float32Array | undefined>,
): RetrievalArm {
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
      const found = await retriever.retrieve({ question, embedding, limit, hybrid: true, signal });
      return found.flatMap(({ id }) => id === undefined ? [] : [id]);
    },
  };
}
