import { type Config, offers, writtenSetting } from "../../config/mod.ts";
import type { Authenticator } from "../../identity/authenticator.ts";
import type { Database } from "../../postgres/database.ts";
import type { ApplyConfig } from "../config_reload.ts";
import { changedDatabases, type OpenDatabase } from "../open_databases.ts";
import type { Identity } from "../open_identity.ts";
import { onHangUp, untilStopped } from "../processes/process_signals.ts";
import type { LatePipelines } from "../rag/late_pipelines.ts";
import type { RunningRagServer } from "../rag/rag_server.ts";
import { createHistory } from "../../tool_server/questions/history.ts";
import { connectionTools } from "../../tool_server/builtin_kinds.ts";
import { createToolServer, type ToolServer } from "./tool_server.ts";
import type { toolConsole } from "../server_console.ts";
import type { SettingPath } from "../../core/yaml/value_tree.ts";
import { logStartupWarnings, logUnmatchedColumns, type WarnedDatabase } from "../checks/startup_warnings.ts";
import {
  authenticationBy,
  openIdentity,
  refusalCounter,
  resourceOf,
  type Running,
  waitBoundsOf,
} from "../shared_parts.ts";

/** Runs the tool server, over HTTP where that is enabled and over stdio otherwise. */
export async function runToolServer(
  running: Running,
  ragServer: RunningRagServer | undefined,
): Promise<void> {
  const { config, demo, databases, quotas, logger } = running;
  const identity = config.http.enabled
    ? await openIdentity(running, config.http.auth, resourceOf(config, "tool_server"))
    : undefined;
  await using completion = demo || !config.llm.enabled
    ? undefined
    : await (await import("../providers/open_providers.ts")).openCompletion(running);
  const history = createHistory(running.state, logger);
  await using late = ragServer === undefined ? await openLatePipelines(running) : undefined;
  const pipelines = ragServer === undefined ? late?.pipelines : servedBy(ragServer);
  const scopes = scopesByTool(config.http.auth);
  await using embedding = config.embedding === undefined
    ? undefined
    : (await import("../providers/open_providers.ts")).openEmbedding(running);
  await using toolServer = await createToolServer({
    ...running,
    databases: databases.list,
    maxConnections: config.max_connections,
    waitBounds: waitBoundsOf(config),
    words: completion && { llm: config.llm, history, ...completion },
    documents: pipelines === undefined && embedding === undefined ? undefined : {
      pipelines: pipelines && { ...pipelines, timeoutMs: config.server.request_timeout },
      knowledgebase: config.knowledgebase?.enabled === false ? undefined : config.knowledgebase?.pipeline,
      embedding,
    },
    offers: (part, name) => offers(config.builtins, part, name),
    hasDefinitions: demo || config.custom_definitions_path !== undefined,
    listsDefined: config.builtins.list === "all",
    scopesByTool: scopes,
    endSession: async (id) => await identity?.endSession(id),
    onIncident: running.incidents.called,
  });
  // where the state does not answer yet, they come when it does
  await running.state.catchUp().catch(() => {});
  identity?.onEnded(toolServer.endPrincipal);
  if (databases.list.length === 0) {
    logger.warn(
      "The configuration has no databases: tools have nothing to read; -init asks for one, -demo brings one",
    );
  }
  await using definitions = await openDefinitions(running, toolServer);
  const warned = Promise.all([
    logStartupWarnings(warnedDatabases(config, databases.list, toolServer.databases), logger),
    logUnmatchedColumns(config.llm.excluded_columns, toolServer.databases, logger),
  ]);
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
  const withConsole = running.recentCalls &&
    (await import("../server_console.ts")).toolConsole({
      ...running,
      toolServer,
      pipelines,
      ragServer,
      scopes,
    });
  const serving = { ...running, toolServer, identity, withConsole };
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
  const { config, logger } = running;
  if (config.pipelines.length === 0) {
    running.onConfig(({ pipelines }) => {
      if (pipelines.length > 0) logger.warn("Restart the server to offer tools for the first pipelines");
      return Promise.resolve(undefined);
    });
    return undefined;
  }
  const { createLatePipelines } = await import("../rag/late_pipelines.ts");
  return createLatePipelines(running);
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

/** Offers what the configuration's definitions file defines, or the demo's; undefined where there is neither. */
async function openDefinitions({ config, demo, files, logger }: Running, toolServer: ToolServer) {
  const { custom_definitions_path: path } = config;
  if (path === undefined && !demo) return undefined;
  const { offerDemoDefinitions, watchDefinitions } = await import("./definitions_file.ts");
  if (path === undefined) {
    await offerDemoDefinitions(toolServer.guard, toolServer.offerDefinitions, logger);
    return undefined;
  }
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
  const { required_scopes: always = [], scopes_by_tool: given = {} } = provider ?? {};
  // by its other name a tool needs them too
  const aliases = Object.entries(connectionTools).map(([alias, tool]) => [alias, given[tool] ?? []]);
  const more: typeof given = { ...Object.fromEntries(aliases), ...given };
  return Object.fromEntries(
    Object.entries(more).map(([tool, scopes]) => [tool, [...new Set([...always, ...scopes])]]),
  );
}

interface Serving extends Running {
  readonly toolServer: ToolServer;
  readonly identity: Identity | undefined;
  readonly withConsole: ReturnType<typeof toolConsole> | undefined;
}

async function runHttp(serving: Serving): Promise<void> {
  const { config: { http }, identity, child } = serving;
  const { serveToolServer } = await import("./serve_tool_server.ts");
  // before it listens: without a listener, a signal that comes right then ends the process at once
  const stopped = untilStopped(child?.stopped);
  await using server = await serveToolServer({
    ...serving,
    http,
    authorizationServer: identity?.oauth?.server,
    identityProvider: identity?.issuer,
    resource: resourceOf(serving.config, "tool_server"),
    authentication: identity && authenticationBy(identity, serving, "tool_server"),
  });
  serving.onConfig((next) => Promise.resolve(() => server.reload(next.http)));
  // the RAG server answers before this one is started
  serving.onServing();
  await stopped;
}

async function runDemo(serving: Serving): Promise<void> {
  const { config, print } = serving;
  const { address, auth } = config.http;
  const { serveToolServer } = await import("./serve_tool_server.ts");
  const { demoGreeting } = await import("../../demo/demo_greeting.ts");
  const { token, authenticator } = await authenticatorOfOneToken();
  const stopped = untilStopped();
  await using server = await serveToolServer({
    ...serving,
    // for one person at one machine, and offered to others only where an address says so
    http: { ...config.http, address: { ...address, host: address.host || "127.0.0.1" } },
    authentication: auth.enabled
      ? { authenticator, onRefusal: refusalCounter(serving, "tool_server") }
      : undefined,
  });
  const hasConsole = serving.withConsole !== undefined;
  print(demoGreeting({ url: server.url, hasConsole, ...(auth.enabled ? { token } : {}) }));
  serving.onServing();
  await stopped;
}

/** Lets in one new token, which is in no file. */
async function authenticatorOfOneToken(): Promise<{ token: string; authenticator: Authenticator }> {
  const { createAuthenticator } = await import("../../identity/authenticator.ts");
  const { createTokenIndex } = await import("../../identity/tokens/token_directory.ts");
  const { createToken } = await import("../../identity/tokens/token_file.ts");
  const { token, record } = createToken({ id: "demo", expiry: "never", now: Date.now() });
  return { token, authenticator: createAuthenticator({ tokens: createTokenIndex([record]), now: Date.now }) };
}

async function runStdio({ toolServer, logger }: Serving): Promise<void> {
  const { serveStdio } = await import("../../tool_server/mcp/stdio.ts");
  const stdio = serveStdio({ ...toolServer, logger });
  const hungUp = Promise.withResolvers<void>();
  // nobody is left where the terminal is gone
  using _hangUp = onHangUp(hungUp.resolve);
  try {
    await untilStopped(Promise.race([stdio.closed, hungUp.promise]));
  } finally {
    await stdio.close();
  }
}
