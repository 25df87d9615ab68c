import { Hono } from "hono";
import type { SharedDeadline } from "../core/async/deadline.ts";
import type { Logger } from "../core/logger.ts";
import { createHistogram, type Histogram } from "../core/metrics/histogram.ts";
import type { Principal } from "../core/principal.ts";
import type { Span } from "../core/tracing.ts";
import type { ClientAddress } from "../http/client_address.ts";
import type { RouteBindings } from "../http/listener.ts";
import { findExcess, readBody } from "../http/request_body.ts";
import { admit, type Authentication } from "../identity/authentication.ts";
import { addressGroup } from "../identity/rate_limiter.ts";
import { isMetadataPath, metadataRoute, type ProtectedResource } from "../identity/protected_resource.ts";
import {
  answerReply,
  identityUnavailable,
  insufficientScope,
  jsonRpcReply,
  refusal,
  unauthorized,
} from "./http_replies.ts";
import { answerLogin } from "./login_call.ts";
import { createJsonRpc, errorReply, isCancellation, parseError } from "./mcp/json_rpc.ts";
import type { McpOptions } from "./mcp/methods.ts";
import { wantsStreamableHttp } from "./mcp/protocol_version.ts";
import type { StreamableHttp } from "./mcp/streamable_http.ts";
import type { ReadyReply } from "./readiness.ts";
import type { CallContext } from "./call_context.ts";

interface EndpointOptions extends McpOptions {
  /** Absent where authentication is off: then every caller is the local principal. */
  readonly authentication?: Authentication;
  /** Absent where no issuer's tokens let callers in. */
  readonly protectedResource?: ProtectedResource | undefined;
  readonly clientAddress: ClientAddress;
  readonly streamableHttp: StreamableHttp;
  /** How long a body may take to arrive. */
  readonly bodyTimeout: SharedDeadline;
  /** How long it takes to tell who is calling, and to write a reply. */
  readonly durations?: { readonly identity: Histogram; readonly reply: Histogram };
  /** What `/ready` answers; names only to a principal who may know them. */
  readonly readiness: (principal: Principal | undefined) => Promise<ReadyReply>;
  readonly logger: Logger;
}

const routes: ReadonlySet<string> = new Set(["/mcp/v1", "/health", "/ready"]);

/** The route of a path, for counting; `other` where there is none. */
export function toolServerRoute(path: string): string {
  if (isMetadataPath(path)) return metadataRoute;
  return routes.has(path) ? path : "other";
}

/** The tool server's routes: MCP at `/mcp/v1`, and the probes `/health` and `/ready`. */
export function createEndpoint(options: EndpointOptions) {
  const answerMcp = createMcpAnswer(options);
  const app = new Hono<{ Bindings: RouteBindings }>();
  app.all("/mcp/v1", (context) => answerMcp(context.req.raw, context.env));
  addProbes(app, options, async ({ headers }, { peer }) => {
    if (options.authentication === undefined) return { kind: "local" };
    const addressOf = () => options.clientAddress(peer, headers);
    const admission = await admit(options.authentication, headers.get("authorization"), addressOf);
    return admission.kind === "admitted" ? admission.principal : undefined;
  });
  addResourceMetadata(app, options.protectedResource);
  app.notFound((context) => context.json({ error: "Not Found" }, 404));

  const otherHosts = new Hono<{ Bindings: RouteBindings }>();
  // a web page that came by a foreign name is nobody, also where authentication is off
  addProbes(otherHosts, options, () => Promise.resolve(undefined));
  otherHosts.notFound((context) => context.json({ error: refusals.host }, 403));

  return {
    fetch: (request: Request, bindings: RouteBindings) => app.fetch(request, bindings),
    /**
     * Answers a request whose Host or Origin is not allowed. Probes are served whatever their Host: they know no host name,
     * and are told no names.
     */
    refuse: (request: Request, bindings: RouteBindings, refusedFor: "host" | "origin") =>
      refusedFor === "host"
        ? otherHosts.fetch(request, bindings)
        : Response.json({ error: refusals.origin }, { status: 403 }),
  };
}

const refusals = {
  host:
    "Forbidden: the Host header names a host that this server does not serve; behind a proxy that passes Host " +
    "on, list the proxy's host name in http.allowed_hosts",
  origin: "Forbidden: the Origin header names a web page that may not call this server; list its origin in " +
    "http.allowed_origins",
} as const;

/** Tells where clients log in (RFC 9728 section 3). */
function addResourceMetadata(
  app: Hono<{ Bindings: RouteBindings }>,
  resource: ProtectedResource | undefined,
): void {
  for (const path of resource?.paths ?? []) {
    app.get(
      path,
      ({ req }) =>
        new Response(resource?.metadata(req.url), { headers: { "content-type": "application/json" } }),
    );
    app.all(path, (context) => context.json({ error: "Method Not Allowed" }, 405, { allow: "GET, HEAD" }));
  }
}

function addProbes(
  app: Hono<{ Bindings: RouteBindings }>,
  { serverInfo: { name, version }, readiness, logger }: EndpointOptions,
  principalOf: (request: Request, bindings: RouteBindings) => Promise<Principal | undefined>,
): void {
  app.get("/health", (context) => context.json({ status: "ok", server: name, version }));
  app.get("/ready", async (context) => {
    const reply = await readiness(await principalOf(context.req.raw, context.env));
    return context.json(reply, reply.status === "unavailable" ? 503 : 200);
  });
  app.on(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"], ["/health", "/ready"], (context) => {
    return context.json({ error: "Method Not Allowed" }, 405, { allow: "GET, HEAD" });
  });
  app.onError((error, context) => {
    const { method, path } = context.req;
    logger.error("Request failed", { request: context.env.requestId, method, path, error });
    return context.json({ error: "Internal Server Error" }, 500);
  });
}

const maxBytes = 4 * 1024 * 1024;
// who has not shown a token yet sends a login and nothing longer
const maxLoginBytes = 64 * 1024;
const maxBatchRequests = 50;
/** UTF-16 units of the JSON. A statement of the longest may take a second to check, and so five of them. */
const maxBatchCharacters = 500_000;

/** `POST /mcp/v1`: bare JSON-RPC and MCP's Streamable HTTP on one path. Notes who was let in. */
function createMcpAnswer(
  options: EndpointOptions,
): (request: Request, bindings: RouteBindings) => Promise<Response> {
  const { authentication, clientAddress, streamableHttp, calls, bodyTimeout } = options;
  const { durations = { identity: createHistogram(), reply: createHistogram() } } = options;
  const jsonRpc = createJsonRpc(options);

  async function logInOr(
    refuse: (address: string) => Response,
    request: Request,
    address: string,
    requestId: string,
  ): Promise<Response> {
    if (authentication?.login !== undefined && isJson(request)) {
      const body = await readBody(request, { maxBytes: maxLoginBytes, timeout: bodyTimeout });
      const message = body.kind === "text" ? parseMessage(body.text) : undefined;
      const answer = message?.kind === "json"
        ? await answerLogin(message.value, authentication.login, () => address, request, requestId)
        : undefined;
      if (answer !== undefined) return answer;
    }
    return refuse(address);
  }
  function refuseToken(address: string): Response {
    authentication?.onRefusal?.(address);
    return unauthorized();
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

  return async (request, bindings) => {
    const { peer, requestId, span } = bindings;
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    const addressOf = () => clientAddress(peer, request.headers);
    const calledAt = performance.now();
    const identity = span?.begin("identity");
    const admission = authentication === undefined
      ? { kind: "admitted" as const, principal: new LocalCaller(addressOf) }
      : await admit(authentication, request.headers.get("authorization"), addressOf);
    identity?.end(admission.kind === "admitted" ? undefined : admission.kind);
    durations.identity.observe(performance.now() - calledAt);
    if (admission.kind === "unauthorized") {
      return await logInOr(refuseToken, request, addressOf(), requestId);
    }
    if (admission.kind === "unavailable") {
      const refuse = () => identityUnavailable(admission);
      return await logInOr(refuse, request, addressOf(), requestId);
    }
    if (admission.kind === "insufficient_scope") return insufficientScope(admission);
    const { principal } = admission;
    bindings.principal = principal;
    if (!isJson(request)) return refusal(415, "Content-Type must be application/json");
    const body = await readBody(request, { maxBytes, timeout: bodyTimeout });
    if (body.kind === "too_large") return refusal(413, "the body is larger than 4 MiB");
    if (body.kind === "broken") return refusal(408, "the body did not arrive completely");
    if (body.kind === "not_utf8") return jsonRpcReply(400, errorReply(null, parseError));
    const message = parseMessage(body.text);
    if (message.kind === "fault") return jsonRpcReply(400, errorReply(null, message.error));
    const batchFault = findBatchFault(message.value, body.text.length);
    if (batchFault !== undefined) return refusal(400, batchFault);
    const loggedIn = authentication?.login &&
      answerLogin(message.value, authentication.login, addressOf, request, requestId);
    if (loggedIn !== undefined) return await loggedIn;

    if (isCancellation(message.value)) {
      // answered here for both kinds of client: a server object of the SDK lives for one request and knows no other
      calls.underWay.cancel(principal, message.value.params?.requestId);
      return new Response(null, { status: 202 });
    }
    const logger = options.logger.with({ request: requestId, ...(span && { trace_id: span.traceId }) });
    const caller = new HttpCall(principal, requestId, logger, span, request, addressOf);
    if (wantsStreamableHttp(request.headers)) {
      return await streamableHttp.serve(request, message.value, caller, admittedLater(request, addressOf));
    }
    const reply = await jsonRpc.answer(message.value, caller);
    if (reply === undefined) return new Response(null, { status: 202 });
    const answeredAt = performance.now();
    const replying = span?.begin("reply");
    const response = answerReply(reply);
    replying?.end();
    durations.reply.observe(performance.now() - answeredAt);
    return response;
  };
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
  ) {}
  get address(): string {
    return this.addressOf();
  }
  get signal(): AbortSignal {
    return this.request.signal;
  }
}

/** A caller without a token. A class for the same reason. */
class LocalCaller {
  readonly kind = "local";
  constructor(private readonly addressOf: () => string) {}
  get address(): string {
    return addressGroup(this.addressOf());
  }
}

function isJson({ headers }: Request): boolean {
  return headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() === "application/json";
}

type Message =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "fault"; readonly error: typeof parseError };

function parseMessage(text: string): Message {
  const excess = findExcess(text);
  if (excess !== undefined) {
    const message = `Parse error: the body is too complex: ${excess}`;
    return { kind: "fault", error: { ...parseError, message } };
  }
  try {
    return { kind: "json", value: JSON.parse(text) };
  } catch {
    return { kind: "fault", error: parseError };
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
