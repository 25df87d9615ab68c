import { type Context, Hono } from "hono";
import type { Logger } from "../core/logger.ts";
import type { Pipelines, Reachability, UsageCount } from "./pipelines.ts";
import type { SharedDeadline } from "../core/async/deadline.ts";
import { createCrossOrigin } from "../http/cross_origin.ts";
import { createHostCheck, type HostOptions } from "../http/host_and_origin.ts";
import { createQueryEndpoint } from "./query_endpoint.ts";
import { ragOpenApi } from "./rag_openapi.ts";
import { failureReply, hostFailure, internalFailure, jsonReply } from "./rag_reply.ts";
import type { HealthReply, LiveReply, PipelinesReply, StatsReply } from "./rag_reply_schemas.ts";
import type { RunningQueries } from "./running_queries.ts";
import type { RouteBindings } from "../http/listener.ts";

export interface RagRoutesOptions {
  /** The current ones; a reload swaps them, and a request keeps those that it began with. */
  readonly pipelines: () => Pipelines;
  readonly runningQueries: RunningQueries;
  /** How long a query may run, its stream included; 0 is for ever. */
  readonly requestTimeoutMs: number;
  /** How long a body may take to arrive. */
  readonly bodyTimeout: SharedDeadline;
  /** Where it listens, and under which other names it may be called. */
  readonly host: HostOptions;
  readonly cors: { readonly enabled: boolean; readonly allowedOrigins: readonly string[] };
  readonly version: string;
  readonly logger: Logger;
}

const livePath = "/v1/live";

/** The RAG server's routes. */
export function createRagRoutes(options: RagRoutesOptions): Hono<{ Bindings: RouteBindings }> {
  const { pipelines, cors, logger } = options;
  const app = new Hono<{ Bindings: RouteBindings }>();
  const live = JSON.stringify({ status: "ok" } satisfies LiveReply);
  const hostIsAllowed = createHostCheck(options.host);
  // before anything else: a page that a refused name led here may read nothing, not even whose origins are allowed
  app.use(async ({ req }, next) => {
    if (hostIsAllowed(req.raw)) return await next();
    // a probe knows no host name
    return req.method === "GET" && req.path === livePath ? jsonReply(live) : failureReply(hostFailure);
  });
  if (cors.enabled) allowOrigins(app, cors.allowedOrigins);

  const description = JSON.stringify(ragOpenApi(options.version));
  app.get("/v1/openapi.json", () => jsonReply(description));
  app.get(livePath, () => jsonReply(live));
  app.get("/v1/health", async () => jsonReply(JSON.stringify(await healthOf(pipelines()))));
  app.get("/v1/pipelines", () => jsonReply(JSON.stringify(listOf(pipelines()))));
  app.get("/v1/stats", () => jsonReply(JSON.stringify(statsOf(pipelines()))));

  const answer = createQueryEndpoint(options);
  app.post(
    "/v1/pipelines/:name",
    (context) => answer(context.req.raw, context.req.param("name"), context.env.peer),
  );

  for (const path of ["/v1/openapi.json", livePath, "/v1/health", "/v1/pipelines", "/v1/stats"]) {
    app.all(path, (context) => methodNotAllowed(context, "GET, HEAD"));
  }
  app.all("/v1/pipelines/:name", (context) => methodNotAllowed(context, "POST"));
  app.notFound(() => failureReply({ code: "NOT_FOUND", message: "there is nothing at this path" }));
  app.onError((error, { req }) => {
    logger.error("Request failed", { method: req.method, path: req.path, error, stack: error.stack });
    return failureReply(internalFailure);
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
  return failureReply({ code: "METHOD_NOT_ALLOWED", message }, { allow });
}

async function healthOf(pipelines: Pipelines): Promise<HealthReply> {
  const health = await pipelines.health();
  const isHealthy = health.every(({ embedding, completion }) => embedding.reachable && completion.reachable);
  return {
    status: isHealthy ? "healthy" : "degraded",
    pipelines: health.map(({ name, embedding, completion }) => ({
      name,
      embedding: wireReachability(embedding),
      completion: wireReachability(completion),
    })),
  };
}

function wireReachability(provider: Reachability) {
  return provider.reachable ? { reachable: true } : { reachable: false, error: provider.error };
}

function listOf(pipelines: Pipelines): PipelinesReply {
  return { pipelines: pipelines.list().map(({ name, description }) => ({ name, description })) };
}

function statsOf(pipelines: Pipelines): StatsReply {
  return {
    pipelines: pipelines.stats().map(({ name, description, embedding, completion, rerank }) => ({
      name,
      description,
      embedding: wireUsage(embedding),
      completion: wireUsage(completion),
      ...(rerank !== undefined && { rerank: wireUsage(rerank) }),
    })),
  };
}

function wireUsage(usage: UsageCount) {
  const { cacheCreationInputTokens: created, cacheReadInputTokens: read } = usage;
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    ...(created === 0 ? {} : { cache_creation_input_tokens: created }),
    ...(read === 0 ? {} : { cache_read_input_tokens: read }),
  };
}
