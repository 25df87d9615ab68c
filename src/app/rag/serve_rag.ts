import type { Config } from "../../config/mod.ts";
import type { Logger } from "../../core/logger.ts";
import { createSharedDeadline } from "../../core/async/deadline.ts";
import type { FileWatch } from "../../core/files/watch_files.ts";
import { startListener } from "../../http/listener.ts";
import { createRagRoutes } from "../../rag_server/rag_routes.ts";
import { createRunningQueries } from "../../rag_server/running_queries.ts";
import type { Pipelines } from "../../rag_server/pipelines.ts";
import type { HttpServer } from "../serve_http.ts";
import { readTls, watchTls } from "../tls_files.ts";

export interface ServeRagOptions {
  readonly server: Config["server"];
  readonly pipelines: () => Pipelines;
  readonly version: string;
  readonly files: FileWatch;
  readonly logger: Logger;
}

/** A server whose settings may change while it runs, those of `src/config/reloaded_settings.ts`. */
export interface RagHttpServer extends HttpServer {
  reload(server: Config["server"]): void;
}

const graceMs = 10_000;
const bodyTimeoutMs = 30_000;

/**
 * Serves pipelines over HTTP or HTTPS. Everyone who reaches the listener may ask.
 * @throws {AppError} `invalid` for TLS files that do not fit, `unavailable` where the address is taken
 */
export async function serveRag(options: ServeRagOptions): Promise<RagHttpServer> {
  const { server, pipelines, version, files, logger } = options;
  const { address } = server;
  const runningQueries = createRunningQueries();
  const bodyTimeout = createSharedDeadline(bodyTimeoutMs);
  const routesOf = ({ allowed_hosts, cors }: Config["server"]) =>
    createRagRoutes({
      pipelines,
      runningQueries,
      requestTimeoutMs: server.request_timeout,
      bodyTimeout,
      host: { address, allowedHosts: allowed_hosts },
      cors: { enabled: cors.enabled, allowedOrigins: cors.allowed_origins },
      version,
      logger,
    });
  let routes = routesOf(server);
  const tls = server.tls.enabled ? await readTls(server.tls, "server.tls") : undefined;
  const listener = startListener({
    address,
    ...(tls === undefined ? {} : { tls }),
    handle: (request, peer) => routes.fetch(request, { peer }),
    logger,
  });
  const certificate = tls && await watchTls({
    tls: server.tls,
    section: "server.tls",
    current: tls,
    replace: listener.replaceCertificate,
    files,
    logger,
  });
  return {
    url: listener.url,
    reload: (next) => routes = routesOf(next),
    async [Symbol.asyncDispose]() {
      void certificate?.end();
      await listener.stop(graceMs, runningQueries.cutOff);
      bodyTimeout.close();
    },
  };
}
