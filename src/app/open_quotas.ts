import type { Config } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import type { ServerMetrics } from "../core/metrics/server_metrics.ts";
import { createQuotas, type Quotas } from "../core/quotas/quotas.ts";
import { createUsageCounts } from "../core/quotas/usage_counts.ts";
import type { UsageFile } from "../core/quotas/usage_file.ts";
import { waitBoundsOf } from "./open_databases.ts";

/**
 * How much the callers of both servers may use. Where `data_dir` is set, counts are kept in a file there from the first limit
 * on.
 *
 * @throws {AppError} where there are limits and the file cannot be used
 */
export async function openQuotas(
  config: Pick<Config, "limits" | "data_dir" | "admission">,
  metrics: ServerMetrics,
  logger: Logger,
): Promise<Quotas> {
  const { limits, data_dir: dataDir } = config;
  const now = Date.now;
  const counts = createUsageCounts(now);
  const quotas = createQuotas({
    rules: limits,
    waitBounds: waitBoundsOf(config),
    counts,
    now,
    onRefused: (limit) => metrics.quotaRefusals.of(limit).add(),
  });
  let isClosed = false;
  let file: UsageFile | undefined;

  async function keep(): Promise<void> {
    if (dataDir === undefined || file !== undefined) return;
    const { keepUsage, usageFile } = await import("../core/quotas/usage_file.ts");
    if (!isClosed) file ??= keepUsage({ path: usageFile(dataDir), counts, now, logger });
  }

  if (quotas.isOn) await keep();
  return {
    ...quotas,
    get isOn() {
      return quotas.isOn;
    },
    replace(rules) {
      quotas.replace(rules);
      if (!quotas.isOn) return;
      keep().catch((error) => logger.error("Cannot keep what callers use; a restart forgets it", { error }));
    },
    [Symbol.dispose]() {
      isClosed = true;
      file?.[Symbol.dispose]();
      quotas[Symbol.dispose]();
    },
  };
}
