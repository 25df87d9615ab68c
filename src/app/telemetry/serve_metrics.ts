import process from "node:process";
import { AppError } from "../../core/app_error.ts";
import { isLoopback, type ListenAddress } from "../../core/address.ts";
import type { Logger } from "../../core/logger.ts";
import type { ServerMetrics } from "../../core/metrics/server_metrics.ts";
import { createHostCheck } from "../../http/host_and_origin.ts";
import { startListener } from "../../http/listener.ts";
import type { MetricFamily } from "../../core/metrics/metric_family.ts";
import type { GatheredMetrics } from "./gather_metrics.ts";
import { createMetricsText } from "../../http/metrics_text.ts";

const graceMs = 1_000;

/**
 * Serves `GET /metrics`, and nothing else, to whoever reaches the address.
 *
 * @throws {AppError} naming `metrics.address`: `unavailable` where the address is taken, `invalid` where it cannot be one
 */
export async function serveMetrics({ address, metrics, version, gathered, logger }: {
  readonly address: ListenAddress;
  readonly metrics: ServerMetrics;
  readonly version: string;
  /** Of several processes together. Optional: none where the process serves alone. */
  readonly gathered?: GatheredMetrics;
  readonly logger: Logger;
}): Promise<AsyncDisposable> {
  const page = await createMetricsPage(gathered?.families ?? metrics.families, gathered?.gather);
  const hostIsAllowed = createHostCheck({ address, allowedHosts: [] });
  const listener = listen();
  const startedAt = (Date.now() - performance.now()) / 1_000;
  metrics.startTime.collect(() => [{ labels: [], value: startedAt }]);
  metrics.buildInfo.collect(() => [{ labels: [version, Deno.version.deno, Deno.version.v8], value: 1 }]);
  const watched = watchProcess(metrics, gathered === undefined ? "" : "parent");
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

const path = "/metrics";

/** Serves metrics in Prometheus's text format, as they are at each request. */
async function createMetricsPage(
  families: readonly MetricFamily[],
  gather = () => Promise.resolve(),
): Promise<{ answer(request: Request): Promise<Response> }> {
  const text = await createMetricsText(families);
  return {
    async answer(request) {
      if (new URL(request.url).pathname !== path) return new Response("Not Found\n", { status: 404 });
      if (request.method !== "GET") {
        return new Response("Method Not Allowed\n", { status: 405, headers: { allow: "GET, HEAD" } });
      }
      await gather();
      return new Response(await text.write(), { headers: { "content-type": text.contentType } });
    },
  };
}

/** How often the event loop is looked at; each look is one count. */
const lookEveryMs = 200;

/**
 * Has the metrics tell of the process: its memory, its CPU time, and from now on, until it is disposed of, how late its event
 * loop is.
 *
 * @param name tells several apart; empty for one alone
 */
export function watchProcess(metrics: ServerMetrics, name: string): Disposable {
  metrics.cpu.collect(() => [{ labels: [name], value: cpuSeconds() }]);
  metrics.residentMemory.collect(() => [{ labels: [name], value: Deno.memoryUsage().rss }]);
  metrics.memory.collect(() => {
    const { heapUsed, heapTotal, external } = Deno.memoryUsage();
    return [
      { labels: ["used", name], value: heapUsed },
      { labels: ["total", name], value: heapTotal },
      { labels: ["external", name], value: external },
    ];
  });
  let dueAt = performance.now() + lookEveryMs;
  const timer = setInterval(() => {
    const now = performance.now();
    metrics.loopDelay.observe(Math.max(0, now - dueAt));
    dueAt = now + lookEveryMs;
  }, lookEveryMs);
  Deno.unrefTimer(timer);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}
