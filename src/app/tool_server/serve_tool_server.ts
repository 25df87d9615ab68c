import type { Running } from "../shared_parts.ts";
import { defined } from "../../core/defined.ts";
import type { Config } from "../../config/mod.ts";
import { isLoopback } from "../../core/address.ts";
import { createSharedDeadline, type SharedDeadline } from "../../core/async/deadline.ts";
import { createClientAddress } from "../../http/client_address.ts";
import { pathOf } from "../../http/count_requests.ts";
import { createCrossOrigin } from "../../http/cross_origin.ts";
import { createHostAndOriginCheck } from "../../http/host_and_origin.ts";
import { bodyTimeoutMs } from "../../http/request_body.ts";
import type { Authentication } from "../../identity/authentication.ts";
import type { AuthorizationServer } from "../../identity/authorization_server/authorization_server.ts";
import type { FrontChecks, Served } from "../../identity/front.ts";
import { createProtectedResource } from "../../identity/protected_resource.ts";
import { createEndpoint } from "../../tool_server/endpoint.ts";
import { createStreamableHttp } from "../../tool_server/mcp/streamable_http.ts";
import { createReadiness, type ReadinessOptions } from "../../tool_server/readiness.ts";
import { type HttpServer, serveHttp } from "../serve_http.ts";
import type { ToolServer } from "./tool_server.ts";

interface ServeToolServerOptions
  extends Pick<Running, "child" | "state" | "files" | "metrics" | "access" | "tracer" | "logger"> {
  readonly http: Config["http"];
  readonly toolServer: ToolServer;
  readonly authentication: Authentication | undefined;
  /** Answers the paths of the built-in authorization server. */
  readonly authorizationServer?: AuthorizationServer | undefined;
  /** Whose access tokens let callers in too. */
  readonly identityProvider?: ReadinessOptions["identityProvider"];
  /** Optional: what its tokens for this server are for. */
  readonly resource?: string | undefined;
  /** Optional: adds the console; none where it is off. */
  readonly withConsole?: ((served: Served, parts: ConsoleParts) => Served) | undefined;
}

/** What the console has of the server that it is a part of. */
export interface ConsoleParts extends Pick<ServeToolServerOptions, "authentication" | "authorizationServer"> {
  readonly readiness: ReturnType<typeof createReadiness>;
  readonly bodyTimeout: SharedDeadline;
}

/**
 * Serves the tool server over HTTP. Disposing of it closes event streams, and lets requests under way finish for 10 s.
 * @throws {AppError} `invalid` for TLS files that do not fit, `unavailable` where the address is taken
 */
export async function serveToolServer(
  options: ServeToolServerOptions,
): Promise<HttpServer & { reload(http: Config["http"]): void }> {
  const { http, toolServer, authentication, authorizationServer, child, state, metrics, logger } = options;
  const streamableHttp = createStreamableHttp({ ...toolServer, logger });
  const bodyTimeout = createSharedDeadline(bodyTimeoutMs);
  const readiness = createReadiness({
    databases: () => toolServer.entries,
    providers: toolServer.providers,
    scopesByTool: toolServer.scopesByTool,
    identityProvider: options.identityProvider,
    state: state.isShared ? { ping: state.catchUp, hasAnswered: state.hasAnswered } : undefined,
    readinessOfAll: child?.readinessOfAll("tool_server"),
  });
  const endpoint = createEndpoint({
    serverInfo: toolServer.serverInfo,
    calls: toolServer.calls,
    authentication,
    streamableHttp,
    bodyTimeout,
    readiness,
    replyDuration: metrics.stage("tool_server", "reply"),
    logger,
  });
  const own = authorizationServer === undefined ? endpoint : withLogins(endpoint, authorizationServer);
  const parts = { authentication, authorizationServer, readiness, bodyTimeout };
  const identityProvider = authentication && http.auth.identity_provider;
  const server = await serveHttp({
    ...options,
    settings: http,
    section: "http",
    sharesPort: child !== undefined,
    served: options.withConsole?.(own, parts) ?? own,
    checksOf: (settings) => checksOf(settings, { authentication, authorizationServer }),
    protectedResource: authorizationServer === undefined && identityProvider === undefined
      ? undefined
      : createProtectedResource({
        resourceUrl: options.resource ?? http.resource_url,
        path: "/mcp/v1",
        authorizationServer,
        identityProvider,
      }),
    endCalls: toolServer.calls.underWay.endAll,
  });
  return {
    url: server.url,
    reload: server.reload,
    async [Symbol.asyncDispose]() {
      logger.info("stopping");
      await Promise.all([server[Symbol.asyncDispose](), streamableHttp.close()]);
      bodyTimeout.close();
    },
  };
}

function checksOf(
  { address, allowed_hosts, allowed_origins, client_ip }: Config["http"],
  { authentication, authorizationServer }: Pick<
    ServeToolServerOptions,
    "authentication" | "authorizationServer"
  >,
): FrontChecks {
  const issuer = authorizationServer && new URL(authorizationServer.issuer);
  return {
    checkHostAndOrigin: createHostAndOriginCheck({
      address,
      authenticated: authentication !== undefined,
      // an empty list means that others are not checked either
      allowedHosts: issuer !== undefined && (allowed_hosts.length > 0 || isLoopback(address.host))
        ? [...allowed_hosts, issuer.host]
        : allowed_hosts,
      allowedOrigins: issuer === undefined ? allowed_origins : [...allowed_origins, issuer.origin],
    }),
    crossOrigin: createCrossOrigin("tool_server", allowed_origins),
    clientAddress: createClientAddress({
      ...defined({ header: client_ip.header }),
      trustedProxies: client_ip.trusted_proxies,
    }),
  };
}

/** The endpoint with the paths of the built-in authorization server, which tells its callers apart itself. */
function withLogins(endpoint: Served, authorizationServer: AuthorizationServer): Served {
  const isLogin = (path: string) => authorizationServer.routeOf(path) !== undefined;
  return {
    ...endpoint,
    routeOf: (path) => authorizationServer.routeOf(path) ?? endpoint.routeOf(path),
    callerOf: (request) => isLogin(pathOf(request.url)) ? "none" : endpoint.callerOf(request),
    async answer(request, bindings) {
      if (!request.url.includes("/oauth")) return await endpoint.answer(request, bindings);
      const { addressOf, requestId } = bindings;
      return await authorizationServer.handle({ request, address: addressOf(), requestId }) ??
        await endpoint.answer(request, bindings);
    },
  };
}
