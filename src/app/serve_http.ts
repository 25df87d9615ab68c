import { createClientAddress } from "../auth/client_address.ts";
import type { Config } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import { createCoarseTimeout } from "../http/coarse_timeout.ts";
import { createCrossOrigin } from "../http/cross_origin.ts";
import { createHostAndOriginCheck } from "../http/host_and_origin.ts";
import { startListener } from "../http/listener.ts";
import { type Authentication, createMcpEndpoint } from "../http/mcp_endpoint.ts";
import { createToolServerRoutes } from "../http/tool_server_routes.ts";
import { createJsonRpc } from "../mcp/json_rpc.ts";
import { createStreamableHttp } from "../mcp/streamable_http.ts";
import { createReadiness } from "./readiness.ts";
import { readTls } from "./tls_files.ts";
import type { ToolServer } from "./tool_server.ts";

/** Disposing of it closes event streams, and lets requests under way finish for 10 s. */
export interface HttpServer extends AsyncDisposable {
  readonly url: string;
}

const graceMs = 10_000;
const bodyTimeoutMs = 30_000;

/**
 * Serves a tool server over HTTP or HTTPS. Without authentication everyone who reaches the listener is let in.
 * @throws {AppError} `invalid` for TLS files that do not fit, `unavailable` where the address is taken
 */
export async function serveHttp(options: {
  http: Config["http"];
  toolServer: ToolServer;
  authentication?: Authentication;
  logger: Logger;
}): Promise<HttpServer> {
  const { http, toolServer, authentication, logger } = options;
  const { inFlight, registry, serverInfo } = toolServer;
  const streamableHttp = createStreamableHttp({ registry, inFlight, serverInfo, logger });
  const readiness = createReadiness({ databases: toolServer.databases });
  const checkHostAndOrigin = createHostAndOriginCheck({
    address: http.address,
    authenticated: authentication !== undefined,
    allowedHosts: http.allowed_hosts,
    allowedOrigins: http.allowed_origins,
  });
  const crossOrigin = createCrossOrigin(http.allowed_origins);
  const bodyTimeout = createCoarseTimeout({ timeoutMs: bodyTimeoutMs });
  const routes = createToolServerRoutes({
    mcp: createMcpEndpoint({
      ...(authentication === undefined ? {} : { authentication }),
      clientAddress: createClientAddress({
        ...(http.client_ip.header === undefined ? {} : { header: http.client_ip.header }),
        trustedProxies: http.client_ip.trusted_proxies,
      }),
      jsonRpc: createJsonRpc({ registry, inFlight, serverInfo }),
      streamableHttp,
      inFlight,
      bodyTimeout,
      logger,
    }),
    unreachableDatabases: () => readiness.unreachable(),
    server: serverInfo,
    logger,
  });
  const tls = http.tls.enabled ? await readTls(http.tls, "http.tls") : undefined;
  const listener = startListener({
    address: http.address,
    ...(tls === undefined ? {} : { tls }),
    handle: async (request, peer) => {
      const refusedFor = checkHostAndOrigin(request);
      if (refusedFor !== undefined) return await routes.refuse(request, refusedFor);
      return crossOrigin.preflight(request) ??
        crossOrigin.mark(request, await routes.fetch(request, { peer }));
    },
    logger,
  });
  return {
    url: listener.url,
    async [Symbol.asyncDispose]() {
      logger.info("stopping");
      await Promise.all([listener.stop(graceMs, inFlight.cancelAll), streamableHttp.close()]);
      bodyTimeout.close();
    },
  };
}
