import { createFileWatch } from "../core/files/watch_files.ts";
import { createLogger, type Logger } from "../core/logger.ts";
import { demoPipeline } from "../demo/demo_handbook.ts";
import { ragGreeting } from "./rag_greeting.ts";
import { openConfiguredDatabases, type OpenDatabases, openDemoDatabase } from "./open_databases.ts";
import { type Running, runToolServer } from "./run_tool_server.ts";
import type { HttpServer } from "./serve_http.ts";
import { type ApplyConfig, type ConfigSource, watchConfig } from "./config_reload.ts";
import { onHangUp, untilStopped } from "./until_stopped.ts";

export interface RunOptions extends Pick<Running, "config" | "demo" | "serverInfo" | "print"> {
  /** What the configuration holds that has no effect, for the log. */
  readonly warnings: readonly string[];
  /** Run the RAG server; alone, unless the tool server is enabled over HTTP. */
  readonly rag: boolean;
  /** Absent where the configuration has no file. */
  readonly reload?: ConfigSource;
}

/**
 * Runs what the configuration asks for until the process is told to stop or, over stdio, until the client leaves.
 * @throws {AppError} where it cannot start
 */
export async function run(options: RunOptions): Promise<void> {
  const { config, rag, demo, reload } = options;
  let { level } = config.log;
  const logger = createLogger({ ...config.log, level: () => level });
  for (const warning of options.warnings) logger.warn(warning);
  const servesTools = config.http.enabled || !rag;
  const isStdio = servesTools && !config.http.enabled;
  using files = createFileWatch();
  // from the first moment on: else the signal ends the process
  using _hangUp = isStdio ? undefined : onHangUp(() => {
    logger.info("SIGHUP: credentials, keys, certificates and the configuration are read again");
    files.lookAtAll();
  });
  await using databases = await openDatabases(options, servesTools, logger);
  const servers: ApplyConfig[] = [({ log }) => Promise.resolve(() => level = log.level)];
  const onConfig = (prepare: ApplyConfig) => void servers.push(prepare);
  const running = { ...options, databases, files, onConfig, logger };
  // before it listens: else a signal that comes right then ends the process as it stands
  const ragStopped = rag ? untilStopped() : undefined;
  await using ragServer = rag ? await runRagServer(running) : undefined;
  await using _configuration = demo || isStdio || reload === undefined
    ? undefined
    : await watchConfig({ config, source: reload, servers, files, logger });
  // one after the other, the second would take new requests while the first stops
  await Promise.all([
    servesTools ? runToolServer(running) : undefined,
    ragStopped?.then(() => ragServer?.[Symbol.asyncDispose]()),
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
  const { config, demo, databases, files, logger } = running;
  const [shop] = databases.list;
  // what describes its interface takes a tenth of a second to load, which a tool server need not wait for
  const { startRagServer } = await import("./rag/rag_server.ts");
  const server = await startRagServer({
    config: demo ? { ...config, pipelines: [demoPipeline] } : config,
    ...(demo && shop !== undefined
      ? { databaseOptions: () => ({ ...shop.options, name: demoPipeline.name }) }
      : {}),
    files,
    version: running.serverInfo.version,
    logger,
  });
  running.onConfig(server.prepare);
  if (demo) running.print(ragGreeting(server.url));
  return server;
}
