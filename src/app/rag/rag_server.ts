import type { FileWatch } from "../../core/files/watch_files.ts";
import type { Config, PipelineConfig } from "../../config/mod.ts";
import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import { createUsageLedger } from "../../llm/usage_ledger.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";
import { createStatementGuard } from "../../postgres/guard/statement_guard.ts";
import type { HttpServer } from "../serve_http.ts";
import type { ApplyConfig } from "../config_reload.ts";
import { logStartupWarnings } from "../startup_warnings.ts";
import { createCurrentPipelines } from "./current_pipelines.ts";
import { openPipelineSet } from "./pipeline_set.ts";
import { serveRag } from "./serve_rag.ts";

export interface RagServerOptions {
  readonly config: Config;
  /** For pipelines whose database the configuration does not name. */
  readonly databaseOptions?: (pipeline: PipelineConfig) => DatabaseOptions | undefined;
  readonly files: FileWatch;
  readonly version: string;
  readonly logger: Logger;
}

/** Beyond the longest query: what it held on to is let go a moment after. */
const retireMarginMs = 1_000;

/**
 * Opens the pipelines, serves them, and replaces them when the configuration changes. The listener stays as it is.
 * @throws {AppError} as `serveRag`
 */
export async function startRagServer(
  options: RagServerOptions,
): Promise<HttpServer & { readonly prepare: ApplyConfig }> {
  const { config, files, logger } = options;
  await using opening = new AsyncDisposableStack();
  const guard = await createStatementGuard();
  const ledger = createUsageLedger();
  const open = (config: Config) =>
    openPipelineSet({
      config,
      guard,
      ledger,
      files,
      logger,
      ...(options.databaseOptions === undefined ? {} : { databaseOptions: options.databaseOptions }),
    });
  const first = await open(config);
  const pipelines = opening.use(
    createCurrentPipelines(first, {
      longestQueryMs: (config.server.request_timeout || Infinity) + retireMarginMs,
      logger,
    }),
  );

  const server = opening.use(
    await serveRag({
      server: config.server,
      pipelines: pipelines.current,
      version: options.version,
      files,
      logger,
    }),
  );
  void logStartupWarnings(first.list.map(({ database }) => database), logger);
  if (config.pipelines.length === 0) {
    logger.warn("The configuration has no pipelines: there is nothing to ask");
  }
  let served = JSON.stringify([config.pipelines, config.vendors]);
  async function prepare(next: Config): Promise<() => void> {
    const wanted = JSON.stringify([next.pipelines, next.vendors]);
    if (wanted === served) return () => server.reload(next.server);
    if (next.pipelines.length === 0) {
      throw new AppError("invalid", "Cannot serve a configuration without pipelines");
    }
    const set = await open(next);
    return () => {
      server.reload(next.server);
      pipelines.replace(set);
      served = wanted;
    };
  }
  const stack = opening.move();
  return { url: server.url, prepare, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
