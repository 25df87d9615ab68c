import { AppError } from "../../core/app_error.ts";
import { isLoopback, type ListenAddress } from "../../core/address.ts";
import type { Logger } from "../../core/logger.ts";
import type { ServerMetrics } from "../../core/metrics/server_metrics.ts";
import { createHostCheck } from "../../http/host_and_origin.ts";
import { startListener } from "../../http/listener.ts";
import { createMetricsPage } from "../../http/metrics_page.ts";
import { watchProcess } from "./watch_process.ts";

const graceMs = 1_000;

/**
 * Serves `GET /metrics`, and nothing else, to whoever reaches the address.
 *
 * @throws {AppError} naming `metrics.address`: `unavailable` where the address is taken, `invalid` where it cannot be one
 */
export async function serveMetrics({ address, metrics, version, logger }: {
  readonly address: ListenAddress;
  readonly metrics: ServerMetrics;
  readonly version: string;
  readonly logger: Logger;
}): Promise<AsyncDisposable> {
  const page = await createMetricsPage(metrics.families);
  const hostIsAllowed = createHostCheck({ address, allowedHosts: [] });
  const listener = listen();
  const watched = watchProcess(metrics, version);
  if (!isLoopback(address.host)) {
    logger.warn(
      "metrics.address can be reached from other machines: whoever reaches it reads the names of databases, pipelines " +
        "and models, and how much is asked; let only the monitoring system reach it",
    );
  }

  function listen() {
    try {
      return startListener({
        address,
        handle: (request) =>
          hostIsAllowed(request)
            ? page.answer(request)
            : new Response("Forbidden: this Host is not served here\n", { status: 403 }),
        announcement: "metrics are served at",
        logger,
      });
    } catch (cause) {
      if (!(cause instanceof AppError)) throw cause;
      throw new AppError(cause.code, `Cannot serve metrics.address: ${cause.message}`, { cause });
    }
  }

  return {
    async [Symbol.asyncDispose]() {
      watched[Symbol.dispose]();
      await listener.stop(graceMs, () => {});
    },
  };
}
