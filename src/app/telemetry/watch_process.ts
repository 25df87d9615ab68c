import process from "node:process";
import type { ServerMetrics } from "../../core/metrics/server_metrics.ts";

/** How often the event loop is looked at; each look is one count. */
const lookEveryMs = 200;

/**
 * Has the metrics tell of the process: its memory, its CPU time, what it was built from, and from now on, until it is
 * disposed of, how late its event loop is.
 */
export function watchProcess(metrics: ServerMetrics, version: string): Disposable {
  const startedAt = (Date.now() - performance.now()) / 1_000;
  metrics.startTime.collect(() => [{ labels: [], value: startedAt }]);
  metrics.buildInfo.collect(() => [{ labels: [version, Deno.version.deno, Deno.version.v8], value: 1 }]);
  metrics.cpu.collect(() => [{ labels: [], value: cpuSeconds() }]);
  metrics.residentMemory.collect(() => [{ labels: [], value: Deno.memoryUsage().rss }]);
  metrics.memory.collect(() => {
    const { heapUsed, heapTotal, external } = Deno.memoryUsage();
    return [
      { labels: ["used"], value: heapUsed },
      { labels: ["total"], value: heapTotal },
      { labels: ["external"], value: external },
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
