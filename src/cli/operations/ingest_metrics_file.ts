import { join } from "node:path";
import type { Logger } from "../../core/logger.ts";
import { createMetricsText } from "../../http/metrics_text.ts";
import { createGauges, type MetricFamily } from "../../core/metrics/metric_family.ts";

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

/** What the last run of `-ingest` into one pipeline did. */
interface IngestRun {
  readonly pipeline: string;
  /** In milliseconds since 1970. */
  readonly endedAt: number;
  readonly seconds: number;
  /** Whether all that was asked for was done. */
  readonly hasSucceeded: boolean;
  /** By what was done with them; none where the run ended before it looked at any. */
  readonly files: Readonly<Record<string, number>>;
  readonly chunksWritten: number;
  readonly tokens: number;
}

/** The metrics of a run; of no run, their names. */
export function ingestMetrics(run?: IngestRun): readonly MetricFamily[] {
  const gauge = (name: string, help: string, value: (run: IngestRun) => number) => {
    const { family, collect } = createGauges(name, help, ["pipeline"]);
    if (run !== undefined) collect(() => [{ labels: [run.pipeline], value: value(run) }]);
    return family;
  };
  const files = createGauges(
    "postern_ingest_files",
    "Files of the last run, by what was done with them.",
    ["pipeline", "result"],
  );
  if (run !== undefined) {
    files.collect(() =>
      Object.entries(run.files).map(([result, value]) => ({ labels: [run.pipeline, result], value }))
    );
  }
  return [
    gauge(
      "postern_ingest_last_run_timestamp_seconds",
      "When the last run ended, in seconds since 1970.",
      ({ endedAt }) => endedAt / 1_000,
    ),
    gauge(
      "postern_ingest_success",
      "1 if the last run did all that it was to do, else 0.",
      ({ hasSucceeded }) => hasSucceeded ? 1 : 0,
    ),
    gauge("postern_ingest_run_seconds", "How long the last run took.", ({ seconds }) => seconds),
    files.family,
    gauge("postern_ingest_chunks", "Chunks that the last run wrote.", ({ chunksWritten }) => chunksWritten),
    gauge(
      "postern_ingest_tokens",
      "Tokens that the last run used, as the provider counts them.",
      ({ tokens }) => tokens,
    ),
  ];
}
