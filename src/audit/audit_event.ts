import { redactText } from "../core/redact.ts";

/** Something that the audit trail keeps. No field takes a statement's text, a password or a token. */
export interface AuditEvent {
  readonly event: "login" | "refusal" | "lockout" | "reload" | "administrator" | "tool_call";
  /** `ok`, or in a word or two how it ended otherwise. */
  readonly outcome: string;
  /** Who called, as principalKey() names them. */
  readonly principal?: string;
  /** The username that was given or concerned; it need not exist. */
  readonly user?: string;
  /** The client's address, behind proxies too. */
  readonly address?: string;
  readonly tool?: string;
  readonly database?: string;
  /** Stands for a statement: equal for equal statements, and not to be turned back into one. */
  readonly fingerprint?: string;
  /** SQLSTATE of a statement that PostgreSQL refused or ended. */
  readonly sqlstate?: string;
  readonly rows?: number;
  readonly elapsed_ms?: number;
  /** An administrator's operation, such as `add-user`. */
  readonly operation?: string;
  /** The file that was reloaded or changed. */
  readonly file?: string;
  /** Why it was refused or failed, in a few words of ours. */
  readonly reason?: string;
  /** The request's id in the log. */
  readonly request?: string;
}

/** What a line of the trail holds besides its place in the chain: the members of a JSON object, without the braces. */
export type LineMembers = string;

/**
 * An event's members, with texts cut at 500 characters and the reason redacted. Members that AuditEvent does not name are
 * left out.
 */
export function membersOf(event: AuditEvent, nowMs: number): LineMembers {
  const members: Record<string, string | number> = { time: new Date(nowMs).toISOString() };
  for (const name of memberNames) {
    const value = event[name];
    if (value === undefined) continue;
    members[name] = typeof value === "number" ? value : cut(name === "reason" ? redactText(value) : value);
  }
  return toMembers(members);
}

/** The members of a record that the trail makes about itself. */
export function noteMembers(
  event: "rotation" | "recovery" | "lost",
  nowMs: number,
  facts: Readonly<Record<string, string | number>> = {},
): LineMembers {
  return toMembers({ time: new Date(nowMs).toISOString(), event, ...facts });
}

const memberNames = [
  "event",
  "outcome",
  "principal",
  "user",
  "address",
  "tool",
  "database",
  "fingerprint",
  "sqlstate",
  "rows",
  "elapsed_ms",
  "operation",
  "file",
  "reason",
  "request",
] as const satisfies readonly (keyof AuditEvent)[];

const longestText = 500;

function cut(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text;
}

function toMembers(record: Readonly<Record<string, string | number>>): LineMembers {
  return JSON.stringify(record).slice(1, -1);
}
