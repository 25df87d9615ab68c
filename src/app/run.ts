import { type AuditTrail, createAuditTrail } from "../audit/audit_trail.ts";
import { type Config, offers } from "../config/mod.ts";
import { AppError } from "../core/app_error.ts";
import { createFileWatch } from "../core/files/watch_files.ts";
import { createLogger, createLogOutput, type Logger, mostGatheredBesideOthers } from "../core/logger.ts";
import {
  createServerMetrics,
  readGeneration,
  type ServedBy,
  type ServerMetrics,
} from "../core/metrics/server_metrics.ts";
import { createRecentCalls } from "../calls/recent_calls.ts";
import { createAccessLog } from "../http/access_log.ts";
import { type ApplyConfig, watchConfig } from "./config_reload.ts";
import { giveUpPermissions, logRuntimeWarnings } from "./processes/runtime.ts";
import { createIncidentLog } from "./telemetry/incident_log.ts";
import type { OauthOptions } from "./open_identity.ts";
import { openConfiguredState } from "./open_state.ts";
import type { RunningRagServer } from "./rag/rag_server.ts";
import { scopesOfServer } from "../identity/own_scopes.ts";
import { builtinTools } from "../tool_server/builtin_kinds.ts";
import { onHangUp, tellServiceManager, untilStopped } from "./processes/process_signals.ts";
import { createQuotas, type Quotas } from "../core/quotas/quotas.ts";
import { createUsageCounts } from "../core/quotas/usage_counts.ts";
import type { UsageExchange } from "../state/usage_exchange.ts";
import type { State } from "../state/state.ts";
import { administratorWarnings } from "./checks/startup_warnings.ts";
import { refuseEmptyFile, requireServedPaths, unreadableFileWarnings } from "./checks/path_faults.ts";
import {
  authenticationBy,
  builtInIssuer,
  hasConsole,
  openIdentity,
  resourceOf,
  type Running,
  type RunOptions,
  waitBoundsOf,
} from "./shared_parts.ts";
import { createOnnxModels } from "../llm/onnx/onnx_models.ts";
import { configuredModels } from "./providers/provider_settings.ts";

// What one mode alone needs is imported where it begins: loading is most of the time until a server answers.

/**
 * Runs what the configuration asks for until the process is told to stop or, over stdio, until the client leaves.
 * @throws {AppError} where it cannot start
 */
export async function run(options: RunOptions): Promise<number | void> {
  const { config, rag, demo, reload } = options;
  const { own_process: own } = config;
  let { level } = config.log;
  using output = createLogOutput(undefined, own && mostGatheredBesideOthers);
  const ofAll = createLogger({ ...config.log, level: () => level, write: output.write });
  const logger = own === undefined ? ofAll : ofAll.with({ process: own.number });
  logRuntimeWarnings(logger);
  // of several processes the parent warns
  const warnings = own === undefined
    ? [...options.warnings, ...await unreadableFileWarnings(config), ...await administratorWarnings(config)]
    : [];
  for (const warning of warnings) logger.warn(warning);
  if (!demo) await refuseEmptyFile(reload?.path, config);
  await requireServedPaths(config, rag);
  const servesTools = config.http.enabled || !rag;
  const isStdio = servesTools && !config.http.enabled;
  const isParent = config.processes > 1 && own === undefined;
  if (isParent) requireSharing(config, isStdio, demo);
  await using models = createOnnxModels({ libraryPath: config.models.library_path, logger });
  const handbook = demo
    ? await (await import("./rag/open_handbook.ts")).openHandbook(config, models, logger)
    : undefined;
  // before the permission goes that ONNX Runtime's library needs, and kept to the end
  for (const model of isParent ? [] : configuredModels(handbook?.config ?? config)) await models.open(model);
  await giveUpPermissions(config, { isStdio, isParent, logger });
  if (isParent) return await (await import("./processes/supervisor.ts")).supervise({ ...options, logger });
  using files = createFileWatch();
  const lookAgain = () => {
    logger.info("SIGHUP: reading credentials, keys, certificates and the configuration again");
    files.lookAtAll();
  };
  const child = own &&
    (await import("./processes/child.ts")).joinParent(own, { onHangUp: lookAgain, logger });
  const metrics = createServerMetrics();
  await using state = await openConfiguredState(
    demo ? { ...config, state: memory, data_dir: undefined } : config,
    logger,
    { parent: child?.channel },
  );
  if (state.isShared) {
    metrics.stateReachable.collect(() => [{ labels: [], value: state.isReachable() ? 1 : 0 }]);
  }
  await using quotas = await openQuotas(config, state, metrics, logger);
  const { address } = config.metrics;
  const { version } = options.serverInfo;
  await using _metrics = address && (child?.tellMetrics(metrics) ??
    await (await import("./telemetry/serve_metrics.ts")).serveMetrics({ address, metrics, version, logger }));
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
  // from the first moment on: without a listener the signal ends the process
  using _hangUp = isStdio ? undefined : onHangUp(lookAgain);
  const openings = await import("./open_databases.ts");
  await using databases = demo
    ? await openings.openDemoDatabase(logger, handbook?.sql)
    : await openings.openConfiguredDatabases(servesTools ? config : { ...config, databases: [] }, logger);
  let settings = settingsText(config);
  using _generation = {
    [Symbol.dispose]: metrics.generations.collect(readGeneration("configuration", () => settings)),
  };
  const servers: ApplyConfig[] = [(next) =>
    Promise.resolve(() => {
      level = next.log.level;
      quotas.replace(next.limits);
      settings = settingsText(next);
    })];
  const onConfig = (prepare: ApplyConfig) => void servers.push(prepare);
  const access = config.log.access ? createAccessLog(config.log.format, output) : undefined;
  await using audit = config.audit.file === undefined
    ? undefined
    : await createAuditTrail({ ...config.audit, file: config.audit.file, now: Date.now, logger });
  using _auditMetrics = audit && watchAudit(metrics, audit);
  using incidents = createIncidentLog(logger, audit);
  const asks = (config.http.enabled && config.http.auth.enabled) || (rag && config.server.auth.enabled);
  await using identities = asks && !demo
    ? (await import("./open_identity.ts")).createIdentities({
      state,
      sharesLogins: config.state.database !== undefined,
      userFile: config.http.auth.user_file,
      oauth: oauthOf(config, rag),
      files,
      audit,
      onLogin: incidents.loggedIn,
      onOtherNetwork: incidents.fromOtherNetwork,
      metrics,
      logger,
    })
    : undefined;
  const running: Running = {
    ...options,
    ...(handbook && { config: handbook.config }),
    databases,
    databaseOptions: databases.ofPipelines,
    files,
    models,
    onConfig,
    metrics,
    quotas,
    access,
    tracer,
    audit,
    incidents,
    recentCalls: !isStdio && hasConsole(config, demo) ? createRecentCalls() : undefined,
    identities,
    state,
    child,
    onServing: () => child?.serves() ?? void tellServiceManager(config.notify_socket, logger),
    logger,
  };
  // before the server listens: without a listener, a signal that comes right then ends the process at once
  const ragStopped = rag ? untilStopped(child?.stopped) : undefined;
  await using ragServer = rag ? await startRag(running) : undefined;
  await using _configuration = demo || isStdio || reload === undefined ? undefined : await watchConfig({
    config,
    source: reload,
    servers,
    files,
    onReload: (result) => metrics.reloads.of("configuration", result).add(),
    logger,
  });
  if (!servesTools) running.onServing();
  // at the same time: otherwise one would take new requests while the other stops
  await Promise.all([
    servesTools
      ? (await import("./tool_server/run_tool_server.ts")).runToolServer(running, ragServer)
      : undefined,
    ragStopped?.then(() => {
      // else the tool server says so
      if (!servesTools) logger.info("stopping");
      return ragServer?.[Symbol.asyncDispose]();
    }),
  ]);
}

/** What servers with the same settings have alike, wherever each of them listens and writes. */
function settingsText(config: Config): string {
  const { own_process: _own, notify_socket: _socket, audit: _audit, metrics: _metrics, ...rest } = config;
  const [http, server] = [{ ...rest.http, address: undefined }, { ...rest.server, address: undefined }];
  return JSON.stringify({ ...rest, http, server });
}

/** The demo leaves nothing behind. */
const memory: Config["state"] = { grace: 0 };

/** @throws {AppError} `invalid` where several processes have nothing to share */
function requireSharing({ processes }: Config, isStdio: boolean, demo: boolean): void {
  if (!isStdio && !demo) return;
  const reason = demo
    ? "in the demo: its database is in the memory of one"
    : "over stdio, which leads to one: serve over HTTP, with -http";
  throw new AppError("invalid", `Cannot serve with ${processes} processes ${reason}; set processes to 1`);
}

function watchAudit(metrics: ServerMetrics, { counts }: AuditTrail): Disposable {
  const watched = new DisposableStack();
  watched.defer(metrics.auditLines.collect(() => {
    const { written, lost } = counts();
    return [{ labels: ["written"], value: written }, { labels: ["lost"], value: lost }];
  }));
  watched.defer(metrics.auditWaiting.collect(() => [{ labels: [], value: counts().waiting }]));
  return watched;
}

async function startRag(running: Running): Promise<RunningRagServer> {
  const { config, demo } = running;
  const { startRagServer } = await import("./rag/rag_server.ts");
  const resource = resourceOf(config, "rag_server");
  const identity = await openIdentity(running, config.server.auth, resource);
  const identityRefused = running.metrics.refusals.of("rag_server", "identity");
  const withConsole = running.recentCalls === undefined || config.http.enabled
    ? undefined
    : (await import("./server_console.ts")).ragConsole(running, identity);
  const server = await startRagServer({
    ...running,
    withConsole,
    version: running.serverInfo.version,
    ...(identity && {
      identity: {
        authentication: authenticationBy(identity, running, "rag_server"),
        oauth: identity.oauth === undefined || resource === undefined
          ? undefined
          : { ...identity.oauth.server, scopes: scopesOfServer.rag_server, resource },
        onEnded: identity.onEnded,
      },
    }),
    onIdentityRefused(reason, peer) {
      identityRefused.add();
      running.incidents.refused(peer, reason);
    },
  });
  running.onConfig(server.prepare);
  if (demo) {
    const { ragGreeting } = await import("../demo/demo_greeting.ts");
    const model = config.pipelines[0]?.embedding_llm.model ?? "";
    running.print(ragGreeting(server.url, model, { hasConsole: withConsole !== undefined }));
  }
  return server;
}

/** How the built-in authorization server is reached; undefined where there is none. */
function oauthOf(config: Config, rag: boolean): OauthOptions | undefined {
  const { http } = config;
  const issuer = http.enabled ? builtInIssuer(http.auth) : undefined;
  if (issuer === undefined) return undefined;
  const servers: readonly ServedBy[] = rag ? ["tool_server", "rag_server"] : ["tool_server"];
  return {
    issuer,
    toolNames: builtinTools.filter((name) => offers(config.builtins, "tools", name)),
    auth: http.auth,
    oauth: http.auth.oauth,
    resources: servers.flatMap((server) => {
      const address = resourceOf(config, server);
      return address === undefined ? [] : [{ address, server }];
    }),
    allowedOrigins: http.allowed_origins,
    hasConsole: hasConsole(config, false),
  };
}

/** How much the callers of both servers may use. What they used is kept in the state from the first limit on. */
async function openQuotas(
  config: Pick<Config, "limits" | "admission">,
  state: State,
  metrics: ServerMetrics,
  logger: Logger,
): Promise<Quotas & AsyncDisposable> {
  const counts = createUsageCounts(state.now);
  const quotas = createQuotas({
    rules: config.limits,
    waitBounds: waitBoundsOf(config),
    counts,
    now: state.now,
    onRefused: (limit) => metrics.quotaRefusals.of(limit).add(),
  });
  let isClosed = false;
  let exchange: Promise<UsageExchange> | undefined;

  async function keep(): Promise<void> {
    if (isClosed || exchange !== undefined) return;
    exchange = import("../state/usage_exchange.ts").then(({ exchangeUsage }) =>
      exchangeUsage({ state, counts, quotas, logger })
    );
    await exchange;
  }

  if (quotas.isOn) await keep();
  return {
    ...quotas,
    get isOn() {
      return quotas.isOn;
    },
    replace(rules) {
      quotas.replace(rules);
      if (quotas.isOn) void keep();
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await (await exchange)?.[Symbol.asyncDispose]();
      quotas[Symbol.dispose]();
    },
  };
}
