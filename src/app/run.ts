import { createFileWatch, type FileWatch } from "../core/watch_files.ts";
import type { Config, LoadedConfig } from "../config/mod.ts";
import { createLogger, type Logger } from "../core/logger.ts";
import type { ServerInfo } from "../mcp/server_info.ts";
import { demoPipeline } from "./demo/demo_pipeline.ts";
import { ragGreeting } from "./rag_greeting.ts";
import { openConfiguredDatabases, type OpenDatabases, openDemoDatabase } from "./open_databases.ts";
import { runToolServer } from "./run_tool_server.ts";
import type { HttpServer } from "./serve_http.ts";
import { untilStopped } from "./until_stopped.ts";

export interface RunOptions {
  readonly config: Config;
  /** What the configuration holds that has no effect, for the log. */
  readonly warnings: readonly string[];
  /** Run the RAG server; alone, unless the tool server is enabled over HTTP. */
  readonly rag: boolean;
  /** Loads the configuration again; absent where it has no file. */
  readonly reload?: { readonly path: string; readonly load: () => Promise<LoadedConfig> };
  /** Serve the demo's database in place of those that are configured. */
  readonly demo: boolean;
  readonly serverInfo: ServerInfo;
  /** Takes the lines that tell a person how to start; never called where standard output carries JSON-RPC. */
  readonly print: (line: string) => void;
}

/** What both servers stand on. */
export interface Running extends RunOptions {
  readonly databases: OpenDatabases;
  readonly files: FileWatch;
  readonly logger: Logger;
}

/**
 * Runs what the configuration asks for until the process is told to stop or, over stdio, until the client leaves.
 * @throws {AppError} where it cannot start
 */
export async function run(options: RunOptions): Promise<void> {
  const { config, rag } = options;
  const logger = createLogger(config.log);
  for (const warning of options.warnings) logger.warn(warning);
  const servesTools = config.http.enabled || !rag;
  await using databases = await openDatabases(options, servesTools, logger);
  using files = createFileWatch();
  const running = { ...options, databases, files, logger };
  await using ragServer = rag ? await runRagServer(running) : undefined;
  // one after the other, the second would take new requests while the first stops
  await Promise.all([
    servesTools ? runToolServer(running) : undefined,
    ragServer && untilStopped().then(() => ragServer[Symbol.asyncDispose]()),
  ]);
}

async function openDatabases(
  { config, demo }: RunOptions,
  servesTools: boolean,
  logger: Logger,
): Promise<OpenDatabases> {
  if (demo) return await openDemoDatabase(logger);
  return await openConfiguredDatabases(servesTools ? config : { ...config, databases: [] }, logger);
}

async function runRagServer(running: Running): Promise<HttpServer> {
  const { config, demo, databases, reload, files, logger } = running;
  const [shop] = databases.list;
  // what describes its interface takes a tenth of a second to load, which a tool server need not wait for
  const { startRagServer } = await import("./rag/rag_server.ts");
  const server = await startRagServer({
    config: demo ? { ...config, pipelines: [demoPipeline] } : config,
    ...(demo && shop !== undefined
      ? { databaseOptions: () => ({ ...shop.options, name: demoPipeline.name }) }
      : {}),
    ...(demo || reload === undefined
      ? {}
      : { reload: { path: reload.path, load: async () => (await reload.load()).config } }),
    files,
    version: running.serverInfo.version,
    logger,
  });
  if (demo) running.print(ragGreeting(server.url));
  return server;
}
