import { AppError } from "../core/app_error.ts";
import { createSingleFlight } from "../core/async/single_flight.ts";
import type { Logger } from "../core/logger.ts";
import { redactText } from "../core/redact.ts";
import { appendLines } from "./append_lines.ts";
import { sha256 } from "../core/sha256.ts";
import type { LineMembers } from "./line_chain.ts";

/** Something that the audit trail keeps. No field takes a statement's text, a password or a token. */
export interface AuditEvent {
  readonly event:
    | "login"
    | "logout"
    | "oauth"
    | "refusal"
    | "lockout"
    | "reload"
    | "administrator"
    | "tool_call"
    | "query";
  /** `ok`, or a word or two on how it ended otherwise. */
  readonly outcome: string;
  /** Who called, as principalKey() names them. */
  readonly principal?: string;
  /** The username that was given or concerned; it need not exist. */
  readonly user?: string;
  /** The client's address, behind proxies too. */
  readonly address?: string;
  readonly tool?: string;
  readonly database?: string;
  readonly pipeline?: string;
  /** A hash of a statement: equal for equal statements; the statement cannot be had from it. */
  readonly fingerprint?: string;
  /** Of a question to a pipeline; the trail has its SHA-256, and the words only where `texts` says so. */
  readonly question?: string;
  /** Ids of the documents that were in the prompt. */
  readonly sources?: readonly string[];
  readonly tokens_used?: number;
  /** SQLSTATE of a statement that PostgreSQL refused or ended. */
  readonly sqlstate?: string;
  readonly rows?: number;
  readonly elapsed_ms?: number;
  /** An OAuth client's ID. */
  readonly client?: string;
  /** An administrator's operation, such as `add-user`; of the event `oauth`, what was done. */
  readonly operation?: string;
  /** The file that was reloaded or changed. */
  readonly file?: string;
  /** Why it was refused or failed, in a few words of ours. */
  readonly reason?: string;
  /** The request's id in the log. */
  readonly request?: string;
}

/** Writes events to an audit trail in their order, in the background. */
export type AuditTrail = Awaited<ReturnType<typeof createAuditTrail>>;

/**
 * Opens an audit trail and goes on with the chain that is there. Where it cannot be written later, that is logged once,
 * events wait, and each attempt writes all that wait. Past the bound the newest are given up, and a `lost` record with
 * their number takes their place.
 *
 * @throws AppError as appendLines, so that a server does not start without the trail that it was told to keep
 */
export async function createAuditTrail(options: {
  readonly file: string;
  /** Whether the words of questions stand in it, beside their SHA-256; they do not where absent. */
  readonly texts?: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
  /** Events that may wait for a file that cannot be written. */
  readonly maxWaiting?: number;
  /** Between two attempts on a file that cannot be written. */
  readonly retryMs?: number;
}) {
  const { file, texts = false, now, logger, maxWaiting = 10_000, retryMs = 1000 } = options;
  const appendOptions = { path: file, now, logger };
  await appendLines([], appendOptions);

  const waiting: LineMembers[] = [];
  const counts = { written: 0, lost: 0, failedWrites: 0 };
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
        return retryLater(error);
      }
      noteWritten(batch.length);
    }
  }

  function noteWritten(lines: number): void {
    waiting.splice(0, lines);
    counts.written += lines;
    if (failing) logger.info(`The audit trail ${file} can be written again`, { lost: lostUnnoted });
    failing = false;
    if (lostUnnoted > 0) {
      waiting.push({ time: new Date(now()).toISOString(), event: "lost", count: lostUnnoted });
    }
    lostUnnoted = 0;
  }

  function retryLater(error: unknown): void {
    counts.failedWrites++;
    if (!failing) {
      const reason = error instanceof AppError ? error.message : `Cannot write ${file}: an unexpected fault`;
      logger.error(`${reason}; audit events wait in memory`, { waiting: waiting.length });
      if (!(error instanceof AppError)) logger.debug("Cannot write the audit trail", { error });
    }
    failing = true;
    retry = setTimeout(write, retryMs);
    Deno.unrefTimer(retry);
  }

  /** Writes what waits; what is recorded afterwards is lost. */
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
    /** Neither waits nor throws. */
    record(event: AuditEvent): void {
      if (closed || waiting.length >= maxWaiting) {
        counts.lost++;
        lostUnnoted++;
        return;
      }
      waiting.push(membersOf(event, { nowMs: now(), texts }));
      if (!failing) write();
    },
    /** Ends when everything recorded so far is on the disk, or an attempt to write it has failed. */
    flush: write,
    /** Events that were written, wait and were given up, and attempts to write that failed. */
    counts: () => ({ ...counts, waiting: waiting.length }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

// linking so many lines holds up the event loop for a few milliseconds
const linesAtOnce = 500;

const longestText = 500;

const memberNames = [
  "event",
  "outcome",
  "principal",
  "user",
  "address",
  "tool",
  "database",
  "pipeline",
  "fingerprint",
  "question",
  "sources",
  "tokens_used",
  "sqlstate",
  "rows",
  "elapsed_ms",
  "client",
  "operation",
  "file",
  "reason",
  "request",
] as const satisfies readonly (keyof AuditEvent)[];

/** An event's members, with texts cut and the reason redacted. What AuditEvent does not name is left out. */
function membersOf(
  event: AuditEvent,
  { nowMs, texts }: { readonly nowMs: number; readonly texts: boolean },
): LineMembers {
  const members: Record<string, string | number | readonly string[]> = {
    time: new Date(nowMs).toISOString(),
  };
  for (const name of memberNames) {
    const value = event[name];
    if (value === undefined) continue;
    if (name === "question") {
      members["question_sha256"] = sha256(String(value));
      if (!texts) continue;
    }
    if (typeof value === "number") members[name] = value;
    else if (typeof value !== "string") members[name] = value.map(cut);
    else members[name] = cut(name === "reason" || name === "question" ? redactText(value) : value);
  }
  return members;
}

function cut(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text;
}
