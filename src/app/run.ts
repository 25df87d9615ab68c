import type { Config } from "../config/mod.ts";
import { createLogger, type Logger } from "../core/logger.ts";
import type { ServerInfo } from "../mcp/server_info.ts";
import { serveStdio } from "../mcp/stdio.ts";
import { demoGreeting } from "./demo_greeting.ts";
import { authenticatorOfFile, authenticatorOfOneToken } from "./load_authenticator.ts";
import { openConfiguredDatabases, openDemoDatabase } from "./open_databases.ts";
import { serveHttp } from "./serve_http.ts";
import { logStartupWarnings } from "./startup_warnings.ts";
import { createToolServer, type ToolServer } from "./tool_server.ts";
import { untilStopped } from "./until_stopped.ts";

export interface RunOptions {
  readonly config: Config;
  /** What the configuration holds that has no effect, for the log. */
  readonly warnings: readonly string[];
  /** Serve the demo's database in place of those that are configured. */
  readonly demo: boolean;
  readonly serverInfo: ServerInfo;
  /** Takes the lines that tell a person how to start; never called where standard output carries JSON-RPC. */
  readonly print: (line: string) => void;
}

/**
 * Runs what the configuration asks for until the process is told to stop or, over stdio, until the client leaves.
 * @throws {AppError} where it cannot start
 */
export async function run(options: RunOptions): Promise<void> {
  const { config, demo } = options;
  const logger = createLogger(config.log);
  for (const warning of options.warnings) logger.warn(warning);
  await using databases = demo
    ? await openDemoDatabase(logger)
    : await openConfiguredDatabases(config, logger);
  await using toolServer = await createToolServer({
    databases: databases.list,
    maxConnections: config.max_connections,
    localProvider: demo || config.llm?.provider === "local",
    serverInfo: options.serverInfo,
    logger,
  });
  const warned = logStartupWarnings(toolServer.databases, logger);
  if (config.http.enabled) await runHttp(options, toolServer, logger);
  else await runStdio(toolServer, logger);
  await warned;
}

async function runHttp(options: RunOptions, toolServer: ToolServer, logger: Logger): Promise<void> {
  const { config, demo, print } = options;
  const { auth } = config.http;
  // the demo is for one person at one machine: it is offered to others only where an address says so
  const http = demo
    ? { ...config.http, address: { ...config.http.address, host: config.http.address.host || "127.0.0.1" } }
    : config.http;
  const demoToken = demo && auth.enabled ? authenticatorOfOneToken() : undefined;
  const authenticator = demoToken?.authenticator ??
    (auth.enabled ? await authenticatorOfFile(auth.token_file, logger) : undefined);
  const server = await serveHttp({
    http,
    toolServer,
    ...(authenticator === undefined ? {} : { authenticator }),
    logger,
  });
  if (demo) {
    print(demoGreeting({ url: server.url, ...(demoToken === undefined ? {} : { token: demoToken.token }) }));
  }
  await untilStopped();
  await server.stop();
}

async function runStdio(toolServer: ToolServer, logger: Logger): Promise<void> {
  const stdio = serveStdio({ ...toolServer, logger });
  await untilStopped(stdio.closed);
  await stdio.close();
}
