import { isLoopback } from "../core/address.ts";
import type { AuthorizationServer } from "../identity/authorization_server/authorization_server.ts";
import { createClientAddress } from "../http/client_address.ts";
import type { Config } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import type { ServerMetrics } from "../core/metrics/server_metrics.ts";
import type { Tracer } from "../core/tracing.ts";
import { createSharedDeadline } from "../core/async/deadline.ts";
import type { FileWatch } from "../core/files/watch_files.ts";
import type { AccessLog } from "../http/access_log.ts";
import { countRequests } from "../http/count_requests.ts";
import { createCrossOrigin } from "../http/cross_origin.ts";
import { createHostAndOriginCheck } from "../http/host_and_origin.ts";
import { type RouteBindings, startListener, stopGraceMs } from "../http/listener.ts";
import { bodyTimeoutMs } from "../http/request_body.ts";
import { traceRequests } from "../http/trace_requests.ts";
import type { Authentication } from "../identity/authentication.ts";
import { createProtectedResource, issuersInOrder } from "../identity/protected_resource.ts";
import { createEndpoint, toolServerRoute } from "../tool_server/endpoint.ts";
import { createStreamableHttp } from "../tool_server/mcp/streamable_http.ts";
import { createReadiness, type ReadinessOptions } from "../tool_server/readiness.ts";
import { readTls, watchTls } from "./tls_files.ts";
import type { ToolServer } from "./tool_server/tool_server.ts";

/** Disposing of it closes event streams, and lets requests under way finish for 10 s. */
export interface HttpServer extends AsyncDisposable {
  readonly url: string;
}

/** A server that takes in settings while it runs: those of `src/config/reloaded_settings.ts`. */
interface ReloadingHttpServer extends HttpServer {
  reload(http: Config["http"]): void;
}

/**
 * Serves a tool server over HTTP or HTTPS. Without authentication everyone who reaches the listener is let in.
 * @throws {AppError} `invalid` for TLS files that do not fit, `unavailable` where the address is taken
 */
export async function serveHttp(options: {
  http: Config["http"];
  toolServer: ToolServer;
  authentication: Authentication | undefined;
  /** Answers the paths of the built-in authorization server. */
  authorizationServer?: AuthorizationServer | undefined;
  /** Whose access tokens let callers in too. */
  identityProvider?: ReadinessOptions["identityProvider"];
  /** What its tokens for this server are for; absent where there is none. */
  resource?: string | undefined;
  files: FileWatch;
  metrics: ServerMetrics;
  /** Told of each request; absent where nobody wants to know. */
  access: AccessLog | undefined;
  /** Absent where nothing is traced. */
  tracer: Tracer | undefined;
  logger: Logger;
}): Promise<ReloadingHttpServer> {
  const { http, toolServer, authentication, authorizationServer, files, metrics, access, tracer, logger } =
    options;
  const streamableHttp = createStreamableHttp({ ...toolServer, tracer, logger });
  const issuer = authorizationServer && new URL(authorizationServer.issuer);
  const routeOf = (path: string) => authorizationServer?.routeOf(path) ?? toolServerRoute(path);
  const checksOf = ({ allowed_hosts, allowed_origins, client_ip }: Config["http"]) => ({
    checkHostAndOrigin: createHostAndOriginCheck({
      address: http.address,
      authenticated: authentication !== undefined,
      // an empty list means that others are not checked either
      allowedHosts: issuer !== undefined && (allowed_hosts.length > 0 || isLoopback(http.address.host))
        ? [...allowed_hosts, issuer.host]
        : allowed_hosts,
      allowedOrigins: issuer === undefined ? allowed_origins : [...allowed_origins, issuer.origin],
    }),
    crossOrigin: createCrossOrigin("toolServer", allowed_origins),
    clientAddress: createClientAddress({
      ...(client_ip.header === undefined ? {} : { header: client_ip.header }),
      trustedProxies: client_ip.trusted_proxies,
    }),
  });
  let checks = checksOf(http);
  const bodyTimeout = createSharedDeadline(bodyTimeoutMs);
  const provider = authentication && http.auth.identity_provider;
  const issuers = issuersInOrder(authorizationServer, provider);
  const protectedResource = issuers && createProtectedResource({
    resourceUrl: options.resource ?? http.resource_url,
    path: "/mcp/v1",
    issuers,
    requiredScopes: provider === undefined
      ? authorizationServer?.scopes ?? []
      : provider.required_scopes ?? [],
  });
  const endpoint = createEndpoint({
    ...toolServer,
    ...(authentication === undefined ? {} : { authentication }),
    protectedResource,
    clientAddress: (peer, headers) => checks.clientAddress(peer, headers),
    streamableHttp,
    tracer,
    bodyTimeout,
    readiness: createReadiness({
      databases: () => toolServer.entries,
      providers: toolServer.providers,
      identityProvider: options.identityProvider,
    }),
    durations: {
      identity: metrics.stage("tool_server", "identity"),
      reply: metrics.stage("tool_server", "reply"),
    },
    logger,
  });
  const tls = http.tls.enabled ? await readTls(http.tls, "http.tls") : undefined;
  async function handle(request: Request, bindings: RouteBindings): Promise<Response> {
    const { checkHostAndOrigin, crossOrigin } = checks;
    const refusedFor = checkHostAndOrigin(request);
    if (refusedFor !== undefined) {
      metrics.refusals.of("tool_server", refusedFor).add();
      return await endpoint.refuse(request, bindings, refusedFor);
    }
    const preflight = crossOrigin.preflight(request);
    if (preflight !== undefined) return preflight;
    const response = await answer(request, bindings);
    return crossOrigin.mark(request, protectedResource?.mark(request, response) ?? response);
  }
  async function answer(request: Request, bindings: RouteBindings): Promise<Response> {
    if (authorizationServer === undefined || !request.url.includes("/oauth")) {
      return await endpoint.fetch(request, bindings);
    }
    const { peer, requestId } = bindings;
    const address = checks.clientAddress(peer, request.headers);
    return await authorizationServer.handle({ request, address, requestId }) ??
      await endpoint.fetch(request, bindings);
  }
  const listener = startListener({
    address: http.address,
    ...(tls === undefined ? {} : { tls }),
    handle: countRequests(
      traceRequests(handle, routeOf, tracer),
      routeOf,
      metrics.ofRequests("tool_server"),
      access,
    ),
    logger,
  });
  const certificate = tls && await watchTls({
    tls: http.tls,
    section: "http.tls",
    current: tls,
    replace: listener.replaceCertificate,
    files,
    onReload: (result) => metrics.reloads.of("certificate", result).add(),
    logger,
  });
  return {
    url: listener.url,
    reload: (next) => checks = checksOf(next),
    async [Symbol.asyncDispose]() {
      logger.info("stopping");
      void certificate?.end();
      await Promise.all([
        listener.stop(stopGraceMs, toolServer.calls.underWay.endAll),
        streamableHttp.close(),
      ]);
      bodyTimeout.close();
    },
  };
}
