import { Hono } from "hono";
import type { SharedDeadline } from "../core/async/deadline.ts";
import type { Logger } from "../core/logger.ts";
import { createHistogram, type Histogram } from "../core/metrics/metric_family.ts";
import type { Principal } from "../core/principal.ts";
import type { Span } from "../core/tracing.ts";
import { pathOf } from "../http/count_requests.ts";
import type { RouteBindings } from "../http/listener.ts";
import { findExcess, readBody } from "../http/request_body.ts";
import { admit, type Authentication } from "../identity/authentication.ts";
import type { FrontRefusal, Served } from "../identity/front.ts";
import { isMetadataPath, metadataRoute } from "../identity/protected_resource.ts";
import {
  answerReply,
  identityUnavailable,
  insufficientScope,
  jsonRpcReply,
  refusal,
  unauthorized,
} from "./http_replies.ts";
import { isCancellation } from "./mcp/json_rpc.ts";
import { errorNumbers, errorReply, parseError } from "./mcp/json_rpc_error.ts";
import type { McpOptions } from "./mcp/methods.ts";
import type { StreamableHttp } from "./mcp/streamable_http.ts";
import type { ReadyReply } from "./readiness.ts";
import type { CallClient, CallContext } from "./call_context.ts";
import { z } from "zod";
import type { RequestId } from "../calls/calls_under_way.ts";
import { valueAt } from "../core/yaml/value_tree.ts";
import { formatTimestamp } from "../identity/credentials/timestamp.ts";
import type { Login } from "../identity/login.ts";

interface EndpointOptions extends Pick<McpOptions, "serverInfo" | "calls"> {
  /** Optional; without it every caller is the local principal. */
  readonly authentication?: Authentication | undefined;
  readonly streamableHttp: StreamableHttp;
  /** How long a body may take to arrive. */
  readonly bodyTimeout: SharedDeadline;
  /** Optional: how long it takes to write a reply. */
  readonly replyDuration?: Histogram;
  /** What `/ready` answers; names only to a principal who may know them. */
  readonly readiness: (principal: Principal | undefined) => Promise<ReadyReply>;
  readonly logger: Logger;
}

const probes: ReadonlySet<string> = new Set(["/health", "/ready"]);

/** The tool server's routes: MCP at `/mcp/v1`, and the probes `/health` and `/ready`. */
export function createEndpoint(options: EndpointOptions): Served {
  const { serverInfo: { name, version }, readiness, logger } = options;
  const mcp = createMcpAnswer(options);
  const app = new Hono<{ Bindings: RouteBindings }>();
  app.all("/mcp/v1", (context) => mcp.answer(context.req.raw, context.env));
  app.get("/health", (context) => context.json({ status: "ok", server: name, version }));
  app.get("/ready", async (context) => {
    const reply = await readiness(context.env.principal);
    return context.json(reply, reply.status === "unavailable" ? 503 : 200);
  });
  app.on(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"], [...probes], (context) => {
    return context.json({ error: "Method Not Allowed" }, 405, { allow: "GET, HEAD" });
  });
  app.notFound((context) => context.json({ error: "Not Found" }, 404));
  app.onError((error, context) => {
    const { method, path } = context.req;
    logger.error("Request failed", { request: context.env.requestId, method, path, error });
    return context.json({ error: "Internal Server Error" }, 500);
  });
  return {
    name: "tool_server",
    routeOf(path) {
      if (isMetadataPath(path)) return metadataRoute;
      return path === "/mcp/v1" || probes.has(path) ? path : "other";
    },
    isProbe: ({ url }) => probes.has(pathOf(url)),
    callerOf({ url, method }) {
      const path = pathOf(url);
      if (path === "/mcp/v1" && method === "POST") return "required";
      return path === "/ready" ? "optional" : "none";
    },
    refuse: mcp.refuse,
    answer: app.fetch,
  };
}

const refusals = {
  host:
    "Forbidden: the Host header names a host that this server does not serve; behind a proxy that passes Host " +
    "on, list the proxy's host name in http.allowed_hosts",
  origin: "Forbidden: the Origin header names a web page that may not call this server; list its origin in " +
    "http.allowed_origins",
} as const;

const maxBytes = 4 * 1024 * 1024;
// who has not shown a token yet sends a login and nothing longer
const maxLoginBytes = 64 * 1024;
const maxBatchRequests = 50;
/** UTF-16 units of the JSON. A statement of the longest may take a second to check, and so five of them. */
const maxBatchCharacters = 500_000;

/** `POST /mcp/v1`: bare JSON-RPC and MCP's Streamable HTTP on one path. */
function createMcpAnswer(options: EndpointOptions) {
  const { authentication, streamableHttp, calls, bodyTimeout } = options;
  const { replyDuration = createHistogram() } = options;

  /** Who cannot be let in may log in; what else they send is refused. */
  async function logInOr(
    refuse: () => Response,
    request: Request,
    { addressOf, requestId }: RouteBindings,
  ): Promise<Response> {
    if (authentication?.login !== undefined && isJson(request)) {
      const body = await readBody(request, { maxBytes: maxLoginBytes, timeout: bodyTimeout });
      const message = body.kind === "text" ? parseMessage(body.text).value : undefined;
      const answer = await answerLogin(message, authentication.login, addressOf, request, requestId);
      if (answer !== undefined) return answer;
    }
    return refuse();
  }

  async function refuse(why: FrontRefusal, request: Request, bindings: RouteBindings): Promise<Response> {
    switch (why.kind) {
      case "unauthorized":
        return await logInOr(unauthorized, request, bindings);
      case "unavailable":
        return await logInOr(() => identityUnavailable(why), request, bindings);
      case "insufficient_scope":
        return insufficientScope(why);
      case "host":
      case "origin":
        return Response.json({ error: refusals[why.kind] }, { status: 403 });
    }
  }

  /** Whether the caller of a request would still be let in, for as long as the reply to it goes on. */
  function admittedLater({ headers }: Request, addressOf: () => string): () => Promise<boolean> {
    // a request whose reply has begun may not be read any more
    const authorization = headers.get("authorization");
    const address = addressOf();
    return async () => {
      if (authentication === undefined) return true;
      const { kind } = await admit(authentication, authorization, () => address);
      // that an issuer does not answer ends nothing
      return kind === "admitted" || kind === "unavailable";
    };
  }

  async function answer(request: Request, bindings: RouteBindings): Promise<Response> {
    const { principal, addressOf, requestId, span } = bindings;
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    if (principal === undefined) throw new Error("nobody was let in");
    if (!isJson(request)) return refusal(415, "Content-Type must be application/json");
    const body = await readBody(request, { maxBytes, timeout: bodyTimeout });
    if (body.kind === "too_large") return refusal(413, "the body is larger than 4 MiB");
    if (body.kind === "broken") return refusal(408, "the body did not arrive completely");
    if (body.kind === "not_utf8") return jsonRpcReply(400, errorReply(null, parseError));
    const { value: message, error } = parseMessage(body.text);
    if (error !== undefined) return jsonRpcReply(400, errorReply(null, error));
    const batchFault = findBatchFault(message, body.text.length);
    if (batchFault !== undefined) return refusal(400, batchFault);
    const loggedIn = authentication?.login &&
      answerLogin(message, authentication.login, addressOf, request, requestId);
    if (loggedIn !== undefined) return await loggedIn;

    if (isCancellation(message)) {
      // before its revision is looked at: it is the same in all of them
      calls.underWay.cancel(principal, message.params?.requestId);
      return new Response(null, { status: 202 });
    }
    const logger = options.logger.with({ request: requestId, ...(span && { trace_id: span.traceId }) });
    return await streamableHttp.serve({
      request,
      message,
      callFor: (client) => new HttpCall(principal, requestId, logger, span, request, addressOf, client),
      isStillAdmitted: admittedLater(request, addressOf),
      reply(reply, revision) {
        const answeredAt = performance.now();
        const replying = span?.begin("reply");
        const response = answerReply(reply, revision);
        replying?.end();
        replyDuration.observe(performance.now() - answeredAt);
        return response;
      },
    });
  }

  return { answer, refuse };
}

/**
 * A call over HTTP. Its address and its signal cost more than some answers, and most requests need neither. A class, since
 * the engine makes a hidden class for each literal with getters, and keeps it, with all that it leads to, for long.
 */
class HttpCall implements CallContext {
  constructor(
    readonly principal: Principal,
    readonly requestId: string,
    readonly logger: Logger,
    readonly span: Span | undefined,
    private readonly request: Request,
    private readonly addressOf: () => string,
    readonly client: CallClient | undefined,
  ) {}
  get address(): string {
    return this.addressOf();
  }
  get signal(): AbortSignal {
    return this.request.signal;
  }
}

function isJson({ headers }: Request): boolean {
  return headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() === "application/json";
}

function parseMessage(text: string): { readonly value?: unknown; readonly error?: typeof parseError } {
  const excess = findExcess(text);
  if (excess !== undefined) {
    return { error: { ...parseError, message: `Parse error: the body is too complex: ${excess}` } };
  }
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { error: parseError };
  }
}

/** Why a batch is not answered; undefined for one that is, and for what is no batch. */
function findBatchFault(message: unknown, characters: number): string | undefined {
  if (!Array.isArray(message)) return undefined;
  if (message.length === 0 || message.length > maxBatchRequests) {
    return `a batch holds 1 to ${maxBatchRequests} requests`;
  }
  return characters > maxBatchCharacters
    ? `a batch has at most ${maxBatchCharacters} characters; send its requests one by one`
    : undefined;
}

/**
 * `tools/call` of `authenticate_user`: the one request that needs no token. It is answered before the tools, which know
 * neither HTTP statuses nor client addresses.
 */
const loginCall = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number(), z.null()]),
  method: z.literal("tools/call"),
  params: z.object({ name: z.literal("authenticate_user"), arguments: z.unknown() }),
});
const credentials = z.strictObject({ username: z.string(), password: z.string() });
/** A fault may name keys of the client's own. */
const maxFaultsLength = 500;

/**
 * Logs in whoever a message of that kind asks for; undefined for any other message.
 * @throws the signal's reason where the client leaves while its login waits
 */
function answerLogin(
  message: unknown,
  login: Login,
  addressOf: () => string,
  request: Request,
  requestId: string,
): Promise<Response> | undefined {
  // almost no message is one, and checking a schema costs more than answering some of them
  const isNamed = valueAt(message, ["params", "name"]) === "authenticate_user";
  const call = isNamed ? loginCall.safeParse(message).data : undefined;
  return call && logIn(call, login, { address: addressOf(), signal: request.signal, requestId });
}

async function logIn(
  call: z.output<typeof loginCall>,
  login: Login,
  caller: { readonly address: string; readonly signal: AbortSignal; readonly requestId: string },
): Promise<Response> {
  const { id } = call;
  const { data, error } = credentials.safeParse(call.params.arguments);
  if (error !== undefined) {
    const faults = error.issues.map((issue) => `${issue.path.join(".") || "arguments"}: ${issue.message}`)
      .join("; ").slice(0, maxFaultsLength);
    return jsonRpcReply(
      200,
      errorReply(id, { code: errorNumbers.invalid, message: `Cannot log in: ${faults}` }),
    );
  }
  return loginReply(id, await login.authenticate({ ...data, ...caller }));
}

function loginReply(id: RequestId, result: Awaited<ReturnType<Login["authenticate"]>>): Response {
  switch (result.kind) {
    case "success": {
      const text = JSON.stringify({
        success: true,
        session_token: result.sessionToken,
        expires_at: formatTimestamp(result.expiresAt),
        message: "Authentication successful",
      });
      return jsonRpcReply(200, { jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
    }
    case "failed": {
      const error = { code: errorNumbers.unauthorized, message: "Authentication failed" };
      return jsonRpcReply(200, errorReply(id, error));
    }
    default: {
      const [status, code, message] = laterReplies[result.kind];
      const error = { code: errorNumbers[code], message: `${message}; try again later` };
      return jsonRpcReply(status, errorReply(id, error), { "retry-after": String(result.retryAfterSeconds) });
    }
  }
}

const laterReplies = {
  rate_limited: [429, "rate_limited", "Too many failed logins"],
  busy: [503, "overloaded", "Too many logins are waiting"],
  unavailable: [503, "overloaded", "Nobody can log in at the moment"],
} as const;
