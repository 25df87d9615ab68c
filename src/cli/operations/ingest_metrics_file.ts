import { join } from "node:path";
import type { Logger } from "../../core/logger.ts";
import { ingestMetrics, type IngestRun } from "../../core/metrics/ingest_metrics.ts";
import { createMetricsText } from "../../http/metrics_text.ts";

/**
 * Writes the metrics of a run into a folder, in place of those of the pipeline's run before: the textfile collector of
 * Prometheus's node_exporter reads it, as another user. That they cannot be written is a warning: the run is done.
 */
export async function writeIngestMetrics(folder: string, run: IngestRun, logger: Logger): Promise<void> {
  // the collector reads files whose names end with .prom
  const path = join(folder, `postern_ingest_${encodeURIComponent(run.pipeline)}.prom`);
  const temporary = `${path}.tmp`;
  try {
    const text = await createMetricsText(ingestMetrics(run));
    await Deno.writeTextFile(temporary, await text.write());
    if (Deno.build.os !== "windows") await Deno.chmod(temporary, 0o644);
    await Deno.rename(temporary, path);
  } catch (error) {
    logger.warn(`Cannot write the metrics of the run to ${path}`, { error });
  }
}
