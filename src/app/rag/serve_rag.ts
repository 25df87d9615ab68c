import type { Config } from "../../config/mod.ts";
import type { Logger } from "../../core/logger.ts";
import { createCoarseTimeout } from "../../http/coarse_timeout.ts";
import { startListener } from "../../http/listener.ts";
import { createRagRoutes } from "../../http/rag_routes.ts";
import { createRunningQueries } from "../../http/running_queries.ts";
import type { Pipelines } from "../../rag/pipelines.ts";
import type { HttpServer } from "../serve_http.ts";
import { readTls } from "../tls_files.ts";

export interface ServeRagOptions {
  readonly server: Config["server"];
  readonly pipelines: () => Pipelines;
  readonly version: string;
  readonly logger: Logger;
}

const graceMs = 10_000;
const bodyTimeoutMs = 30_000;

/**
 * Serves pipelines over HTTP or HTTPS. Everyone who reaches the listener may ask.
 * @throws {AppError} `invalid` for TLS files that do not fit, `unavailable` where the address is taken
 */
export async function serveRag({ server, pipelines, version, logger }: ServeRagOptions): Promise<HttpServer> {
  const address = { host: server.listen_address, port: server.port };
  const runningQueries = createRunningQueries();
  const bodyTimeout = createCoarseTimeout({ timeoutMs: bodyTimeoutMs });
  const routes = createRagRoutes({
    pipelines,
    runningQueries,
    requestTimeoutMs: server.request_timeout,
    bodyTimeout,
    host: { address, allowedHosts: server.allowed_hosts },
    cors: { enabled: server.cors.enabled, allowedOrigins: server.cors.allowed_origins },
    version,
    logger,
  });
  const tls = server.tls.enabled ? await readTls(server.tls, "server.tls") : undefined;
  const listener = startListener({
    address,
    ...(tls === undefined ? {} : { tls }),
    handle: (request, peer) => routes.fetch(request, { peer }),
    logger,
  });
  return {
    url: listener.url,
    async [Symbol.asyncDispose]() {
      await listener.stop(graceMs, runningQueries.cutOff);
      bodyTimeout.close();
    },
  };
}
