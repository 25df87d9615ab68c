import { AppError } from "../core/app_error.ts";
import type { FileNote } from "../rag_server/ingest/find_files.ts";
import { ingest, type IngestOptions, type IngestSummary } from "../rag_server/ingest/ingest.ts";
import { fieldLines, jsonText, type Print, visible } from "./output.ts";
import type { Progress } from "./progress_bar.ts";

/** What to ingest, and how to tell of it. */
export interface IngestOperationOptions extends Omit<IngestOptions, "onProgress"> {
  /** By which the configuration calls it. */
  readonly pipeline: string;
  /** Print JSON in place of text for people. */
  readonly json: boolean;
  readonly progress: Progress;
  readonly now: () => number;
}

/**
 * Brings a pipeline's table up to date with files, and prints what was done.
 *
 * @throws {AppError} as `ingest()`; `invalid` where some files failed, and the provider's fault, after the summary
 */
export async function ingestOperation(options: IngestOperationOptions, print: Print): Promise<void> {
  const { pipeline, json, progress, now } = options;
  const start = now();
  let summary: IngestSummary;
  try {
    summary = await ingest({ ...options, onProgress: progress.update });
  } finally {
    progress.end();
  }
  const seconds = Math.round((now() - start) / 100) / 10;
  if (json) print(jsonText(summaryJson(pipeline, summary, seconds)));
  else summaryLines(pipeline, summary, seconds).forEach(print);
  const { fault, failed } = summary;
  if (fault !== undefined) throw new AppError(fault.code, `Cannot go on with ${pipeline}: ${fault.message}`);
  if (failed.length > 0) throw new AppError("invalid", `Cannot ingest ${countOf(failed.length, "file")}`);
}

function summaryJson(pipeline: string, summary: IngestSummary, seconds: number) {
  const { added, changed, unchanged, removed, skipped, failed, chunksWritten, promptTokens } = summary;
  return {
    pipeline,
    added,
    changed,
    unchanged,
    removed,
    skipped,
    failed,
    chunks_written: chunksWritten,
    tokens_used: promptTokens,
    seconds,
  };
}

function summaryLines(pipeline: string, summary: IngestSummary, seconds: number): string[] {
  const { added, changed, unchanged, removed, skipped, failed, chunksWritten, promptTokens } = summary;
  const fields = [
    ["Files added", added],
    ["Files changed", changed],
    ["Files unchanged", unchanged],
    ["Files removed", removed],
    ["Files skipped", skipped.length],
    ["Files failed", failed.length],
    ["Chunks written", chunksWritten],
    ["Tokens used", promptTokens],
    ["Seconds", seconds],
  ] as const;
  return [
    `Ingested into ${pipeline}`,
    "",
    ...fieldLines(fields.map(([name, value]) => [name, String(value)] as const)).map((line) => `  ${line}`),
    ...noteLines("Skipped", skipped),
    ...noteLines("Failed", failed),
  ];
}

function noteLines(heading: string, notes: readonly FileNote[]): string[] {
  if (notes.length === 0) return [];
  return [
    "",
    `${heading}:`,
    ...notes.map(({ source, reason }) => `  ${visible(source)}: ${visible(reason)}`),
  ];
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
