import type { Authenticator } from "../auth/authenticator.ts";
import type { Config } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import { createHostAndOriginCheck } from "../http/host_and_origin.ts";
import { startListener } from "../http/listener.ts";
import { createMcpEndpoint } from "../http/mcp_endpoint.ts";
import { createToolServerRoutes } from "../http/tool_server_routes.ts";
import { createJsonRpc } from "../mcp/json_rpc.ts";
import { createStreamableHttp } from "../mcp/streamable_http.ts";
import { createReadiness } from "./readiness.ts";
import { readTls } from "./tls_files.ts";
import type { ToolServer } from "./tool_server.ts";

export interface HttpServer {
  readonly url: string;
  /** Closes event streams and lets requests under way finish for 10 s. */
  stop(): Promise<void>;
}

const graceMs = 10_000;

/**
 * Serves a tool server over HTTP or HTTPS. Without an authenticator everyone who reaches the listener is let in.
 * @throws {AppError} `invalid` for TLS files that do not fit, `unavailable` where the address is taken
 */
export async function serveHttp(options: {
  http: Config["http"];
  toolServer: ToolServer;
  authenticator?: Authenticator;
  logger: Logger;
}): Promise<HttpServer> {
  const { http, toolServer, authenticator, logger } = options;
  const { inFlight, registry, serverInfo } = toolServer;
  const streamableHttp = createStreamableHttp({ registry, inFlight, serverInfo, logger });
  const readiness = createReadiness({ databases: toolServer.databases });
  const routes = createToolServerRoutes({
    mcp: createMcpEndpoint({
      ...(authenticator === undefined ? {} : { authenticator }),
      jsonRpc: createJsonRpc({ registry, inFlight, serverInfo }),
      streamableHttp,
      inFlight,
      logger,
    }),
    unreachableDatabases: () => readiness.unreachable(),
    checkHostAndOrigin: createHostAndOriginCheck({
      address: http.address,
      authenticated: authenticator !== undefined,
      allowedHosts: http.allowed_hosts,
      allowedOrigins: http.allowed_origins,
    }),
    server: serverInfo,
    logger,
  });
  const tls = http.tls.enabled ? await readTls(http.tls) : undefined;
  const listener = startListener({
    address: http.address,
    ...(tls === undefined ? {} : { tls }),
    handle: (request) => routes.fetch(request),
    logger,
  });
  return {
    url: listener.url,
    async stop() {
      logger.info("stopping");
      await Promise.all([listener.stop(graceMs, inFlight.cancelAll), streamableHttp.close()]);
    },
  };
}
