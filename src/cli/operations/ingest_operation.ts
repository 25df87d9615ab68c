import { AppError } from "../../core/app_error.ts";
import type { FileNote } from "../../rag_server/ingest/find_files.ts";
import { ingest, type IngestOptions, type IngestSummary } from "../../rag_server/ingest/ingest.ts";
import type { ChunkOptions } from "../../text/chunk_document.ts";
import { counted, fieldLines, jsonText, type Print, visible } from "../output.ts";
import type { Progress } from "../progress_bar.ts";
import { join } from "node:path";
import { createMetricsText } from "../../http/metrics_text.ts";
import { createGauges, type MetricFamily } from "../../core/metrics/metric_family.ts";

/** What to ingest, and how to tell of it. */
export interface IngestOperationOptions
  extends Omit<IngestOptions, "onProgress" | keyof ChunkOptions>, ChunkOptions {
  /** By which the configuration calls it. */
  readonly pipeline: string;
  /** Print JSON in place of text for people. */
  readonly json: boolean;
  readonly progress: Progress;
  /** Whether an earlier run went before, and this one tells what it changed in a line. */
  readonly isFurther?: boolean;
  readonly now: () => number;
  /** Where to leave the metrics of the run, unless it is dry. */
  readonly metricsFolder?: string | undefined;
}

/**
 * Brings a pipeline's table up to date with files, and prints what was done or, in a dry run, would be.
 *
 * @throws {AppError} as `ingest()`; after the summary: the provider's fault, `conflict` where a source was left as it is,
 * `invalid` where some files failed
 */
export async function ingestOperation(options: IngestOperationOptions, print: Print): Promise<void> {
  const { pipeline, json, progress, now, logger, isFurther = false } = options;
  const start = now();
  const seconds = () => Math.round((now() - start) / 100) / 10;
  let summary: IngestSummary;
  try {
    summary = await ingest({ ...options, onProgress: progress.update });
  } catch (error) {
    await leaveMetrics(options, seconds());
    throw error;
  } finally {
    progress.end();
  }
  await leaveMetrics(options, seconds(), summary);
  const { sources, fault, failed, skipped, refusals } = summary;
  for (const { path, reason } of skipped) logger.debug("file skipped", { path, reason });
  const { added, changed, removed } = summary;
  const isNews = !isFurther || added + changed + removed > 0;
  if (json && isNews) print(jsonText(summaryJson(summary, options, seconds())));
  else if (isFurther && isNews) print(furtherLine(summary, options));
  else if (isNews && (sources.length > 0 || refusals.length === 0)) {
    summaryLines(summary, options, seconds()).forEach(print);
  }
  if (fault !== undefined) throw new AppError(fault.code, `Cannot go on with ${pipeline}: ${fault.message}`);
  const reasons = [
    ...refusals,
    ...(failed.length > 0
      ? [`Cannot ingest ${counted(failed.length, "file")}${isFurther ? examplesOf(failed) : ""}`]
      : []),
  ];
  if (reasons.length === 0) return;
  throw new AppError(refusals.length > 0 ? "conflict" : "invalid", reasons.map(visible).join("; "));
}

/**
 * Writes the metrics of a run into a folder, in place of those of the pipeline's run before: the textfile collector of
 * Prometheus's node_exporter reads it, as another user. That they cannot be written is a warning: the run is done.
 *
 * @param summary optional: none where the run ended with an error before it did anything
 */
async function leaveMetrics(
  { pipeline, metricsFolder, isDryRun = false, logger }: IngestOperationOptions,
  seconds: number,
  summary?: IngestSummary,
): Promise<void> {
  if (metricsFolder === undefined || isDryRun) return;
  // the collector reads files whose names end with .prom
  const path = join(metricsFolder, `postern_ingest_${encodeURIComponent(pipeline)}.prom`);
  const temporary = `${path}.tmp`;
  try {
    const text = await createMetricsText(ingestMetrics({ pipeline, seconds, summary }));
    await Deno.writeTextFile(temporary, await text.write());
    if (Deno.build.os !== "windows") await Deno.chmod(temporary, 0o644);
    await Deno.rename(temporary, path);
  } catch (error) {
    logger.warn(`Cannot write the metrics of the run to ${path}`, { error });
  }
}

function summaryJson(
  summary: IngestSummary,
  { pipeline, isDryRun = false, maxTokens, overlapTokens }: IngestOperationOptions,
  seconds: number,
) {
  const { sources, added, changed, unchanged, removed, skipped, failed, chunksWritten, promptTokens } =
    summary;
  // the path below the source's folder is what clients see as `source`
  const notes = (list: readonly FileNote[]) => list.map(({ path, reason }) => ({ source: path, reason }));
  return {
    pipeline,
    sources,
    dry_run: isDryRun,
    added,
    changed,
    unchanged,
    removed,
    skipped: notes(skipped),
    failed: notes(failed),
    refused: summary.refusals,
    notices: summary.notices,
    chunk_tokens: maxTokens,
    overlap_tokens: overlapTokens,
    chunks_written: chunksWritten,
    tokens_used: promptTokens,
    seconds,
  };
}

function summaryLines(
  summary: IngestSummary,
  { pipeline, sourceName, isDryRun, maxTokens, overlapTokens }: IngestOperationOptions,
  seconds: number,
): string[] {
  const { sources, added, changed, unchanged, removed, skipped, failed, notices } = summary;
  const counts: readonly (readonly [name: string, value: number])[] = [
    ["Files added", added],
    ["Files changed", changed],
    ["Files unchanged", unchanged],
    ["Files removed", removed],
    ["Files skipped", skipped.length],
    ["Files failed", failed.length],
    ["Chunks written", summary.chunksWritten],
    ["Tokens used", summary.promptTokens],
    ["Seconds", seconds],
  ];
  const fields = [
    ...sources.map(({ name, folder }) => ["Source", `${name} (${folder})`] as const),
    ["Chunk tokens", `${maxTokens}, ${overlapTokens} repeated`] as const,
    ...counts.map(([name, value]) => [name, String(value)] as const),
  ];
  const [would, did] = sources.length > 0 ? ["ingest", "Ingested"] : ["remove", "Removed"];
  const heading = (what: string) =>
    isDryRun ? `Would ${would} ${what}; nothing was written` : `${did} ${what}`;
  return [
    heading(sources.length > 0 ? `into ${pipeline}` : `source ${visible(sourceName ?? "")} from ${pipeline}`),
    "",
    ...fieldLines(fields).map((line) => `  ${line}`),
    ...section("Skipped", skippedLines(skipped)),
    ...section("Failed", failed.map(({ path, reason }) => `${visible(path)}: ${visible(reason)}`)),
    ...section("Notice", notices.map(visible)),
  ];
}

/** Of a run that follows another one. */
function furtherLine(
  { added, changed, removed, chunksWritten }: IngestSummary,
  { pipeline }: IngestOperationOptions,
): string {
  return `${
    new Date().toISOString()
  } Ingested into ${pipeline}: ${added} added, ${changed} changed, ${removed} removed; ` +
    `${counted(chunksWritten, "chunk")} written`;
}

const shownExamples = 3;

/** A line for each reason, the most frequent first. */
function skippedLines(skipped: readonly FileNote[]): string[] {
  const groups = [...Map.groupBy(skipped, ({ reason }) => reason)]
    .sort(([, one], [, other]) => other.length - one.length);
  return fieldLines(groups.map(([reason, notes]) => {
    const examples = notes.slice(0, shownExamples).map(({ path }) => path);
    return [reason, `${notes.length}: ${examples.join(", ")}${notes.length > shownExamples ? ", …" : ""}`];
  }));
}

/** For a run that prints no list of them. */
function examplesOf(failed: readonly FileNote[]): string {
  const shown = failed.slice(0, shownExamples).map(({ path, reason }) => `${path}: ${reason}`);
  return `: ${shown.join("; ")}${failed.length > shownExamples ? "; …" : ""}`;
}

function section(heading: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", `${heading}:`, ...lines.map((line) => `  ${line}`)];
}

/** What the last run of `-ingest` into one pipeline did. */
interface IngestRun {
  readonly pipeline: string;
  readonly seconds: number;
  readonly summary: IngestSummary | undefined;
}

/** The metrics of a run that ends now; of no run, their names. */
export function ingestMetrics(run?: IngestRun): readonly MetricFamily[] {
  const gauge = (name: string, help: string, value: (run: IngestRun) => number | undefined) => {
    const { family, collect } = createGauges(`${name}{pipeline}`, help);
    if (run !== undefined) collect(() => [{ labels: [run.pipeline], value: value(run) ?? 0 }]);
    return family;
  };
  const files = createGauges(
    "postern_ingest_files{pipeline, result}",
    "Files of the last run, by what was done with them.",
  );
  if (run !== undefined) {
    const { added, changed, unchanged, removed, skipped, failed } = run.summary ?? {};
    const counts = { added, changed, unchanged, removed, skipped: skipped?.length, failed: failed?.length };
    files.collect(() =>
      Object.entries(counts).map(([result, value = 0]) => ({ labels: [run.pipeline, result], value }))
    );
  }
  return [
    gauge(
      "postern_ingest_last_run_timestamp_seconds",
      "When the last run ended, in seconds since 1970.",
      () => Date.now() / 1_000,
    ),
    gauge(
      "postern_ingest_success",
      "1 if the last run did all that it was to do, else 0.",
      ({ summary }) => Number(summary !== undefined && isWhole(summary)),
    ),
    gauge("postern_ingest_run_seconds", "How long the last run took.", ({ seconds }) => seconds),
    files.family,
    gauge(
      "postern_ingest_chunks",
      "Chunks that the last run wrote.",
      ({ summary }) => summary?.chunksWritten,
    ),
    gauge(
      "postern_ingest_tokens",
      "Tokens that the last run used, as the provider counts them.",
      ({ summary }) => summary?.promptTokens,
    ),
  ];
}

function isWhole({ failed, refusals, fault }: IngestSummary): boolean {
  return failed.length === 0 && refusals.length === 0 && fault === undefined;
}
