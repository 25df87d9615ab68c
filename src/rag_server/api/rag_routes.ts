import { type Context, Hono, type MiddlewareHandler } from "hono";
import type { Calls } from "../../calls/calls.ts";
import type { SharedDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { type Principal, serverItself } from "../../core/principal.ts";
import type { Quotas } from "../../core/quotas/quotas.ts";
import { pathOf } from "../../http/count_requests.ts";
import type { RouteBindings } from "../../http/listener.ts";
import {
  createReachability,
  databaseFreshMs,
  type Readiness,
  type ReadinessOfAll,
} from "../../http/reachability.ts";
import { isGranted, type ScopesByTool, toolOf, visibleTo } from "../../identity/access_rules.ts";
import { type Authentication, bearerChallenge, type LogoutReport } from "../../identity/authentication.ts";
import type { FrontRefusal, Served } from "../../identity/front.ts";
import { isMetadataPath, metadataRoute } from "../../identity/protected_resource.ts";
import type { Pipeline } from "../pipeline.ts";
import type { RunningPipelines } from "../running_pipelines.ts";
import type { ForwardedIdentity } from "./forwarded_identity.ts";
import { jsonReply } from "./json_reply.ts";
import { createLoginEndpoint, createLogoutEndpoint } from "./login_endpoint.ts";
import { chatErrorReply, chatFace, modelOf } from "./chat_face.ts";
import { createQueryEndpoint } from "./query_endpoint.ts";
import {
  errorReply,
  hostError,
  identityError,
  identityErrors,
  type IdentityRefusal,
  internalError,
  noPipeline,
  scopeError,
  unauthorizedError,
} from "./rag_errors.ts";
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
import type { UsageTotals } from "../../llm/usage.ts";

export interface RagRoutesOptions {
  /** Optional: none where everyone may ask. */
  readonly authentication?: Authentication | undefined;
  /** Who asks, by a proxy's headers. Optional: none where none says so. */
  readonly forwardedIdentity?: ForwardedIdentity | undefined;
  /** Whose access tokens let callers in. */
  readonly issuers?: Issuers;
  readonly pipelines: Pick<RunningPipelines, "list" | "find" | "health">;
  /** Optional: what tells settings and credential files from those of other servers, by what they are. */
  readonly generations?: () => Record<string, string> | undefined;
  /** Optional: whether the server still waits for what it shares with others. */
  readonly isWaiting?: () => boolean;
  /** Optional: none where the process serves alone. */
  readonly readinessOfAll?: ReadinessOfAll | undefined;
  readonly calls: Calls;
  /** How long a query may run, its stream included; 0 is for ever. */
  readonly requestTimeoutMs: number;
  /** How long a body may take to arrive. */
  readonly bodyTimeout: SharedDeadline;
  readonly version: string;
  /** Whether clients of OpenAI's API may ask too. */
  readonly hasChat?: boolean;
  /** Told of each request whose headers do not tell who asks; `peer` is the other end of the connection. */
  readonly onIdentityRefused?: ((reason: IdentityRefusal, peer: string) => void) | undefined;
  /** Optional: what callers may use, for `/v1/usage`. */
  readonly quotas?: Pick<Quotas, "usage" | "shared"> | undefined;
  /** Optional: no tool needs any. */
  readonly scopes?: ScopesByTool;
  readonly onLogout?: ((report: LogoutReport) => Promise<unknown>) | undefined;
  readonly logger: Logger;
}

const livePath = "/v1/live";
const readyPath = "/v1/ready";
const loginPath = "/v1/login";
const logoutPath = "/v1/logout";

const modelsPath = "/v1/models";
const chatPath = "/v1/chat/completions";

/** What a caller needs no token for; of the health, the status alone. */
const openPaths: ReadonlySet<string> = new Set(["/v1/openapi.json", livePath, readyPath, "/v1/health"]);
const otherPaths = new Set([loginPath, logoutPath, "/v1/pipelines", "/v1/stats", "/v1/usage"]);

function routeOf(path: string): string {
  if (openPaths.has(path) || otherPaths.has(path)) return path;
  if (isMetadataPath(path)) return metadataRoute;
  const [found, search = ""] = /^\/v1\/pipelines\/[^/]+(\/search)?$/.exec(path) ?? [];
  return found === undefined ? "other" : `/v1/pipelines/{name}${search}`;
}

/** The same of OpenAI's API. */
function chatRouteOf(path: string): string | undefined {
  if (path === modelsPath || path === chatPath) return path;
  return /^\/v1\/models\/[^/]+$/.test(path) ? "/v1/models/{id}" : undefined;
}

/** Whether a client of OpenAI's API may be asking: for what there is of it, or for what there is not. */
const isOfChat = (path: string) => /^\/v1\/(?!pipelines\/)/.test(path) && routeOf(path) === "other";

/** Stands for any caller whom a proxy names. Lists are the same for all of them. */
const anyForwarded: Principal = { kind: "issuer", issuer: "proxy", subject: "", groups: [] };

type RagContext = Context<{ Bindings: RouteBindings }>;

function principalOf({ env: { principal } }: RagContext): Principal {
  if (principal === undefined) throw new Error("nobody was let in");
  return principal;
}

/** The RAG server's routes. */
export function createRagRoutes(options: RagRoutesOptions): Served {
  const { authentication, forwardedIdentity, pipelines, quotas, hasChat = false, logger } = options;
  const errorAt = (path: string) => hasChat && isOfChat(path) ? chatErrorReply : errorReply;
  const login = authentication?.login;
  const endSession = login && authentication?.endSession;
  const app = new Hono<{ Bindings: RouteBindings }>();
  const live = JSON.stringify({ status: "ok" } satisfies LiveReply);
  const reachability = createReachability();
  const own = async (): Promise<Readiness> =>
    options.isWaiting?.()
      ? "unavailable"
      : readinessOf(await reachability.of(pipelines.list(), databaseFreshMs));
  const readiness = options.readinessOfAll?.(own) ?? own;
  const description = JSON.stringify(
    ragOpenApi(options.version, {
      asksWhoCalls: authentication !== undefined,
      takesClaims: forwardedIdentity !== undefined,
      hasLogin: login !== undefined,
      hasLogout: endSession !== undefined,
      issuers: options.issuers,
      hasChat,
    }),
  );
  const visible = (context: RagContext) =>
    visibleTo(forwardedIdentity === undefined ? principalOf(context) : anyForwarded, pipelines.list());
  const readings: Readonly<Record<string, (context: RagContext) => string | Promise<string>>> = {
    "/v1/openapi.json": () => description,
    [livePath]: () => live,
    "/v1/health": async (context) => {
      const { status, pipelines: all } = await healthOf(pipelines);
      if (context.env.principal === undefined) return JSON.stringify({ status } satisfies HealthReply);
      const names = new Set(visible(context).map(({ name }) => name));
      const shown = all?.filter(({ name }) => names.has(name));
      const generations = options.generations?.();
      return JSON.stringify({ status, pipelines: shown, generations } satisfies HealthReply);
    },
    "/v1/pipelines": (context) => {
      const list = visible(context).map(({ name, description, examples }) => ({
        name,
        description,
        examples,
      }));
      return JSON.stringify({ pipelines: list } satisfies PipelinesReply);
    },
    "/v1/stats": (context) => JSON.stringify(statsOf(visible(context))),
  };
  if (forwardedIdentity !== undefined) {
    const identify: MiddlewareHandler<{ Bindings: RouteBindings }> = async ({ req, env }, next) => {
      const read = forwardedIdentity(env.peer, req.raw.headers);
      if (read.kind === "refused") {
        options.onIdentityRefused?.(read.reason, env.peer);
        return errorAt(req.path)(identityErrors[read.reason]);
      }
      env.principal = read.principal;
      return await next();
    };
    app.get("/v1/usage", identify);
    app.post("/v1/pipelines/:name", identify);
    if (hasChat) app.post(chatPath, identify);
    app.post("/v1/pipelines/:name/search", identify);
  }
  type Answer = (context: RagContext) => Promise<Response> | Response;
  const onGet = (path: string, answer: Answer) =>
    app.get(path, answer).all((context) => methodNotAllowed(context, "GET, HEAD"));
  const onPost = (path: string, answer: Answer) =>
    app.post(path, answer).all((context) => methodNotAllowed(context, "POST"));
  for (const [path, read] of Object.entries(readings)) {
    onGet(path, async (context) => jsonReply(await read(context)));
  }
  /** Why a caller gets nothing by a route that gives what tools do; undefined for one who may call them. */
  function refusalOf(principal: Principal, tools: readonly string[]): Response | undefined {
    const lacking = tools.find((name) => !isGranted(principal, toolOf(name, options.scopes)));
    if (lacking === undefined) return undefined;
    return errorReply({ ...scopeError, message: `the token may not call ${lacking}` });
  }
  onGet("/v1/usage", (context) => {
    const principal = principalOf(context);
    const refused = refusalOf(principal, ["usage"]);
    if (refused) return refused;
    const limits = quotas?.usage(principal) ?? [];
    return jsonReply(JSON.stringify({ limits, shared: quotas?.shared() ?? [] } satisfies UsageReply));
  });
  onGet(readyPath, async () => {
    const status = await readiness();
    return jsonReply(JSON.stringify({ status } satisfies ReadyReply), status === "unavailable" ? 503 : 200);
  });
  /** A path that is there once there is an account. */
  const postOfAccounts = (path: string, answer: (context: RagContext) => Promise<Response>) =>
    app.all(path, async (context, next) => {
      if (!login?.hasAccounts) return await next();
      return context.req.method === "POST" ? await answer(context) : methodNotAllowed(context, "POST");
    });
  const from = ({ env }: RagContext) => ({ address: env.addressOf(), requestId: env.requestId });
  if (login !== undefined) {
    const logIn = createLoginEndpoint({ login, bodyTimeout: options.bodyTimeout });
    postOfAccounts(loginPath, (context) => logIn(context.req.raw, from(context)));
  }
  if (endSession !== undefined) {
    const logOut = createLogoutEndpoint({ endSession, onLogout: options.onLogout });
    postOfAccounts(logoutPath, (context) => logOut(principalOf(context), from(context)));
  }
  const callerOf = (c: RagContext) => ({ principal: principalOf(c), address: c.env.addressOf() });
  const answer = createQueryEndpoint(options);
  const passages = createQueryEndpoint(options, { wanted: "passages" });
  onPost("/v1/pipelines/:name", (c) => answer(c.req.raw, callerOf(c), c.env, c.req.param("name")));
  // of the tool server, which knows the tools' scopes: a search gives the passages whole
  const searching = options.scopes ? ["search", "fetch"] : [];
  onPost("/v1/pipelines/:name/search", (c) =>
    refusalOf(principalOf(c), searching) ??
      passages(c.req.raw, callerOf(c), c.env, c.req.param("name")));
  if (hasChat) {
    const models = (context: RagContext) => visible(context).map(modelOf);
    const chat = createQueryEndpoint(options, { face: chatFace });
    onPost(chatPath, (c) => chat(c.req.raw, callerOf(c), c.env));
    onGet(modelsPath, (c) => jsonReply(JSON.stringify({ object: "list", data: models(c) })));
    onGet(`${modelsPath}/:id`, (context) => {
      const name = context.req.param("id") ?? "";
      const model = models(context).find(({ id }) => id === name);
      return model ? jsonReply(JSON.stringify(model)) : chatErrorReply(noPipeline(name));
    });
  }
  const ofOpenai = hasChat ? `, and of OpenAI's API ${chatPath} and ${modelsPath}` : "";
  const message = `there is nothing at this path; pipelines are asked at /v1/pipelines/NAME${ofOpenai}`;
  app.notFound(({ req }) => errorAt(req.path)({ code: "NOT_FOUND", message }));
  app.onError((error, { req, env }) => {
    const { method, path } = req;
    logger.error("Request failed", { request: env.requestId, method, path, error, stack: error.stack });
    return errorAt(path)(internalError);
  });
  return {
    name: "rag_server",
    routeOf: (path) => (hasChat ? chatRouteOf(path) : undefined) ?? routeOf(path),
    isProbe: ({ url, method }) => method === "GET" && [livePath, readyPath].includes(pathOf(url)),
    callerOf({ url }) {
      const path = pathOf(url);
      const isOpen = openPaths.has(path) || (path === loginPath && login?.hasAccounts === true);
      return isOpen ? "optional" : "required";
    },
    refuse: (why, request) => refusalReply(why, errorAt(pathOf(request.url))),
    answer: app.fetch,
  };
}

function refusalReply(why: FrontRefusal, reply: typeof chatErrorReply): Response {
  switch (why.kind) {
    case "host":
    case "origin":
      return reply(hostError);
    case "unauthorized":
      return reply(unauthorizedError);
    case "unavailable": {
      const { message, retryAfterSeconds } = why;
      return reply({ ...identityError, message, retryAfterSeconds });
    }
    case "insufficient_scope": {
      const challenge = bearerChallenge(why.scopes);
      return reply({ ...scopeError, message: why.missing }, { "www-authenticate": challenge });
    }
  }
}

function methodNotAllowed({ req }: RagContext, allow: string): Response {
  const message = `${req.method} is not for this path: expected ${allow.replace(", ", " or ")}`;
  const reply = chatRouteOf(req.path) === undefined ? errorReply : chatErrorReply;
  return reply({ code: "METHOD_NOT_ALLOWED", message }, { allow });
}

/** What `/v1/health` tells of all pipelines. */
export async function healthOf(pipelines: Pick<RunningPipelines, "health">): Promise<HealthReply> {
  const health = await pipelines.health();
  const isHealthy = health.every(({ embedding, completion, database }) =>
    [embedding, completion, database].every(({ reachable, error }) => reachable && error === undefined)
  );
  return { status: isHealthy ? "healthy" : "degraded", pipelines: [...health] };
}

/** By whether the database of each pipeline can be reached. One that has not answered in time is as one that cannot be. */
export function readinessOf(reachable: readonly (boolean | undefined)[]): ReadyReply["status"] {
  if (reachable.every((isReachable) => isReachable)) return "ready";
  return reachable.some((isReachable) => isReachable) ? "degraded" : "unavailable";
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
