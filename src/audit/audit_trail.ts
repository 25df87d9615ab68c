import { AppError } from "../core/app_error.ts";
import { settlesWithin } from "../core/async/deadline.ts";
import type { Logger } from "../core/logger.ts";
import { createLineAppender } from "./append_lines.ts";
import type { LineMembers } from "./line_chain.ts";
import { redactText } from "../core/text/redact.ts";
import { sha256 } from "../core/text/sha256.ts";

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
    /** Of any other method that shows data: `method` names it. */
    | "call"
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
  readonly method?: string;
  /** Address of what was read. */
  readonly resource?: string;
  readonly prompt?: string;
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

/** Writes events to an audit trail in their order, those of many calls at once. */
export type AuditTrail = Awaited<ReturnType<typeof createAuditTrail>>;

interface WaitingLine {
  readonly members: LineMembers;
  /** Ends the wait of whoever recorded it. */
  readonly told: (isKept: boolean) => void;
}

/**
 * Opens an audit trail and goes on with the chain that is there. Where it cannot be written later, that is logged once,
 * events wait, and each attempt writes all that wait. Past the bound the newest are given up, and a `lost` record with
 * their number takes their place.
 *
 * @throws AppError as LineAppender.append, so that a server does not start without the trail that it was told to keep
 */
export async function createAuditTrail(options: {
  readonly file: string;
  /** Whether the words of questions stand in it, beside their SHA-256; they do not where absent. */
  readonly texts?: boolean;
  /** Optional: whether no call is answered before the disk has its line. Else the system has it. */
  readonly required?: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
  /** Events that may wait for a file that cannot be written. */
  readonly maxWaiting?: number;
  /** Between two attempts on a file that cannot be written. */
  readonly retryMs?: number;
}) {
  const { file, texts = false, required = false, now, logger, maxWaiting = 10_000, retryMs = 1000 } = options;
  const appender = createLineAppender({ path: file, isSynced: required, now, logger });
  await appender.append(() => []);

  const waiting: WaitingLine[] = [];
  const counts = { written: 0, lost: 0, failedWrites: 0 };
  let lostUnnoted = 0;
  let writing: Promise<void> | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let failing = false;
  let closed = false;

  function write(): Promise<void> {
    clearTimeout(retry);
    if (waiting.length > 0) writing ??= writeAll();
    return writing ?? Promise.resolve();
  }

  async function writeAll(): Promise<void> {
    do {
      let batch: readonly WaitingLine[] = [];
      const appended = appender.append(() => {
        batch = waiting.slice(0, linesAtOnce);
        return batch.map(({ members }) => members);
      });
      try {
        if (!await settlesWithin(patienceMs, appended)) {
          fail(new AppError("unavailable", `Cannot write ${file}: the file system takes too long`));
        }
        await appended;
      } catch (error) {
        fail(error);
        retry = setTimeout(write, retryMs);
        Deno.unrefTimer(retry);
        break;
      }
      noteWritten(batch);
    } while (waiting.length > 0);
    // at once: who records in the next moment finds nobody writing
    writing = undefined;
  }

  function noteWritten(batch: readonly WaitingLine[]): void {
    waiting.splice(0, batch.length);
    counts.written += batch.length;
    if (failing) logger.info(`The audit trail ${file} can be written again`, { lost: lostUnnoted });
    failing = false;
    if (lostUnnoted > 0) {
      const members = { time: new Date(now()).toISOString(), event: "lost", count: lostUnnoted };
      waiting.push({ members, told: () => {} });
    }
    lostUnnoted = 0;
    for (const { told } of batch) told(true);
  }

  /** Nobody waits any longer for lines that cannot be written now. */
  function fail(error: unknown): void {
    counts.failedWrites++;
    if (!failing) {
      const reason = error instanceof AppError ? error.message : `Cannot write ${file}: an unexpected fault`;
      const effect = required ? "calls are refused" : "audit events wait in memory";
      logger.error(`${reason}; ${effect}`, { waiting: waiting.length });
      if (!(error instanceof AppError)) logger.debug("Cannot write the audit trail", { error });
    }
    failing = true;
    for (const { told } of waiting) told(false);
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
    await appender.close();
  }

  /**
   * Takes an event.
   * @returns once its line is in the file, or cannot be there now: whether it is. With `required` the disk has it then
   */
  function record(event: AuditEvent): Promise<boolean> {
    if (closed || waiting.length >= maxWaiting) {
      counts.lost++;
      lostUnnoted++;
      return Promise.resolve(false);
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    waiting.push({ members: membersOf(event, { nowMs: now(), texts }), told: resolve });
    if (failing) resolve(false);
    else write();
    return promise;
  }

  return {
    record,
    /** Refuses a call that is to begin: with `required`, where its line could not be written. @throws AppError `overloaded` */
    admit(): void {
      if (required && failing) throw unwritable();
    },
    /** As `record`, for the call before its answer. @throws AppError `overloaded` where it must not be answered */
    async recordCall(event: AuditEvent): Promise<void> {
      if (!await record(event) && required) throw unwritable();
    },
    /** Ends when everything recorded so far is in the file, or an attempt to write it has failed. */
    flush: write,
    /** Events that were written, wait and were given up, and attempts to write that failed. */
    counts: () => ({ ...counts, waiting: waiting.length }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** How long a file system may take before calls are answered, or refused, without it. */
const patienceMs = 5000;

function unwritable(): AppError {
  const data = { retryAfterSeconds: 1 };
  return new AppError("overloaded", "Cannot run the call: the audit trail cannot be written now", { data });
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
  "method",
  "resource",
  "prompt",
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
