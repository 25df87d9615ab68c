import { defined } from "../../core/defined.ts";
import type { Config, PipelineConfig } from "../../config/mod.ts";
import type { FileWatch } from "../../core/files/watch_files.ts";
import type { Logger } from "../../core/logger.ts";
import { createServerMetrics, type ServerMetrics } from "../../core/metrics/server_metrics.ts";
import { createDatabase } from "../../postgres/database.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import type { StatementGuard } from "../../postgres/guard/statement_guard.ts";
import { type ConnectionPools, createConnectionPools } from "../../postgres/pool/connection_pools.ts";
import { type Read, readRows } from "../../postgres/read/read_trusted.ts";
import { isReadAsCallers } from "../../postgres/read/caller_settings.ts";
import { createAnswerThreshold } from "../../rag_server/answer_threshold.ts";
import { createPipeline } from "../../rag_server/pipeline.ts";
import { createRowSecurityProof } from "../../rag_server/row_security/proof.ts";
import { createCurrentRetriever } from "../../rag_server/search/current_retriever.ts";
import {
  createTableReader,
  openSearchedTable,
  type SearchedTable,
  type SearchedTableSettings,
} from "../../rag_server/search/searched_table.ts";
import { usualBm25 } from "../../rag_server/keyword/term_sql.ts";
import { createRetriever, type SearchSettings } from "../../rag_server/search/retriever.ts";
import { databaseOptions } from "../open_databases.ts";
import { createQueueReader } from "../../rag_server/watch/embed_queue.ts";
import { chooseModel, type ServedModel, withModel } from "../../rag_server/watch/embedded_columns.ts";
import { waitBoundsOf } from "../shared_parts.ts";
import { watchPools } from "../telemetry/watch_pools.ts";
import { openPipelineProviders } from "../providers/open_providers.ts";
import type { OnnxModels } from "../../llm/onnx/onnx_models.ts";
import type { UsageLedger } from "../../llm/usage.ts";

interface OpenPipelinesOptions {
  readonly config: Pick<
    Config,
    "pipelines" | "vendors" | "pass_file" | "max_connections" | "admission" | "traces"
  >;
  /** For pipelines whose database the configuration does not name. */
  readonly databaseOptions?: ((pipeline: PipelineConfig) => DatabaseOptions | undefined) | undefined;
  readonly guard: StatementGuard;
  /** Outlives a reload. */
  readonly ledger: UsageLedger;
  readonly files: FileWatch;
  /** Those of this machine. Optional: none where no provider is of the kind onnx. */
  readonly models?: OnnxModels | undefined;
  /** As createConnectionPools() takes it. */
  readonly shortageWaitMs?: number;
  /** Optional; omit to disable counting. */
  readonly metrics?: ServerMetrics;
  readonly logger: Logger;
}

/** A pipeline with its parts, for serving it and for looking into it. */
export type OpenPipeline = Awaited<ReturnType<typeof openPipeline>>;

/** All pipelines of one configuration, with connections of their own. */
export interface OpenPipelines extends AsyncDisposable {
  readonly list: readonly OpenPipeline[];
}

/** Puts the pipelines of a configuration together. Their databases and providers are not asked for anything yet. */
export async function openPipelines(options: OpenPipelinesOptions): Promise<OpenPipelines> {
  const { config, shortageWaitMs, logger } = options;
  await using opening = new AsyncDisposableStack();
  const pools = opening.use(createConnectionPools({
    maxConnections: config.max_connections,
    waitBounds: waitBoundsOf(config),
    ...defined({ shortageWaitMs }),
    logger,
  }));
  if (options.metrics !== undefined) {
    opening.use(watchPools(options.metrics, "rag_server", {
      pools,
      maxConnections: config.max_connections,
      databases: () => list.map(({ database }) => database),
    }));
  }
  const list: OpenPipeline[] = [];
  for (const pipeline of config.pipelines) {
    const opened = await openPipeline(pipeline, pools, options);
    opening.use(opened.providers);
    list.push(opened);
  }
  if (options.metrics !== undefined) opening.use(watchQueues(options.metrics, list));
  const stack = opening.move();
  return { list, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function openPipeline(
  config: PipelineConfig,
  pools: ConnectionPools,
  options: OpenPipelinesOptions,
) {
  const { config: { vendors, pass_file, traces }, guard, ledger, files, models } = options;
  const { metrics = createServerMetrics() } = options;
  const logger = options.logger.with({ pipeline: config.name });
  const providers = await openPipelineProviders(config, {
    vendors,
    tracedOrigins: traces.propagate_to,
    ledger,
    files,
    models,
    metrics,
    logger,
  });
  const databaseOptions = options.databaseOptions?.(config) ?? pipelineDatabaseOptions(config, pass_file);
  const statements = metrics.ofDatabase("rag_server", databaseOptions.name);
  const database = createDatabase({
    options: databaseOptions,
    pools,
    guard,
    metrics: statements,
    logger,
  });
  const tables = config.tables.map(tableSettings);
  const { hybrid_enabled: hybridEnabled, vector_weight: vectorWeight, bm25_k1, bm25_b, min_similarity } =
    config.search;
  const search: SearchSettings = {
    hybridEnabled,
    vectorWeight,
    bm25: { k1: bm25_k1 ?? usualBm25.k1, b: bm25_b ?? usualBm25.b },
    ...defined({ minSimilarity: min_similarity }),
  };
  const now = () => performance.now();
  const { reembed: next } = providers;
  /** How questions are searched by one of its models. */
  const searchBy = (model: EmbeddingProvider): SearchSettings =>
    model === next?.embedding && config.reembed !== undefined
      ? { ...search, vectorWeight: config.reembed.vector_weight }
      : search;
  const choose = (read: Read) => chooseModel(read, { tables, own: providers.embedding, next });
  let served: ServedModel = { tables, embedding: providers.embedding };
  let looked: readonly SearchedTable[] = [];
  const queue = createQueueReader(database, tables.map(({ table }) => table));
  const proof = isReadAsCallers(databaseOptions)
    ? createRowSecurityProof({
      pipeline: config.name,
      database,
      settings: databaseOptions,
      tables: tables.map(({ table }) => table),
      now,
    })
    : undefined;
  const retriever = createCurrentRetriever({
    pipeline: config.name,
    async open(signal) {
      // first: another fault of the tables is no reason to go on with those that were proved before
      await proof?.prove(signal);
      const model = await choose((...sql) => readRows(database, signal, ...sql));
      const opened = await Promise.all(
        model.tables.map((table) => openSearchedTable(database, table, signal)),
      );
      if (model.embedding !== served.embedding) {
        logger.info("Questions are embedded by another model", { model: model.embedding.name });
      }
      served = model;
      looked = opened;
      const search = searchBy(model.embedding);
      const retriever = withModel(createRetriever({ database, tables: opened, search, logger }), model);
      return proof?.guarding(retriever) ?? retriever;
    },
    now,
    logger,
  });
  const pipeline = createPipeline({
    name: config.name,
    description: config.description,
    examples: config.examples,
    availableToUsers: config.available_to_users,
    retriever,
    database,
    ...(proof !== undefined && { isUnproven: proof.isBroken }),
    queue: queue.read,
    tables: createTableReader(database, async (signal) => {
      await retriever(signal);
      return looked;
    }),
    embedding: { ...providers.embedding, ping: (signal) => served.embedding.ping(signal) },
    isOtherModel: () => served.fault !== undefined,
    completion: providers.completion,
    rewriting: config.search.rewrite_follow_ups ? providers.model : undefined,
    rerank: providers.rerank && { provider: providers.rerank, topK: config.rerank?.top_k },
    usage: providers.usage,
    durations: metrics.ofQueryStages(config.name),
    topN: config.top_n,
    tokenBudget: config.token_budget,
    systemPrompt: config.system_prompt,
    allowsSources: config.allow_include_sources,
    isNearEnough: createAnswerThreshold({
      // what one caller may see is no measure for others
      least: config.search.answer_threshold ?? (proof === undefined ? "learned" : 0),
      embedding: () => served.embedding,
      now,
      logger,
    }),
    logger,
  });
  return { ...pipeline, config, databaseOptions, database, tables, searchBy, providers, choose, queue };
}

/** Has the metrics tell how far pipelines' vectors are behind, until it is disposed of. */
function watchQueues(metrics: ServerMetrics, pipelines: readonly OpenPipeline[]): Disposable {
  const watched = new DisposableStack();
  const states = () =>
    pipelines.flatMap(({ name, queue }) => {
      const state = queue.recent();
      return state === undefined ? [] : [{ name, ...state }];
    });
  watched.defer(metrics.embeddingRows.collect(() =>
    states().flatMap(({ name, waiting, setAside }) => [
      { labels: [name, "waiting"], value: waiting },
      { labels: [name, "set_aside"], value: setAside },
    ])
  ));
  watched.defer(
    metrics.embeddingOldest.collect(() =>
      states().map(({ name, oldestSeconds }) => ({ labels: [name], value: oldestSeconds }))
    ),
  );
  return watched;
}

function tableSettings(table: PipelineConfig["tables"][number]): SearchedTableSettings {
  const {
    id_column: idColumn,
    text_search_config: textSearchConfig,
    word_parts: wordParts,
    filter,
    filter_columns,
  } = table;
  const { metadata_columns: metadataColumns } = table;
  return {
    table: table.table,
    textColumn: table.text_column,
    vectorColumn: table.vector_column,
    ...defined({ idColumn, textSearchConfig, wordParts }),
    ...(filter === undefined
      ? {}
      : { filter: typeof filter === "string" ? filter : { ...filter, logic: filter.logic ?? "AND" } }),
    ...defined({ filterColumns: filter_columns, metadataColumns }),
  };
}

/** What a pipeline's database has, and the configuration does not say. */
const fixed = {
  pool_max_conn_idle_time: 30 * 60_000,
  connect_timeout: 10_000,
  statement_timeout: 30_000,
  max_rows: 1_000,
  max_bytes: 1_048_576,
  allowed_functions: [],
};

/** What the adapter needs to know of a pipeline's database. */
function pipelineDatabaseOptions(pipeline: PipelineConfig, passFile: string | undefined): DatabaseOptions {
  return databaseOptions({ ...fixed, ...pipeline, ...pipeline.database }, passFile);
}
