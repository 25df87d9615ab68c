import { offers } from "../../config/mod.ts";
import { refusal } from "../../console/console_replies.ts";
import { withConsole } from "../../console/console_routes.ts";
import { accessTo } from "../../identity/access_rules.ts";
import type { Served } from "../../identity/front.ts";
import type { LatePipelines } from "../rag/late_pipelines.ts";
import type { RunningRagServer } from "../rag/rag_server.ts";
import { logoutRecorder, resourceOf, type Running } from "../shared_parts.ts";
import { consoleFigures } from "../telemetry/console_figures.ts";
import type { ConsoleParts } from "./serve_tool_server.ts";
import type { ToolServer } from "./tool_server.ts";

type ToolPipelines = LatePipelines["pipelines"];

interface ToolConsoleOptions extends Running {
  readonly toolServer: ToolServer;
  /** Optional: none where the configuration has none. */
  readonly pipelines: ToolPipelines | undefined;
  /** Optional: none where the tool server stands alone. */
  readonly ragServer: Pick<RunningRagServer, "url"> | undefined;
  /** Those that calls need, by the tool: a question here needs what `ask_pipeline` does. */
  readonly scopes: Readonly<Record<string, readonly string[]>>;
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
          pipelines === undefined ? [] : healthOf(pipelines),
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
    (await import("../../rag_server/api/rag_routes.ts")).createRagRoutes({
      authentication,
      pipelines: await open(),
      calls: toolServer.calls,
      requestTimeoutMs: config.server.request_timeout,
      bodyTimeout,
      version: serverInfo.version,
      quotas,
      logger,
    });
  let routes: Promise<Served> | undefined;
  const forget = () => routes = undefined;
  return {
    async answer(request, bindings) {
      const name = "ask_pipeline";
      const tool = { kind: "tool", name, scopes: scopes[name] ?? [] } as const;
      const { principal } = bindings;
      if (principal === undefined) throw new Error("nobody was let in");
      const access = accessTo(principal, tool);
      if (access.kind === "insufficient_scope") return refusal(403, access.missing);
      if (routes === undefined) (routes = make()).catch(forget);
      return await (await routes).answer(request, bindings);
    },
  };
}

/** As `/v1/health` tells it. */
async function healthOf({ open }: ToolPipelines) {
  const { healthOf } = await import("../../rag_server/api/rag_routes.ts");
  return (await healthOf(await open())).pipelines ?? [];
}
