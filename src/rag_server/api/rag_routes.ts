import { type Context, Hono } from "hono";
import type { SharedDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { createCrossOrigin } from "../../http/cross_origin.ts";
import { createHostCheck, type HostOptions } from "../../http/host_and_origin.ts";
import type { RouteBindings } from "../../http/listener.ts";
import { createReachability, databaseFreshMs } from "../../http/reachability.ts";
import type { UsageTotals } from "../../llm/usage_ledger.ts";
import type { Pipeline } from "../pipeline.ts";
import type { RunningPipelines } from "../running_pipelines.ts";
import { jsonReply } from "./json_reply.ts";
import { createQueryEndpoint, type QueryEndpointOptions } from "./query_endpoint.ts";
import { errorReply, hostError, internalError } from "./rag_errors.ts";
import {
  type HealthReply,
  type LiveReply,
  type PipelinesReply,
  ragOpenApi,
  type ReadyReply,
  type StatsReply,
} from "./rag_openapi.ts";
import type { RunningQueries } from "./running_queries.ts";

export interface RagRoutesOptions {
  readonly pipelines: Pick<RunningPipelines, "list" | "find" | "health">;
  readonly runningQueries: RunningQueries;
  /** How long a query may run, its stream included; 0 is for ever. */
  readonly requestTimeoutMs: number;
  /** How long a body may take to arrive. */
  readonly bodyTimeout: SharedDeadline;
  /** Where it listens, and under which other names it may be called. */
  readonly host: HostOptions;
  readonly cors: { readonly enabled: boolean; readonly allowedOrigins: readonly string[] };
  readonly version: string;
  /** Told of each request that is refused for its Host. */
  readonly onHostRefused?: () => void;
  readonly onQueryEnded?: QueryEndpointOptions["onQueryEnded"];
  readonly logger: Logger;
}

const livePath = "/v1/live";
const readyPath = "/v1/ready";

const paths: ReadonlySet<string> = new Set([
  "/v1/openapi.json",
  livePath,
  readyPath,
  "/v1/health",
  "/v1/pipelines",
  "/v1/stats",
]);

/** The route of a path, for counting; `other` where there is none. */
export function ragServerRoute(path: string): string {
  if (paths.has(path)) return path;
  return /^\/v1\/pipelines\/[^/]+$/.test(path) ? "/v1/pipelines/{name}" : "other";
}

/** The RAG server's routes. */
export function createRagRoutes(options: RagRoutesOptions): Hono<{ Bindings: RouteBindings }> {
  const { pipelines, cors, logger } = options;
  const app = new Hono<{ Bindings: RouteBindings }>();
  const live = JSON.stringify({ status: "ok" } satisfies LiveReply);
  const reachability = createReachability();
  async function answerReady(): Promise<Response> {
    const status = readinessOf(await reachability.of(pipelines.list(), databaseFreshMs));
    return jsonReply(JSON.stringify({ status } satisfies ReadyReply), status === "unavailable" ? 503 : 200);
  }
  const hostIsAllowed = createHostCheck(options.host);
  // first of all: a page that came by a refused name may read nothing, not even which origins are allowed
  app.use(async ({ req }, next) => {
    if (hostIsAllowed(req.raw)) return await next();
    // a probe knows no host name
    if (req.method === "GET" && req.path === livePath) return jsonReply(live);
    if (req.method === "GET" && req.path === readyPath) return await answerReady();
    options.onHostRefused?.();
    return errorReply(hostError);
  });
  if (cors.enabled) allowOrigins(app, cors.allowedOrigins);

  const description = JSON.stringify(ragOpenApi(options.version));
  const readings: Readonly<Record<string, () => string | Promise<string>>> = {
    "/v1/openapi.json": () => description,
    [livePath]: () => live,
    "/v1/health": async () => JSON.stringify(await healthOf(pipelines)),
    "/v1/pipelines": () => JSON.stringify(listOf(pipelines.list())),
    "/v1/stats": () => JSON.stringify(statsOf(pipelines.list())),
  };
  for (const [path, read] of Object.entries(readings)) {
    app.get(path, async () => jsonReply(await read()));
    app.all(path, (context) => methodNotAllowed(context, "GET, HEAD"));
  }

  app.get(readyPath, answerReady);
  app.all(readyPath, (context) => methodNotAllowed(context, "GET, HEAD"));

  const answer = createQueryEndpoint(options);
  app.post(
    "/v1/pipelines/:name",
    (context) => answer(context.req.raw, context.req.param("name"), context.env),
  );
  app.all("/v1/pipelines/:name", (context) => methodNotAllowed(context, "POST"));
  app.notFound(() => errorReply({ code: "NOT_FOUND", message: "there is nothing at this path" }));
  app.onError((error, { req, env }) => {
    const { method, path } = req;
    logger.error("Request failed", { request: env.requestId, method, path, error, stack: error.stack });
    return errorReply(internalError);
  });
  return app;
}

function allowOrigins(app: Hono<{ Bindings: RouteBindings }>, allowedOrigins: readonly string[]): void {
  const crossOrigin = createCrossOrigin("ragServer", allowedOrigins);
  app.use(async (context, next) => {
    const answer = crossOrigin.preflight(context.req.raw);
    if (answer !== undefined) return answer;
    await next();
    return crossOrigin.mark(context.req.raw, context.res);
  });
}

function methodNotAllowed({ req }: Context, allow: string): Response {
  const message = `${req.method} is not for this path: expected ${allow.replace(", ", " or ")}`;
  return errorReply({ code: "METHOD_NOT_ALLOWED", message }, { allow });
}

async function healthOf(pipelines: Pick<RunningPipelines, "health">): Promise<HealthReply> {
  const health = await pipelines.health();
  const isHealthy = health.every(({ embedding, completion, database }) =>
    embedding.reachable && completion.reachable && database.reachable
  );
  return { status: isHealthy ? "healthy" : "degraded", pipelines: [...health] };
}

/** By whether the database of each pipeline can be reached. One that has not answered in time is as one that cannot be. */
function readinessOf(reachable: readonly (boolean | undefined)[]): ReadyReply["status"] {
  if (reachable.every((isReachable) => isReachable)) return "ready";
  return reachable.some((isReachable) => isReachable) ? "degraded" : "unavailable";
}

function listOf(pipelines: readonly Pipeline[]): PipelinesReply {
  return { pipelines: pipelines.map(({ name, description }) => ({ name, description })) };
}

function statsOf(pipelines: readonly Pipeline[]): StatsReply {
  return {
    pipelines: pipelines.map(({ name, description, usage: { embedding, completion, rerank } }) => ({
      name,
      description,
      embedding: wireUsage(embedding.read()),
      completion: wireUsage(completion.read()),
      ...(rerank !== undefined && { rerank: wireUsage(rerank.read()) }),
    })),
  };
}

function wireUsage(usage: UsageTotals) {
  const { cacheCreationInputTokens: created, cacheReadInputTokens: read } = usage;
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    ...(created !== 0 && { cache_creation_input_tokens: created }),
    ...(read !== 0 && { cache_read_input_tokens: read }),
  };
}
