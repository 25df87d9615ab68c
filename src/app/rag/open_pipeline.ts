import type { Config, PipelineConfig } from "../../config/mod.ts";
import type { Logger } from "../../core/logger.ts";
import type { ConnectionPools } from "../../postgres/pool/connection_pools.ts";
import { createDatabase, type Database } from "../../postgres/database.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";
import type { StatementGuard } from "../../postgres/guard/statement_guard.ts";
import { createPipeline } from "../../rag_server/create_pipeline.ts";
import type { PipelineEntry } from "../../rag_server/create_pipelines.ts";
import { createCurrentRetriever } from "../../rag_server/search/current_retriever.ts";
import {
  openSearchedTable,
  type SearchedTableSettings,
} from "../../rag_server/search/open_searched_table.ts";
import { createRetriever, type SearchSettings } from "../../rag_server/search/retrieve.ts";
import {
  openPipelineProviders,
  type PipelineProviders,
  type PipelineProvidersOptions,
} from "./pipeline_providers.ts";
import { pipelineDatabaseOptions } from "./pipeline_database.ts";

export interface OpenPipelineOptions extends PipelineProvidersOptions {
  readonly passFile: Config["pass_file"];
  readonly pools: ConnectionPools;
  readonly guard: StatementGuard;
  readonly logger: Logger;
  /** In place of the database that the configuration names. */
  readonly databaseOptions?: DatabaseOptions;
}

/** A pipeline with its parts, for serving it and for looking into it. */
export interface OpenPipeline extends PipelineEntry, AsyncDisposable {
  readonly config: PipelineConfig;
  readonly databaseOptions: DatabaseOptions;
  readonly database: Database;
  readonly tables: readonly SearchedTableSettings[];
  readonly search: SearchSettings;
  readonly providers: PipelineProviders;
  /** Looks at its tables, so that what is wrong with them is known before the first query. */
  check(signal: AbortSignal): Promise<void>;
}

/** Puts a pipeline together. Its database and its providers are not asked for anything yet. */
export async function openPipeline(
  config: PipelineConfig,
  options: OpenPipelineOptions,
): Promise<OpenPipeline> {
  const { pools, guard } = options;
  const logger = options.logger.with({ pipeline: config.name });
  const providers = await openPipelineProviders(config, { ...options, logger });
  const databaseOptions = options.databaseOptions ?? pipelineDatabaseOptions(config, options.passFile);
  const database = createDatabase({ options: databaseOptions, pools, guard, logger });
  const tables = config.tables.map(tableSettings);
  const { hybrid_enabled: hybridEnabled, vector_weight: vectorWeight, min_similarity } = config.search;
  const search: SearchSettings = {
    hybridEnabled,
    vectorWeight,
    ...(min_similarity === undefined ? {} : { minSimilarity: min_similarity }),
  };
  const retriever = createCurrentRetriever({
    pipeline: config.name,
    async open(signal) {
      const opened = await Promise.all(tables.map((table) => openSearchedTable(database, table, signal)));
      return createRetriever({ database, tables: opened, search, logger });
    },
    now: () => performance.now(),
    logger,
  });
  const { rerank } = providers;
  const topK = config.rerank?.top_k;
  const pipeline = createPipeline({
    name: config.name,
    description: config.description,
    retriever,
    embedding: providers.embedding,
    completion: providers.completion,
    ...(rerank === undefined
      ? {}
      : { rerank: { provider: rerank, ...(topK === undefined ? {} : { topK }) } }),
    topN: config.top_n,
    tokenBudget: config.token_budget,
    ...(config.system_prompt === undefined ? {} : { systemPrompt: config.system_prompt }),
    allowsSources: config.allow_include_sources,
    logger,
  });
  return {
    config,
    pipeline,
    embedding: { provider: providers.embedding, usage: providers.embeddingUsage },
    completion: { provider: providers.completion, usage: providers.completionUsage },
    ...(providers.rerankUsage !== undefined && { rerankUsage: providers.rerankUsage }),
    databaseOptions,
    database,
    tables,
    search,
    providers,
    check: async (signal) => void await retriever(signal),
    [Symbol.asyncDispose]: () => providers[Symbol.asyncDispose](),
  };
}

function tableSettings(table: PipelineConfig["tables"][number]): SearchedTableSettings {
  const { id_column: idColumn, text_search_config: textSearchConfig, filter } = table;
  return {
    table: table.table,
    textColumn: table.text_column,
    vectorColumn: table.vector_column,
    ...(idColumn === undefined ? {} : { idColumn }),
    ...(textSearchConfig === undefined ? {} : { textSearchConfig }),
    ...(filter === undefined
      ? {}
      : { filter: typeof filter === "string" ? filter : { ...filter, logic: filter.logic ?? "AND" } }),
  };
}
