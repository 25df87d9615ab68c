import type { FileWatch, Look } from "../../core/watch_files.ts";
import type { Config, PipelineConfig } from "../../config/mod.ts";
import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import { createUsageLedger } from "../../llm/usage_ledger.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";
import { createStatementGuard } from "../../postgres/statement_guard.ts";
import type { HttpServer } from "../serve_http.ts";
import { createCurrentPipelines } from "./current_pipelines.ts";
import { openPipelineSet } from "./pipeline_set.ts";
import { serveRag } from "./serve_rag.ts";

export interface RagServerOptions {
  readonly config: Config;
  /** Loads the configuration again; absent where it has no file. */
  readonly reload?: { readonly path: string; readonly load: () => Promise<Config> };
  /** For pipelines whose database the configuration does not name. */
  readonly databaseOptions?: (pipeline: PipelineConfig) => DatabaseOptions | undefined;
  readonly files: FileWatch;
  readonly version: string;
  readonly logger: Logger;
}

/** Beyond the longest query: what it held on to is let go a moment after. */
const retireMarginMs = 1_000;

/**
 * Opens the pipelines, serves them, and replaces them when the configuration file changes. The listener stays as it is: its
 * settings are read at the start.
 * @throws {AppError} as `serveRag`
 */
export async function startRagServer(options: RagServerOptions): Promise<HttpServer> {
  const { config, files, logger, reload } = options;
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
  const pipelines = opening.use(
    createCurrentPipelines(await open(config), {
      longestQueryMs: (config.server.request_timeout || Infinity) + retireMarginMs,
      logger,
    }),
  );

  let listener = JSON.stringify(config.server);
  let served = JSON.stringify([config.pipelines, config.vendors]);
  async function reloadPipelines(
    { path, load }: NonNullable<RagServerOptions["reload"]>,
    { isCurrent }: Look,
  ): Promise<void> {
    try {
      const next = await load();
      if (!await isCurrent()) return;
      const wanted = JSON.stringify([next.pipelines, next.vendors]);
      if (JSON.stringify(next.server) !== listener) {
        logger.warn(`${path}: what has changed in server takes effect at the next start`);
        listener = JSON.stringify(next.server);
      }
      if (wanted === served) return;
      // a file that is being written over is empty for a moment
      if (next.pipelines.length === 0) {
        throw new AppError("invalid", `Cannot serve ${path}: it has no pipelines`);
      }
      pipelines.replace(await open(next));
      served = wanted;
      logger.info(`Reloaded ${path}`, { pipelines: next.pipelines.length });
    } catch (error) {
      logger.error(`Failed to reload ${path}; the pipelines stay as they were`, { error });
    }
  }
  if (reload !== undefined) {
    opening.use(
      await files.watch({ paths: [reload.path], onChange: (look) => reloadPipelines(reload, look) }),
    );
  }

  const server = opening.use(
    await serveRag({
      server: config.server,
      pipelines: pipelines.current,
      version: options.version,
      logger,
    }),
  );
  if (config.pipelines.length === 0) {
    logger.warn("The configuration has no pipelines: there is nothing to ask");
  }
  const stack = opening.move();
  return { url: server.url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
