import { createGauges, type MetricFamily } from "./metric_family.ts";

/** What the last run of `-ingest` into one pipeline did. */
export interface IngestRun {
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
    const { family, collect } = createGauges({ name, help, labels: ["pipeline"] });
    if (run !== undefined) collect(() => [{ labels: [run.pipeline], value: value(run) }]);
    return family;
  };
  const files = createGauges({
    name: "postern_ingest_files",
    help: "Files of the last run, by what was done with them.",
    labels: ["pipeline", "result"],
  });
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
      ({ hasSucceeded }) => {
        return hasSucceeded ? 1 : 0;
      },
    ),
    gauge("postern_ingest_run_seconds", "How long the last run took.", ({ seconds }) => seconds),
    files.family,
    gauge("postern_ingest_chunks", "Chunks that the last run wrote.", ({ chunksWritten }) => chunksWritten),
    gauge(
      "postern_ingest_tokens",
      "Tokens that the last run used, as the provider counts them.",
      ({ tokens }) => {
        return tokens;
      },
    ),
  ];
}
