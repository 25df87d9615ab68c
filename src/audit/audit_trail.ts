import { AppError } from "../core/app_error.ts";
import { createSingleFlight } from "../core/async/single_flight.ts";
import type { Logger } from "../core/logger.ts";
import { appendLines } from "./append_lines.ts";
import { type AuditEvent, type LineMembers, membersOf, noteMembers } from "./audit_event.ts";

export interface AuditTrailOptions {
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
  /** Events that may wait for a file that cannot be written; 10,000. */
  readonly maxWaiting?: number;
  /** Between two attempts on a file that cannot be written; 1,000. */
  readonly retryMs?: number;
}

export interface AuditTrailCounts {
  readonly written: number;
  readonly waiting: number;
  /** Given up, since too many waited. */
  readonly lost: number;
  /** Attempts to write that failed. */
  readonly failures: number;
}

/** Writes events to an audit trail in their order, in the background. */
export interface AuditTrail extends AsyncDisposable {
  /** Neither waits nor throws. */
  record(event: AuditEvent): void;
  /** Ends when everything recorded so far is on the disk, or an attempt to write it has failed. */
  flush(): Promise<void>;
  counts(): AuditTrailCounts;
  /** Writes what waits; what is recorded afterwards is lost. */
  close(): Promise<void>;
}

/**
 * Opens an audit trail, to go on with the chain that is there. Where it cannot be written later on, that is logged once,
 * events wait, and each attempt writes all that wait; past the bound the newest are given up, and a `lost` record with their
 * number takes their place.
 *
 * @throws AppError as appendLines, so that a server does not start without the trail that it was told to keep
 */
export async function createAuditTrail(options: AuditTrailOptions): Promise<AuditTrail> {
  const { file, now, logger, maxWaiting = 10_000, retryMs = 1000 } = options;
  const appendOptions = { path: file, now, logger };
  await appendLines([], appendOptions);

  const waiting: LineMembers[] = [];
  const counts = { written: 0, lost: 0, failures: 0 };
  let lostUnnoted = 0;
  const writing = createSingleFlight<void>();
  let retry: ReturnType<typeof setTimeout> | undefined;
  let failing = false;
  let closed = false;

  function write(): Promise<void> {
    clearTimeout(retry);
    return writing.share(writeAll);
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, linesAtOnce);
      try {
        await appendLines(batch, appendOptions);
      } catch (error) {
        return onFailure(error);
      }
      onSuccess(batch.length);
    }
  }

  function onSuccess(lines: number): void {
    waiting.splice(0, lines);
    counts.written += lines;
    if (failing) logger.info(`The audit trail ${file} is written again`, { lost: lostUnnoted });
    failing = false;
    if (lostUnnoted > 0) waiting.push(noteMembers("lost", now(), { count: lostUnnoted }));
    lostUnnoted = 0;
  }

  function onFailure(error: unknown): void {
    counts.failures++;
    if (!failing) {
      const reason = error instanceof AppError ? error.message : `Cannot write ${file}: an unexpected fault`;
      logger.error(`${reason}; audit events wait`, { waiting: waiting.length });
      if (!(error instanceof AppError)) logger.debug("Cannot write the audit trail", { error });
    }
    failing = true;
    retry = setTimeout(write, retryMs);
    Deno.unrefTimer(retry);
  }

  async function close(): Promise<void> {
    closed = true;
    await write();
    clearTimeout(retry);
    counts.lost += waiting.length;
    if (waiting.length > 0) {
      logger.error(`Audit events are lost: ${file} cannot be written`, { lost: waiting.length });
    }
    waiting.length = 0;
  }

  return {
    record(event) {
      if (closed || waiting.length >= maxWaiting) {
        counts.lost++;
        lostUnnoted++;
        return;
      }
      waiting.push(membersOf(event, now()));
      if (!failing) write();
    },
    flush: write,
    counts: () => ({ ...counts, waiting: waiting.length }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

// linking that many takes a few milliseconds of the event loop
const linesAtOnce = 500;
