import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import type { Database } from "../../postgres/database.ts";
import { createRetriever, type SearchedTable, type SearchSettings } from "../retrieve.ts";
import {
  type ArmName,
  evaluate,
  type EvaluateOptions,
  type Evaluation,
  type RetrievalArm,
} from "./evaluate.ts";

export interface EvaluatePipelineOptions extends Omit<EvaluateOptions, "arms"> {
  readonly database: Database;
  readonly tables: readonly SearchedTable[];
  readonly search: SearchSettings;
  readonly embedding: EmbeddingProvider;
  readonly logger: Logger;
}

/**
 * Measures a pipeline's retrieval: by vectors alone, by words alone and by both with the configured weight, whether or
 * not the configuration turns both on; by vectors only where the words of no table are searched. The judgements call
 * documents by the tables' ids, as PostgreSQL writes them.
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
  const texts = [...new Set(queries.map(({ text }) => text))];
  const { vectors } = await options.embedding.embed({ texts, purpose: "query", signal });
  const embeddings = new Map(texts.map((text, at) => [text, vectors[at]]));
  return await evaluate({
    ...options,
    arms: armsOf(tables, search).map(([name, vectorWeight]) =>
      createArm(name, vectorWeight, options, embeddings)
    ),
  });
}

function armsOf(tables: readonly SearchedTable[], { vectorWeight }: SearchSettings): [ArmName, number][] {
  if (tables.every(({ keywordArm }) => keywordArm === undefined)) return [["vector", 1]];
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
