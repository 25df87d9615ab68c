import { type AuditTrail, createAuditTrail } from "../audit/audit_trail.ts";
import { type AuthConfig, type Config, offers, writtenSetting } from "../config/mod.ts";
import type { SettingPath } from "../core/document/value_tree.ts";
import { createFileWatch, type FileWatch } from "../core/files/watch_files.ts";
import { createLogger, type Logger } from "../core/logger.ts";
import { createLogOutput } from "../core/log_output.ts";
import { createServerMetrics, type ServedBy, type ServerMetrics } from "../core/metrics/server_metrics.ts";
import type { Quotas } from "../core/quotas/quotas.ts";
import type { Tracer } from "../core/tracing.ts";
import { type AccessLog, createAccessLog } from "../http/access_log.ts";
import type { Authentication } from "../identity/authentication.ts";
import type { Authenticator } from "../identity/authenticator.ts";
import type { Database } from "../postgres/database.ts";
import type { ServerInfo } from "../tool_server/mcp/methods.ts";
import { builtInIssuer, resourceOf } from "./built_in_issuer.ts";
import { type ApplyConfig, type ConfigSource, watchConfig } from "./config_reload.ts";
import { giveUpPermissions } from "./give_up_permissions.ts";
import { createIncidentLog, type IncidentLog } from "./telemetry/incident_log.ts";
import {
  changedDatabases,
  openConfiguredDatabases,
  type OpenDatabase,
  type OpenDatabases,
  openDemoDatabase,
  waitBoundsOf,
} from "./open_databases.ts";
import type { Identities, Identity, OauthOptions } from "./open_identity.ts";
import type { LatePipelines } from "./rag/late_pipelines.ts";
import type { RunningRagServer } from "./rag/rag_server.ts";
import { openQuotas } from "./open_quotas.ts";
import { logStartupWarnings, type WarnedDatabase } from "./startup_warnings.ts";
import { tellServiceManager } from "./tell_service_manager.ts";
import { createToolServer, openHistory, type ToolServer } from "./tool_server/tool_server.ts";

export interface RunOptions {
  readonly config: Config;
  /** What the configuration holds that has no effect, for the log. */
  readonly warnings: readonly string[];
  /** Run the RAG server; alone, unless the tool server is enabled over HTTP. */
  readonly rag: boolean;
  /** Serve the demo's database in place of those that are configured. */
  readonly demo: boolean;
  readonly serverInfo: ServerInfo;
  /** Takes the lines that tell a person how to start; never called where standard output carries JSON-RPC. */
  readonly print: (line: string) => void;
  /** Absent where the configuration has no file. */
  readonly reload?: ConfigSource;
}

// What one mode alone needs is imported where it begins: loading is most of the time until a server answers.

/** What both servers use. */
interface Running extends RunOptions {
  readonly databases: OpenDatabases;
  readonly files: FileWatch;
  /** From now on, `prepare` gets the configuration whenever it changes. */
  readonly onConfig: (prepare: ApplyConfig) => void;
  readonly metrics: ServerMetrics;
  readonly quotas: Quotas;
  /** Absent where the configuration does not ask for it. */
  readonly access: AccessLog | undefined;
  /** Absent where the configuration names no collector. */
  readonly tracer: Tracer | undefined;
  readonly audit: AuditTrail | undefined;
  readonly incidents: IncidentLog;
  /** Absent where no server asks who is calling. */
  readonly identities: Identities | undefined;
  readonly logger: Logger;
}

/**
 * Runs what the configuration asks for until the process is told to stop or, over stdio, until the client leaves.
 * @throws {AppError} where it cannot start
 */
export async function run(options: RunOptions): Promise<void> {
  const { config, rag, demo, reload } = options;
  let { level } = config.log;
  using output = createLogOutput();
  const logger = createLogger({ ...config.log, level: () => level, write: output.write });
  for (const warning of options.warnings) logger.warn(warning);
  const servesTools = config.http.enabled || !rag;
  const isStdio = servesTools && !config.http.enabled;
  await giveUpPermissions(config, { isStdio, logger });
  const metrics = createServerMetrics();
  using quotas = await openQuotas(config, metrics, logger);
  const { address } = config.metrics;
  const { version } = options.serverInfo;
  await using _metrics = address &&
    await (await import("./telemetry/serve_metrics.ts")).serveMetrics({ address, metrics, version, logger });
  const { endpoint } = config.traces;
  // closed after the servers: it has their last calls
  await using tracer = endpoint === undefined
    ? undefined
    : await (await import("./telemetry/export_traces.ts")).exportTraces({
      ...config.traces,
      endpoint,
      version,
      logger,
    });
  using files = createFileWatch();
  // from the first moment on: without a listener the signal ends the process
  using _hangUp = isStdio ? undefined : onHangUp(() => {
    logger.info("SIGHUP: reading credentials, keys, certificates and the configuration again");
    files.lookAtAll();
  });
  await using databases = demo
    ? await openDemoDatabase(logger)
    : await openConfiguredDatabases(servesTools ? config : { ...config, databases: [] }, logger);
  const servers: ApplyConfig[] = [({ log, limits }) =>
    Promise.resolve(() => {
      level = log.level;
      quotas.replace(limits);
    })];
  const onConfig = (prepare: ApplyConfig) => void servers.push(prepare);
  const access = config.log.access ? createAccessLog(config.log.format, output) : undefined;
  await using audit = config.audit.file === undefined
    ? undefined
    : await createAuditTrail({ file: config.audit.file, texts: config.audit.texts, now: Date.now, logger });
  using incidents = createIncidentLog(logger, audit);
  const asks = (config.http.enabled && config.http.auth.enabled) || (rag && config.server.auth.enabled);
  await using identities = asks && !demo
    ? (await import("./open_identity.ts")).createIdentities({
      oauth: oauthOf(config, rag),
      files,
      audit,
      onLogin: incidents.loggedIn,
      metrics,
      logger,
    })
    : undefined;
  const running: Running = {
    ...options,
    databases,
    files,
    onConfig,
    metrics,
    quotas,
    access,
    tracer,
    audit,
    incidents,
    identities,
    logger,
  };
  // before the server listens: without a listener, a signal that comes right then ends the process at once
  const ragStopped = rag ? untilStopped() : undefined;
  await using ragServer = rag ? await startRag(running) : undefined;
  await using _configuration = demo || isStdio || reload === undefined ? undefined : await watchConfig({
    config,
    source: reload,
    servers,
    files,
    onReload: (result) => metrics.reloads.of("configuration", result).add(),
    logger,
  });
  if (!servesTools) void tellServiceManager(config.notify_socket, logger);
  // at the same time: otherwise one would take new requests while the other stops
  await Promise.all([
    servesTools ? runToolServer(running, ragServer) : undefined,
    ragStopped?.then(() => {
      // else the tool server says so
      if (!servesTools) logger.info("stopping");
      return ragServer?.[Symbol.asyncDispose]();
    }),
  ]);
}

async function startRag(running: Running): Promise<RunningRagServer> {
  const { config, demo, databases, files, audit, logger } = running;
  const { startRagServer } = await import("./rag/rag_server.ts");
  const resource = resourceOf(config, "rag_server");
  const identity = await openIdentity(running, config.server.auth, resource);
  const server = await startRagServer({
    ...(demo ? await demoPipelines(config, databases) : { config }),
    ...(identity && {
      identity: {
        authentication: authenticationBy(identity, running, "rag_server"),
        oauth: identity.oauth === undefined || resource === undefined
          ? undefined
          : { ...identity.oauth.server, resource },
        onEnded: identity.onEnded,
      },
    }),
    audit,
    files,
    version: running.serverInfo.version,
    metrics: running.metrics,
    quotas: running.quotas,
    access: running.access,
    tracer: running.tracer,
    logger,
  });
  running.onConfig(server.prepare);
  if (demo) {
    const { ragGreeting } = await import("../demo/demo_greeting.ts");
    running.print(ragGreeting(server.url));
  }
  return server;
}

/** The handbook's pipeline in place of the configured ones. */
async function demoPipelines(config: Config, { list: [shop] }: OpenDatabases) {
  const { demoPipeline } = await import("../demo/demo_handbook.ts");
  return {
    config: { ...config, pipelines: [demoPipeline] },
    ...(shop && { databaseOptions: () => ({ ...shop.options, name: demoPipeline.name }) }),
  };
}

/** Runs the tool server, over HTTP where that is enabled and over stdio otherwise. */
async function runToolServer(running: Running, ragServer: RunningRagServer | undefined): Promise<void> {
  const { config, demo, databases, files, metrics, quotas, tracer, audit, incidents, logger } = running;
  const identity = config.http.enabled
    ? await openIdentity(running, config.http.auth, resourceOf(config, "tool_server"))
    : undefined;
  await using completion = demo || !config.llm.enabled
    ? undefined
    : await (await import("./tool_server/open_completion.ts")).openCompletion({
      config,
      files,
      metrics,
      logger,
    });
  using history = openHistory(config, logger);
  await using late = ragServer === undefined ? await openLatePipelines(running) : undefined;
  const pipelines = ragServer === undefined ? late?.pipelines : servedBy(ragServer);
  await using embedding = config.embedding === undefined
    ? undefined
    : (await import("./tool_server/open_embedding.ts")).openEmbedding({
      config,
      files,
      metrics,
      quotas,
      logger,
    });
  const byRules = demo || (config.llm.enabled && config.llm.provider === "local");
  await using toolServer = await createToolServer({
    databases: databases.list,
    maxConnections: config.max_connections,
    waitBounds: waitBoundsOf(config),
    words: byRules || completion !== undefined ? { llm: config.llm, history, ...completion } : undefined,
    documents: pipelines === undefined && embedding === undefined ? undefined : {
      pipelines: pipelines && { ...pipelines, timeoutMs: config.server.request_timeout },
      knowledgebase: config.knowledgebase?.enabled === false ? undefined : config.knowledgebase?.pipeline,
      embedding,
    },
    offers: (part, name) => offers(config.builtins, part, name),
    hasDefinitions: config.custom_definitions_path !== undefined,
    listsCustom: config.builtins.list === "all",
    scopesByTool: scopesByTool(config.http.auth),
    endSession: (id) => identity?.endSession(id),
    audit,
    onCall: incidents.called,
    serverInfo: running.serverInfo,
    metrics,
    quotas,
    tracer,
    logger,
  });
  identity?.onEnded(toolServer.endPrincipal);
  if (databases.list.length === 0) {
    logger.warn("The configuration has no databases: tools have nothing to read");
  }
  await using definitions = await openDefinitions(running, toolServer);
  const warned = logStartupWarnings(warnedDatabases(config, databases.list, toolServer.databases), logger);
  let served = databases.list;
  running.onConfig((next) => {
    const list = changedDatabases(next, served, logger);
    return Promise.resolve(() => {
      served = list;
      const replaced = toolServer.replaceDatabases(list);
      void logStartupWarnings(warnedDatabases(next, list, replaced), logger);
      void definitions?.databasesChanged();
    });
  });
  let hasLimits = quotas.isOn;
  running.onConfig(() =>
    Promise.resolve(() => {
      if (quotas.isOn === hasLimits) return;
      hasLimits = quotas.isOn;
      // the tool that tells of them comes or goes
      toolServer.changes.publish({ kind: "tools" });
    })
  );
  if (late !== undefined) running.onConfig(late.prepare);
  if (pipelines !== undefined) running.onConfig(tellOfPipelines(config, toolServer));
  const serving = { ...running, toolServer, identity };
  if (!config.http.enabled) await runStdio(serving);
  else if (demo) await runDemo(serving);
  else await runHttp(serving);
  await warned;
}

/** Of the databases in the list, those that are open. */
function warnedDatabases(
  config: Config,
  list: readonly OpenDatabase[],
  open: readonly Database[],
): readonly WarnedDatabase[] {
  return list.flatMap(({ options }) => {
    const database = open.find(({ name }) => name === options.name);
    const settingAt = (path: SettingPath) => writtenSetting(config, "databases", options.name, path);
    return database === undefined ? [] : [{ database, options, settingAt }];
  });
}

/** The pipelines of a tool server that stands alone. */
async function openLatePipelines(running: Running): Promise<LatePipelines | undefined> {
  const { config, demo, databases, files, metrics, quotas, logger } = running;
  if (!demo && config.pipelines.length === 0) {
    running.onConfig(({ pipelines }) => {
      if (pipelines.length > 0) logger.warn("Restart the server to offer tools for the first pipelines");
      return Promise.resolve(undefined);
    });
    return undefined;
  }
  const { createLatePipelines } = await import("./rag/late_pipelines.ts");
  const settings = demo ? await demoPipelines(config, databases) : { config };
  return createLatePipelines({ ...settings, files, metrics, quotas, logger });
}

/** Which tools and documents there are for a caller follows from the pipelines. */
function tellOfPipelines({ pipelines: first }: Config, { changes }: ToolServer): ApplyConfig {
  let told = JSON.stringify(first);
  return ({ pipelines }) =>
    Promise.resolve(() => {
      const now = JSON.stringify(pipelines);
      if (now === told) return;
      told = now;
      changes.publish({ kind: "tools" });
      changes.publish({ kind: "resources" });
    });
}

/** Those that the RAG server of the process has opened. */
function servedBy({ pipelines }: RunningRagServer) {
  return { list: pipelines.list, open: () => Promise.resolve(pipelines) };
}

/** Offers what the configuration's definitions file defines; undefined where it names none. */
async function openDefinitions({ config, files, logger }: Running, toolServer: ToolServer) {
  const { custom_definitions_path: path } = config;
  if (path === undefined) return undefined;
  const { watchDefinitions } = await import("./tool_server/definitions_file.ts");
  return await watchDefinitions({
    path,
    config,
    files,
    guard: toolServer.guard,
    databases: () => toolServer.entries.map(({ name }) => name),
    offer: toolServer.offerDefinitions,
    logger,
  });
}

/** With those of every request: a refusal names all that a call needs, so that nobody is asked for them one by one. */
function scopesByTool({ identity_provider: provider }: Config["http"]["auth"]): Record<string, string[]> {
  const { required_scopes: always = [], scopes_by_tool: more = {} } = provider ?? {};
  return Object.fromEntries(
    Object.entries(more).map(([tool, scopes]) => [tool, [...new Set([...always, ...scopes])]]),
  );
}

interface Serving extends Running {
  readonly toolServer: ToolServer;
  readonly identity: Identity | undefined;
}

async function runHttp(serving: Serving): Promise<void> {
  const { config: { http }, identity, toolServer, files, metrics, access, tracer, logger } = serving;
  const { serveHttp } = await import("./serve_http.ts");
  // before it listens: without a listener, a signal that comes right then ends the process at once
  const stopped = untilStopped();
  await using server = await serveHttp({
    http,
    toolServer,
    files,
    authorizationServer: identity?.oauth?.server,
    resource: resourceOf(serving.config, "tool_server"),
    authentication: identity && authenticationBy(identity, serving, "tool_server"),
    metrics,
    access,
    tracer,
    logger,
  });
  serving.onConfig((next) => Promise.resolve(() => server.reload(next.http)));
  // the RAG server answers before this one is started
  void tellServiceManager(serving.config.notify_socket, logger);
  await stopped;
}

/** What tells a server's callers apart; undefined where it asks nobody. The demo has no accounts. */
async function openIdentity(
  { identities, demo }: Running,
  auth: AuthConfig,
  resource?: string,
): Promise<Identity | undefined> {
  return auth.enabled && !demo ? await identities?.open(auth, resource) : undefined;
}

/** How the built-in authorization server is reached; undefined where there is none. */
function oauthOf(config: Config, rag: boolean): OauthOptions | undefined {
  const { http, data_dir: dataDir } = config;
  const issuer = http.enabled ? builtInIssuer(http.auth) : undefined;
  if (issuer === undefined || dataDir === undefined) return undefined;
  const servers: readonly ServedBy[] = rag ? ["tool_server", "rag_server"] : ["tool_server"];
  return {
    issuer,
    auth: http.auth,
    oauth: http.auth.oauth,
    dataDir,
    resources: servers.flatMap((server) => {
      const address = resourceOf(config, server);
      return address === undefined ? [] : [{ address, server }];
    }),
    allowedOrigins: http.allowed_origins,
  };
}

function authenticationBy(
  { authenticator, login, endSession }: Identity,
  running: Running,
  server: ServedBy,
): Authentication {
  const { builtins, ...config } = running.config;
  const { auth } = server === "tool_server" ? config.http : config.server;
  return {
    authenticator,
    requiredScopes: auth.identity_provider?.required_scopes ?? [],
    // one switch each for both servers: sessions of one may be good for the other
    ...(login !== undefined && offers(builtins, "tools", "authenticate_user") ? { login } : {}),
    ...(offers(builtins, "tools", "logout") ? { endSession } : {}),
    onRefusal: refusalCounter(running, server),
  };
}

/** What is told of requests that were refused for their token. */
function refusalCounter({ incidents, metrics }: Running, server: ServedBy): (address: string) => void {
  const refused = metrics.refusals.of(server, "unauthorized");
  return (address) => {
    refused.add();
    incidents.refused(address);
  };
}

async function runDemo(serving: Serving): Promise<void> {
  const { config, toolServer, print, files, metrics, access, tracer, logger } = serving;
  const { address, auth } = config.http;
  const { serveHttp } = await import("./serve_http.ts");
  const { demoGreeting } = await import("../demo/demo_greeting.ts");
  const { token, authenticator } = await authenticatorOfOneToken();
  const stopped = untilStopped();
  await using server = await serveHttp({
    // for one person at one machine, and offered to others only where an address says so
    http: { ...config.http, address: { ...address, host: address.host || "127.0.0.1" } },
    toolServer,
    files,
    authentication: auth.enabled
      ? { authenticator, onRefusal: refusalCounter(serving, "tool_server") }
      : undefined,
    metrics,
    access,
    tracer,
    logger,
  });
  print(demoGreeting({ url: server.url, ...(auth.enabled ? { token } : {}) }));
  void tellServiceManager(config.notify_socket, logger);
  await stopped;
}

/** Lets in one new token, which is in no file. */
async function authenticatorOfOneToken(): Promise<{ token: string; authenticator: Authenticator }> {
  const { createAuthenticator } = await import("../identity/authenticator.ts");
  const { createTokenIndex } = await import("../identity/tokens/token_directory.ts");
  const { createToken } = await import("../identity/tokens/token_file.ts");
  const { token, record } = createToken({ id: "demo", expiry: "never", now: Date.now() });
  return { token, authenticator: createAuthenticator({ tokens: createTokenIndex([record]), now: Date.now }) };
}

async function runStdio({ toolServer, logger }: Serving): Promise<void> {
  const { serveStdio } = await import("../tool_server/mcp/stdio.ts");
  const stdio = serveStdio({ ...toolServer, logger });
  await untilStopped(stdio.closed);
  await stdio.close();
}

/**
 * Resolves on SIGTERM or SIGINT; a second signal ends the process as usual.
 * @param clientLeft over stdio: it ends the wait too, and so does SIGHUP, since nobody is left where the terminal is gone
 */
async function untilStopped(clientLeft?: Promise<void>): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  const stop = () => stopped.resolve();
  using _hangUp = clientLeft && onHangUp(stop);
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.addSignalListener(signal, stop);
  await Promise.race([stopped.promise, clientLeft ?? stopped.promise]);
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.removeSignalListener(signal, stop);
}

/** Calls `told` on each SIGHUP, until it is disposed of; Windows has no such signal. */
function onHangUp(told: () => void): Disposable | undefined {
  if (Deno.build.os === "windows") return undefined;
  Deno.addSignalListener("SIGHUP", told);
  return { [Symbol.dispose]: () => Deno.removeSignalListener("SIGHUP", told) };
}
