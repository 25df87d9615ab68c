import { type AuditTrail, createAuditTrail } from "../audit/audit_trail.ts";
import { type Authenticator, createAuthenticator } from "../identity/authenticator.ts";
import { createSessions, type Sessions } from "../identity/sessions.ts";
import { createTokenIndex } from "../identity/tokens/token_directory.ts";
import { createToken } from "../identity/tokens/token_file.ts";
import { type Config, offersTool } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import type { FileWatch } from "../core/files/watch_files.ts";
import type { ServerInfo } from "../tool_server/mcp/json_rpc.ts";
import { serveStdio } from "../tool_server/mcp/stdio.ts";
import type { ApplyConfig } from "./config_reload.ts";
import { demoGreeting } from "../demo/demo_greeting.ts";
import { createIncidentLog, type IncidentLog } from "./incident_log.ts";
import { changedDatabases, type OpenDatabases } from "./open_databases.ts";
import { openIdentity } from "./open_identity.ts";
import { openCompletion } from "./open_completion.ts";
import { openHistory } from "./open_history.ts";
import { createRefusalTally } from "./refusal_tally.ts";
import { serveHttp } from "./serve_http.ts";
import { logStartupWarnings } from "./startup_warnings.ts";
import { createToolServer, type ToolServer } from "./tool_server.ts";
import { untilStopped } from "./until_stopped.ts";

/** What both servers stand on. */
export interface Running {
  readonly config: Config;
  /** Serve the demo's database in place of those that are configured. */
  readonly demo: boolean;
  readonly serverInfo: ServerInfo;
  /** Takes the lines that tell a person how to start; never called where standard output carries JSON-RPC. */
  readonly print: (line: string) => void;
  readonly databases: OpenDatabases;
  readonly files: FileWatch;
  /** Takes in the configuration from now on, as it changes. */
  readonly onConfig: (prepare: ApplyConfig) => void;
  readonly logger: Logger;
}

/**
 * Runs the tool server, over HTTP where that is enabled and over stdio otherwise, until the process is told to stop or the
 * client leaves.
 * @throws {AppError} where it cannot start
 */
export async function runToolServer(running: Running): Promise<void> {
  const { config, demo, databases, files, logger } = running;
  await using audit = config.audit.file === undefined
    ? undefined
    : await createAuditTrail({ file: config.audit.file, now: Date.now, logger });
  using sessions = createSessions({
    lifetimeMs: config.http.auth.session_lifetime,
    now: Date.now,
    onEnded: ({ id, username }) => toolServer.endPrincipal({ kind: "session", id, username }),
  });
  await using completion = demo ? undefined : await openCompletion({ config, files, logger });
  using history = openHistory(config, logger);
  const byRules = demo || (config.llm.enabled && config.llm.provider === "local");
  using incidents = createIncidentLog(logger);
  await using toolServer = await createToolServer({
    databases: databases.list,
    maxConnections: config.max_connections,
    ...(byRules || completion !== undefined ? { words: { llm: config.llm, history, ...completion } } : {}),
    offers: (tool) => offersTool(config.builtins, tool),
    endSession: sessions.end,
    ...(audit === undefined ? {} : { audit }),
    onCall: incidents.called,
    serverInfo: running.serverInfo,
    logger,
  });
  const warned = logStartupWarnings(toolServer.databases, logger);
  let served = databases.list;
  running.onConfig((next) => {
    const list = changedDatabases(next, served, logger);
    return Promise.resolve(() => {
      served = list;
      void logStartupWarnings(toolServer.replaceDatabases(list), logger);
    });
  });
  if (config.http.enabled) await runHttp({ ...running, toolServer, sessions, audit, incidents });
  else await runStdio(toolServer, logger);
  await warned;
}

interface HttpOptions extends Running {
  readonly toolServer: ToolServer;
  readonly sessions: Sessions;
  readonly audit: AuditTrail | undefined;
  readonly incidents: IncidentLog;
}

async function runHttp(options: HttpOptions): Promise<void> {
  const { config: { http, builtins }, demo, toolServer, audit, incidents, logger } = options;
  if (demo) return await runDemo(options);
  using tally = audit && createRefusalTally(audit);
  await using identity = http.auth.enabled
    ? await openIdentity({
      auth: http.auth,
      sessions: options.sessions,
      files: options.files,
      onEnded: toolServer.endPrincipal,
      ...(audit === undefined ? {} : { audit }),
      onLogin: incidents.loggedIn,
      logger,
    })
    : undefined;
  await using server = await serveHttp({
    http,
    toolServer,
    files: options.files,
    ...(identity === undefined ? {} : {
      authentication: {
        authenticator: identity.authenticator,
        ...(offersTool(builtins, "authenticate_user") ? { login: identity.login } : {}),
        onRefusal(address) {
          incidents.refused(address);
          tally?.refused(address);
        },
      },
    }),
    logger,
  });
  options.onConfig((next) => Promise.resolve(() => server.reload(next.http)));
  await untilStopped();
}

async function runDemo({ config, toolServer, incidents, print, files, logger }: HttpOptions): Promise<void> {
  const { address, auth } = config.http;
  const { token, authenticator } = authenticatorOfOneToken();
  await using server = await serveHttp({
    // for one person at one machine, and offered to others only where an address says so
    http: { ...config.http, address: { ...address, host: address.host || "127.0.0.1" } },
    toolServer,
    files,
    ...(auth.enabled ? { authentication: { authenticator, onRefusal: incidents.refused } } : {}),
    logger,
  });
  print(demoGreeting({ url: server.url, ...(auth.enabled ? { token } : {}) }));
  await untilStopped();
}

async function runStdio(toolServer: ToolServer, logger: Logger): Promise<void> {
  const stdio = serveStdio({ ...toolServer, logger });
  await untilStopped({ ended: stdio.closed, hangUp: true });
  await stdio.close();
}

/** Lets in one token that is in no file. */
function authenticatorOfOneToken(): { token: string; authenticator: Authenticator } {
  const { token, record } = createToken({ id: "demo", expiry: "never", now: Date.now() });
  return { token, authenticator: createAuthenticator({ tokens: createTokenIndex([record]), now: Date.now }) };
}
