import { type Context, Hono, type MiddlewareHandler } from "hono";
import type { Calls } from "../../calls/calls.ts";
import type { SharedDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import type { Histogram } from "../../core/metrics/histogram.ts";
import { type Principal, serverItself } from "../../core/principal.ts";
import type { Quotas } from "../../core/quotas/quotas.ts";
import type { ClientAddress } from "../../http/client_address.ts";
import { createCrossOrigin } from "../../http/cross_origin.ts";
import { createHostCheck, type HostOptions } from "../../http/host_and_origin.ts";
import type { RouteBindings } from "../../http/listener.ts";
import { createReachability, databaseFreshMs } from "../../http/reachability.ts";
import { visibleTo } from "../../identity/access_rules.ts";
import { admit, type Authentication, bearerChallenge } from "../../identity/authentication.ts";
import { isMetadataPath, metadataRoute, type ProtectedResource } from "../../identity/protected_resource.ts";
import { addressGroup } from "../../identity/rate_limiter.ts";
import type { UsageTotals } from "../../llm/usage_ledger.ts";
import type { Pipeline } from "../pipeline.ts";
import type { RunningPipelines } from "../running_pipelines.ts";
import type { ForwardedIdentity } from "./forwarded_identity.ts";
import { jsonReply } from "./json_reply.ts";
import { createLoginEndpoint } from "./login_endpoint.ts";
import { createQueryEndpoint } from "./query_endpoint.ts";
import {
  errorReply,
  hostError,
  identityError,
  identityErrors,
  type IdentityRefusal,
  internalError,
  scopeError,
  unauthorizedError,
} from "./rag_errors.ts";
import { createLogoutEndpoint, type LogoutReport } from "./logout_endpoint.ts";
import { ragOpenApi } from "./rag_openapi.ts";
import type {
  HealthReply,
  LiveReply,
  PipelinesReply,
  ReadyReply,
  StatsReply,
  UsageReply,
} from "./rag_replies.ts";
import type { Issuers } from "./rag_security.ts";

export interface RagRoutesOptions {
  /** Absent where everyone may ask. */
  readonly authentication?: Authentication | undefined;
  /** Who asks, by a proxy's headers; absent where none says so. */
  readonly forwardedIdentity?: ForwardedIdentity | undefined;
  /** Absent where no issuer's tokens let callers in. */
  readonly protectedResource?: ProtectedResource | undefined;
  /** Whose access tokens let callers in. */
  readonly issuers?: Issuers;
  readonly clientAddress: ClientAddress;
  readonly pipelines: Pick<RunningPipelines, "list" | "find" | "health">;
  readonly calls: Calls;
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
  /** Told of each request whose headers do not tell who asks; `peer` is the other end of the connection. */
  readonly onIdentityRefused?: ((reason: IdentityRefusal, peer: string) => void) | undefined;
  /** Optional: what callers may use, for `/v1/usage`. */
  readonly quotas?: Pick<Quotas, "usage" | "shared"> | undefined;
  readonly onLogout?: ((report: LogoutReport) => Promise<unknown>) | undefined;
  /** How long it takes to tell who is calling. */
  readonly identityDuration?: Histogram;
  readonly logger: Logger;
}

const livePath = "/v1/live";
const readyPath = "/v1/ready";
const loginPath = "/v1/login";
const logoutPath = "/v1/logout";

const paths: ReadonlySet<string> = new Set([
  "/v1/openapi.json",
  livePath,
  readyPath,
  "/v1/health",
  loginPath,
  logoutPath,
  "/v1/pipelines",
  "/v1/stats",
  "/v1/usage",
]);

/** What a caller needs no token for; of the health, the status alone. */
const openPaths: ReadonlySet<string> = new Set([
  "/v1/openapi.json",
  livePath,
  readyPath,
  "/v1/health",
]);

/** The route of a path, for counting; `other` where there is none. */
export function ragServerRoute(path: string): string {
  if (paths.has(path)) return path;
  if (isMetadataPath(path)) return metadataRoute;
  return /^\/v1\/pipelines\/[^/]+$/.test(path) ? "/v1/pipelines/{name}" : "other";
}

/** Stands for any caller whom a proxy names. Lists are the same for all of them. */
const anyForwarded: Principal = { kind: "issuer", issuer: "proxy", subject: "", groups: [] };

type RagContext = Context<{ Bindings: RouteBindings }>;

/** The RAG server's routes. */
export function createRagRoutes(options: RagRoutesOptions): Hono<{ Bindings: RouteBindings }> {
  const { authentication, forwardedIdentity, pipelines, cors, quotas, logger } = options;
  const login = authentication?.login;
  const endSession = login && authentication?.endSession;
  const addressOf = ({ req, env }: RagContext) => options.clientAddress(env.peer, req.raw.headers);
  const principalOf = (context: RagContext): Principal =>
    context.env.principal ?? { kind: "local", address: addressGroup(addressOf(context)) };
  const isOpen = ({ req: { path } }: RagContext) =>
    openPaths.has(path) || (path === loginPath && login?.hasAccounts === true);
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
  if (options.protectedResource !== undefined) addResourceMetadata(app, options.protectedResource);
  if (authentication !== undefined) {
    app.use(async (context, next) => {
      const { req, env } = context;
      const startedAt = performance.now();
      const identity = env.span?.begin("identity");
      const admission = await admit(
        authentication,
        req.raw.headers.get("authorization"),
        () => addressOf(context),
      );
      identity?.end(admission.kind === "admitted" ? undefined : admission.kind);
      options.identityDuration?.observe(performance.now() - startedAt);
      if (admission.kind === "admitted") env.principal = admission.principal;
      else if (!isOpen(context)) {
        if (admission.kind === "insufficient_scope") {
          const challenge = bearerChallenge(admission.scopes);
          return errorReply({ ...scopeError, message: admission.missing }, { "www-authenticate": challenge });
        }
        if (admission.kind === "unavailable") {
          const { message, retryAfterSeconds } = admission;
          return errorReply({ ...identityError, message, retryAfterSeconds });
        }
        authentication.onRefusal?.(addressOf(context));
        return errorReply(unauthorizedError);
      }
      return await next();
    });
  }

  const description = JSON.stringify(
    ragOpenApi(options.version, {
      asksWhoCalls: authentication !== undefined,
      takesClaims: forwardedIdentity !== undefined,
      hasLogin: login !== undefined,
      hasLogout: endSession !== undefined,
      issuers: options.issuers,
    }),
  );
  const visible = (context: RagContext) =>
    visibleTo(forwardedIdentity === undefined ? principalOf(context) : anyForwarded, pipelines.list());
  const readings: Readonly<Record<string, (context: RagContext) => string | Promise<string>>> = {
    "/v1/openapi.json": () => description,
    [livePath]: () => live,
    "/v1/health": async (context) => {
      const mayKnow = authentication === undefined || context.env.principal !== undefined;
      const { status, pipelines: all } = await healthOf(pipelines);
      if (!mayKnow) return JSON.stringify({ status } satisfies HealthReply);
      const names = new Set(visible(context).map(({ name }) => name));
      const shown = all?.filter(({ name }) => names.has(name));
      return JSON.stringify({ status, pipelines: shown } satisfies HealthReply);
    },
    "/v1/pipelines": (context) => JSON.stringify(listOf(visible(context))),
    "/v1/stats": (context) => JSON.stringify(statsOf(visible(context))),
    "/v1/usage": (context) =>
      JSON.stringify(
        {
          limits: quotas?.usage(principalOf(context)) ?? [],
          shared: quotas?.shared() ?? [],
        } satisfies UsageReply,
      ),
  };
  if (forwardedIdentity !== undefined) {
    const identify: MiddlewareHandler<{ Bindings: RouteBindings }> = async ({ req, env }, next) => {
      const read = forwardedIdentity(env.peer, req.raw.headers);
      if (read.kind === "refused") {
        options.onIdentityRefused?.(read.reason, env.peer);
        return errorReply(identityErrors[read.reason]);
      }
      env.principal = read.principal;
      return await next();
    };
    app.get("/v1/usage", identify);
    app.post("/v1/pipelines/:name", identify);
  }
  for (const [path, read] of Object.entries(readings)) {
    app.get(path, async (context) => jsonReply(await read(context)));
    app.all(path, (context) => methodNotAllowed(context, "GET, HEAD"));
  }

  app.get(readyPath, answerReady);
  app.all(readyPath, (context) => methodNotAllowed(context, "GET, HEAD"));
  if (login !== undefined) {
    const logIn = createLoginEndpoint({ login, bodyTimeout: options.bodyTimeout });
    app.all(loginPath, async (context, next) => {
      if (!login.hasAccounts) return await next();
      if (context.req.method !== "POST") return methodNotAllowed(context, "POST");
      const { requestId } = context.env;
      return await logIn(context.req.raw, { address: addressOf(context), requestId });
    });
  }
  if (endSession !== undefined) {
    const logOut = createLogoutEndpoint({ endSession, onLogout: options.onLogout });
    app.all(logoutPath, async (context, next) => {
      if (!login?.hasAccounts) return await next();
      if (context.req.method !== "POST") return methodNotAllowed(context, "POST");
      const { requestId } = context.env;
      return logOut({ principal: principalOf(context), address: addressOf(context), requestId });
    });
  }

  const answer = createQueryEndpoint(options);
  app.post("/v1/pipelines/:name", (context) => {
    const caller = { principal: principalOf(context), address: addressOf(context) };
    return answer(context.req.raw, context.req.param("name"), caller, context.env);
  });
  app.all("/v1/pipelines/:name", (context) => methodNotAllowed(context, "POST"));
  app.notFound(() => errorReply({ code: "NOT_FOUND", message: "there is nothing at this path" }));
  app.onError((error, { req, env }) => {
    const { method, path } = req;
    logger.error("Request failed", { request: env.requestId, method, path, error, stack: error.stack });
    return errorReply(internalError);
  });
  return app;
}

/** Tells where clients log in (RFC 9728 section 3), and leads there who is refused. */
function addResourceMetadata(
  app: Hono<{ Bindings: RouteBindings }>,
  resource: ProtectedResource,
): void {
  app.use(async (context, next) => {
    await next();
    resource.mark(context.req.raw, context.res);
  });
  for (const path of resource.paths) {
    app.get(path, ({ req }) => jsonReply(resource.metadata(req.url)));
    app.all(path, (context) => methodNotAllowed(context, "GET, HEAD"));
  }
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

function methodNotAllowed({ req }: RagContext, allow: string): Response {
  const message = `${req.method} is not for this path: expected ${allow.replace(", ", " or ")}`;
  return errorReply({ code: "METHOD_NOT_ALLOWED", message }, { allow });
}

async function healthOf(pipelines: Pick<RunningPipelines, "health">): Promise<HealthReply> {
  const health = await pipelines.health();
  const isHealthy = health.every(({ embedding, completion, database }) =>
    [embedding, completion, database].every(({ reachable, error }) => reachable && error === undefined)
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

/** Without the pipelines that read as their callers: what one tenant uses is nothing that another should see. */
function statsOf(pipelines: readonly Pipeline[]): StatsReply {
  const shown = pipelines.filter(({ rightsKey }) => rightsKey(serverItself) === "");
  return {
    pipelines: shown.map(({ name, description, usage: { embedding, completion, rerank } }) => ({
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
