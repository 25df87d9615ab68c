import { type AuditTrail, createAuditTrail } from "../audit/audit_trail.ts";
import { type Authenticator, createAuthenticator } from "../auth/authenticator.ts";
import { createFolderWatch, type FolderWatch } from "../auth/folder_watch.ts";
import { createSessions, type Sessions } from "../auth/sessions.ts";
import { createTokenIndex } from "../auth/token_index.ts";
import { createToken } from "../auth/tokens.ts";
import type { Config } from "../config/mod.ts";
import { createLogger, type Logger } from "../core/logger.ts";
import type { ServerInfo } from "../mcp/server_info.ts";
import { serveStdio } from "../mcp/stdio.ts";
import { demoGreeting } from "./demo_greeting.ts";
import { openIdentity } from "./open_identity.ts";
import { openCompletion } from "./open_completion.ts";
import { openConfiguredDatabases, openDemoDatabase } from "./open_databases.ts";
import { openTurns } from "./open_turns.ts";
import { createRefusalTally } from "./refusal_tally.ts";
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
  await using audit = config.audit.file === undefined
    ? undefined
    : await createAuditTrail({ file: config.audit.file, now: Date.now, logger });
  using sessions = createSessions({
    lifetimeMs: config.http.auth.session_lifetime,
    now: Date.now,
    onEnded: ({ id, username }) => toolServer.endPrincipal({ kind: "session", id, username }),
  });
  await using folders = createFolderWatch({ logger });
  await using completion = demo ? undefined : await openCompletion({ config, folders, logger });
  using turns = openTurns(config, logger);
  const byRules = demo || (config.llm.enabled && config.llm.provider === "local");
  await using toolServer = await createToolServer({
    databases: databases.list,
    maxConnections: config.max_connections,
    ...(byRules || completion !== undefined ? { words: { llm: config.llm, turns, ...completion } } : {}),
    endSession: sessions.end,
    ...(audit === undefined ? {} : { audit }),
    serverInfo: options.serverInfo,
    logger,
  });
  const warned = logStartupWarnings(toolServer.databases, logger);
  if (config.http.enabled) await runHttp({ ...options, toolServer, sessions, audit, folders, logger });
  else await runStdio(toolServer, logger);
  await warned;
}

interface HttpOptions extends RunOptions {
  readonly toolServer: ToolServer;
  readonly sessions: Sessions;
  readonly audit: AuditTrail | undefined;
  readonly folders: FolderWatch;
  readonly logger: Logger;
}

async function runHttp(options: HttpOptions): Promise<void> {
  const { config: { http }, demo, toolServer, audit, logger } = options;
  if (demo) return await runDemo(options);
  using tally = audit && createRefusalTally(audit);
  await using identity = http.auth.enabled
    ? await openIdentity({
      auth: http.auth,
      sessions: options.sessions,
      folders: options.folders,
      onEnded: toolServer.endPrincipal,
      ...(audit === undefined ? {} : { audit }),
      logger,
    })
    : undefined;
  await using _server = await serveHttp({
    http,
    toolServer,
    ...(identity === undefined
      ? {}
      : { authentication: { ...identity, ...(tally === undefined ? {} : { onRefusal: tally.refused }) } }),
    logger,
  });
  await untilStopped();
}

async function runDemo({ config, toolServer, print, logger }: HttpOptions): Promise<void> {
  const { address, auth } = config.http;
  const { token, authenticator } = authenticatorOfOneToken();
  await using server = await serveHttp({
    // for one person at one machine, and offered to others only where an address says so
    http: { ...config.http, address: { ...address, host: address.host || "127.0.0.1" } },
    toolServer,
    ...(auth.enabled ? { authentication: { authenticator } } : {}),
    logger,
  });
  print(demoGreeting({ url: server.url, ...(auth.enabled ? { token } : {}) }));
  await untilStopped();
}

async function runStdio(toolServer: ToolServer, logger: Logger): Promise<void> {
  const stdio = serveStdio({ ...toolServer, logger });
  await untilStopped(stdio.closed);
  await stdio.close();
}

/** Lets in one token that is in no file. */
function authenticatorOfOneToken(): { token: string; authenticator: Authenticator } {
  const { token, record } = createToken({ id: "demo", expiry: "never", now: Date.now() });
  return { token, authenticator: createAuthenticator({ tokens: createTokenIndex([record]), now: Date.now }) };
}
