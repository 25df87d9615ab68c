import { latestOf, type RecentCall } from "../calls/recent_calls.ts";
import { merged, type Sample } from "../core/metrics/metric_family.ts";
import { authenticationBy, logoutRecorder, resourceOf, type Running } from "./shared_parts.ts";
import { withConsole } from "../console/console_routes.ts";
import type { Served } from "../identity/front.ts";
import type { Identity } from "./open_identity.ts";
import type { RagConsoleParts, RunningRagServer } from "./rag/rag_server.ts";
import { offers } from "../config/mod.ts";
import { refusal } from "../console/console_replies.ts";
import { accessTo, type ScopesByTool, toolOf } from "../identity/access_rules.ts";
import type { LatePipelines } from "./rag/late_pipelines.ts";
import type { ConsoleParts } from "./tool_server/serve_tool_server.ts";
import type { ToolServer } from "./tool_server/tool_server.ts";

type Samples = readonly Sample[];

/** What the console shows of all processes of this server together. */
function consoleFigures(
  { child, metrics, recentCalls }: Pick<Running, "child" | "metrics" | "recentCalls">,
) {
  const families = [
    metrics.connections.family,
    metrics.waiting.family,
    metrics.providerCalls.family,
    metrics.providerTokens.family,
  ];
  const readOwn = () => families.map((family) => family.read() as Samples);
  const ownCalls = (asked: { readonly key?: string | undefined }) => recentCalls?.latest(asked.key) ?? [];
  const askCalls = child?.amongOthers("recent calls", ownCalls);
  const askFigures = child?.amongOthers("figures", readOwn);

  return {
    /** The latest first. @param key of the caller whose calls are wanted; undefined: of all */
    async recentCalls(key?: string): Promise<readonly RecentCall[]> {
      const others = await askCalls?.({ key }) ?? [];
      return latestOf([...ownCalls({ key }), ...others.flatMap((calls) => calls ?? [])]);
    },
    async figures() {
      const others = await askFigures?.() ?? [];
      const all = [readOwn(), ...others.flatMap((readings) => readings ? [readings] : [])];
      const [connections = [], waiting = [], calls = [], tokens = []] = families.map((_, at) =>
        merged(all.flatMap((readings) => readings[at] ?? []), (one, other) => one + other)
      );
      return {
        pools: poolsOf(connections, waiting),
        providers: providersOf(calls, tokens),
        processes: 1 + others.length,
      };
    },
  };
}

/** The connections of each server to each database, by their state. */
function poolsOf(connections: Samples, waiting: Samples) {
  return waiting.map(({ labels: [server = "", database = ""], value }) => {
    const own = connections.filter(({ labels }) => labels[0] === server && labels[1] === database);
    const byState = Object.fromEntries(own.map(({ labels, value }) => [labels[2], value]));
    return { database, ...byState, waiting: value };
  });
}

/** What providers were asked since the server started. The pipeline is empty for requests in words. */
function providersOf(calls: Samples, tokens: Samples) {
  const byProvider = Map.groupBy([...calls, ...tokens], ({ labels }) => JSON.stringify(labels.slice(0, 3)));
  return [...byProvider].map(([key, samples]) => {
    const [, pipeline, provider] = JSON.parse(key);
    /** Of tokens there is a kind and no end. */
    const sum = (isMeant: (kind: string, end: string) => boolean) =>
      samples.filter(({ labels: [, , , kind = "", end = ""] }) => isMeant(kind, end))
        .reduce((total, { value }) => total + value, 0);
    return {
      pipeline,
      provider,
      calls: sum((_, end) => end !== ""),
      errors: sum((_, end) => !["", "ok", "cancelled"].includes(end)),
      // those of cached parts are among the prompts'
      tokens: sum((kind) => kind === "prompt" || kind === "completion"),
    };
  });
}

/** Adds the console to the routes of a RAG server that stands alone. */
export function ragConsole(running: Running, identity: Identity | undefined) {
  const { config, demo, audit, serverInfo } = running;
  const { auth } = config.server;
  const { recentCalls, figures } = consoleFigures(running);
  return (served: Served, { pipelines, forwardedIdentity, bodyTimeout }: RagConsoleParts): Served =>
    withConsole(served, {
      serverInfo,
      authentication: identity && authenticationBy(identity, running, "rag_server"),
      takesTokens: auth.methods.api_tokens || auth.identity_provider !== undefined,
      callerOf: forwardedIdentity && ((request, { peer }) => {
        const read = forwardedIdentity(peer, request.headers);
        return read.kind === "caller" ? read.principal : undefined;
      }),
      quotas: running.quotas,
      administrators: config.console.administrators,
      admitsAll: demo,
      hasTools: false,
      documents: served,
      addresses: { rag: config.server.resource_url },
      recentCalls,
      async status() {
        const { healthOf, readinessOf } = await import("../rag_server/api/rag_routes.ts");
        const [{ pipelines: health = [] }, all] = await Promise.all([healthOf(pipelines), figures()]);
        const ready = readinessOf(health.map(({ database }) => database.reachable));
        return { ready, databases: [], pipelines: health, ...all };
      },
      bodyTimeout,
      onLogout: logoutRecorder(audit),
    });
}

type ToolPipelines = LatePipelines["pipelines"];

interface ToolConsoleOptions extends Running {
  readonly toolServer: ToolServer;
  /** Optional: none where the configuration has none. */
  readonly pipelines: ToolPipelines | undefined;
  /** Optional: none where the tool server stands alone. */
  readonly ragServer: Pick<RunningRagServer, "url"> | undefined;
  /** Those that calls need, by the tool: a question here needs what `ask_pipeline` does. */
  readonly scopes: ScopesByTool;
}

/** Adds the console to the tool server's routes. */
export function toolConsole(options: ToolConsoleOptions) {
  const { config, demo, audit, toolServer, pipelines, ragServer } = options;
  const { auth } = config.http;
  const { recentCalls, figures } = consoleFigures(options);
  const asks = ragServer !== undefined || offers(config.builtins, "tools", "ask_pipeline");
  return (served: Served, { readiness, ...parts }: ConsoleParts): Served =>
    withConsole(served, {
      ...parts,
      serverInfo: toolServer.serverInfo,
      takesTokens: demo || auth.methods.api_tokens || auth.identity_provider !== undefined,
      quotas: options.quotas,
      scopes: options.scopes,
      administrators: config.console.administrators,
      admitsAll: demo,
      hasTools: true,
      hasModel: toolServer.providers.length > 0,
      documents: pipelines && asks ? documentsOf(options, pipelines, parts) : undefined,
      addresses: {
        mcp: resourceOf(config, "tool_server") ?? config.http.resource_url,
        rag: ragServer &&
          (config.server.resource_url ?? resourceOf(config, "rag_server") ?? `${ragServer.url}/v1`),
      },
      recentCalls,
      async status() {
        const [{ status: ready, databases }, health, all] = await Promise.all([
          // the names of all databases
          readiness({ kind: "local" }),
          pipelines === undefined ? [] : healthOfAll(pipelines),
          figures(),
        ]);
        return { ready, databases, pipelines: health, ...all };
      },
      onLogout: logoutRecorder(audit),
    });
}

/** The RAG server's routes, made when they are first asked. Callers are the tool server's, and so are their calls. */
function documentsOf(
  { config, quotas, serverInfo, toolServer, scopes, logger }: ToolConsoleOptions,
  { open }: ToolPipelines,
  { authentication, bodyTimeout }: Pick<ConsoleParts, "authentication" | "bodyTimeout">,
): Pick<Served, "answer"> {
  const make = async () =>
    (await import("../rag_server/api/rag_routes.ts")).createRagRoutes({
      authentication,
      pipelines: await open(),
      calls: toolServer.calls,
      requestTimeoutMs: config.server.request_timeout,
      bodyTimeout,
      version: serverInfo.version,
      quotas,
      scopes,
      logger,
    });
  let routes: Promise<Served> | undefined;
  const forget = () => routes = undefined;
  return {
    async answer(request, bindings) {
      const { principal } = bindings;
      if (principal === undefined) throw new Error("nobody was let in");
      const access = accessTo(principal, toolOf("ask_pipeline", scopes));
      if (access.kind === "insufficient_scope") return refusal(403, access.missing);
      if (access.kind === "hidden") return refusal(403, "The token may not call ask_pipeline.");
      if (routes === undefined) (routes = make()).catch(forget);
      return await (await routes).answer(request, bindings);
    },
  };
}

/** As `/v1/health` tells it. */
async function healthOfAll({ open }: ToolPipelines) {
  const { healthOf } = await import("../rag_server/api/rag_routes.ts");
  return (await healthOf(await open())).pipelines ?? [];
}
