import { type Config, type PipelineConfig, writtenSetting } from "../../config/mod.ts";
import type { FileWatch } from "../../core/files/watch_files.ts";
import type { Logger } from "../../core/logger.ts";
import type { ServerMetrics } from "../../core/metrics/server_metrics.ts";
import type { Quotas } from "../../core/quotas/quotas.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";
import { createStatementGuard } from "../../postgres/guard/statement_guard.ts";
import { createRunningPipelines } from "../../rag_server/running_pipelines.ts";
import { waitBoundsOf } from "../shared_parts.ts";
import { type OpenPipelines, openPipelines } from "./open_pipelines.ts";
import type { SettingPath } from "../../core/yaml/value_tree.ts";
import { logStartupWarnings } from "../checks/startup_warnings.ts";
import type { OnnxModels } from "../../llm/onnx/onnx_models.ts";
import { createUsageLedger } from "../../llm/usage.ts";

export interface ServePipelinesOptions {
  readonly config: Config;
  /** For pipelines whose database the configuration does not name. */
  readonly databaseOptions?: ((pipeline: PipelineConfig) => DatabaseOptions | undefined) | undefined;
  readonly files: FileWatch;
  /** Those of this machine. Optional: none where no provider is of the kind onnx. */
  readonly models?: OnnxModels | undefined;
  readonly metrics: ServerMetrics;
  /** Optional; omit to disable counting. */
  readonly quotas?: Quotas | undefined;
  readonly logger: Logger;
}

/** The pipelines that both servers answer from. */
export type ServedPipelines = Awaited<ReturnType<typeof servePipelines>>;

/** A replaced set of pipelines ends so long after the longest time that its queries may take. */
const retireMarginMs = 1_000;

/** Opens the pipelines of a configuration, and replaces them when it changes. */
export async function servePipelines(options: ServePipelinesOptions) {
  const { config, files, models, metrics, logger } = options;
  await using opening = new AsyncDisposableStack();
  const guard = await createStatementGuard();
  const ledger = createUsageLedger();
  // read at the start alone, as the log says of a change
  const { max_connections, traces } = config;
  const open = (config: Config) =>
    openPipelines({
      config: { ...config, max_connections, traces },
      databaseOptions: options.databaseOptions,
      guard,
      ledger,
      files,
      models,
      metrics,
      logger,
    });
  const first = await open(config);
  const running = opening.use(
    createRunningPipelines(first, {
      longestQueryMs: (config.server.request_timeout || Infinity) + retireMarginMs,
      maxQueries: config.server.max_queries,
      waitBounds: waitBoundsOf(config, config.server.request_timeout || Infinity),
      waits: metrics.stage("rag_server", "queue"),
      quotas: options.quotas,
      logger,
    }),
  );
  warnOfDatabases(first, config, logger);
  warnOfFilters(config, logger);
  let served = JSON.stringify([config.pipelines, config.vendors]);
  // opened for a configuration that was not put in force, since another server could not take it
  let unused: OpenPipelines | undefined;
  async function closeUnused(): Promise<void> {
    const set = unused;
    unused = undefined;
    await set?.[Symbol.asyncDispose]();
  }
  opening.defer(closeUnused);
  const stack = opening.move();
  return {
    running,
    /**
     * Opens the pipelines of a configuration that has changed; what it returns puts them in force. Those of a call before
     * that were not put in force are closed.
     */
    async prepare(next: Config): Promise<() => void> {
      await closeUnused();
      const wanted = JSON.stringify([next.pipelines, next.vendors]);
      if (wanted === served) return () => {};
      const set = unused = await open(next);
      return () => {
        unused = undefined;
        running.replace(set);
        warnOfDatabases(set, next, logger);
        served = wanted;
      };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function warnOfDatabases({ list }: OpenPipelines, config: Config, logger: Logger): void {
  const databases = list.map(({ name, database, databaseOptions: options }) => ({
    database,
    options,
    settingAt: (path: SettingPath) => writtenSetting(config, "pipelines", name, path),
  }));
  void logStartupWarnings(databases, logger);
}

/** A filter tells its caller whether a row meets it, whatever the row's columns are for: once for all pipelines. */
function warnOfFilters({ pipelines }: Pick<Config, "pipelines">, logger: Logger): void {
  const open = pipelines.filter(({ tables }) => tables.some((table) => table.filter_columns === undefined));
  if (open.length === 0) return;
  logger.warn(
    "Requests may filter by every column of these pipelines' tables, and so find out values that no answer shows; " +
      "name the columns for filters in pipelines[].tables[].filter_columns",
    { pipelines: open.map(({ name }) => name).join(", ") },
  );
}
