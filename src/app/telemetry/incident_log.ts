import type { AuditTrail } from "../../audit/audit_trail.ts";
import type { CallContext, CallIncident } from "../../calls/calls.ts";
import type { LogFields, Logger, LogLevel } from "../../core/logger.ts";
import { accountOf, callerKey, principalKey } from "../../core/principal.ts";
import type { LoginReport } from "../../identity/login.ts";
import { addressGroup } from "../../identity/rate_limiter.ts";
import type { IdentityRefusal } from "../../rag_server/api/rag_errors.ts";

interface Incident {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
  readonly logger: Logger;
}

/** Addresses, or kinds of error of statements, that get lines of their own within a minute. */
const maxLogKeys = 50;
/** Addresses that get records of their own in the audit trail within a minute, by the kind of refusal. */
const maxAuditedAddresses = 1_000;

export type IncidentLog = ReturnType<typeof createIncidentLog>;

/**
 * What an operator wants to see of a running server: requests and logins that were refused, and statements that failed.
 * Callers decide how many there are, so each kind gets one line per address and minute, and a bounded number of lines a
 * minute in all. No line holds a statement, a token or a name that a caller made up.
 * @param audit gets a record of each refused request, counted in the same way
 */
export function createIncidentLog(logger: Logger, audit?: Pick<AuditTrail, "record">) {
  const counts = { refusals: countForLog(), logins: countForLog(), calls: countForLog() };
  const audited = audit && {
    unauthorized: countForAudit(audit, "unauthorized"),
    required: countForAudit(audit, "no_identity"),
    malformed: countForAudit(audit, "malformed_identity"),
    untrusted: countForAudit(audit, "untrusted_peer"),
    role: countForAudit(audit, "role_not_allowed"),
    network: countForAudit(audit, "token_of_other_network"),
  } satisfies Readonly<Record<Refusal | "network", unknown>>;

  function addressed(
    count: EventCounts<Incident>,
    address: string,
    level: LogLevel,
    message: string,
    fields = {},
  ): void {
    const group = addressGroup(address);
    count.add(`${message} ${group}`, { level, message, fields: { address: group, ...fields }, logger });
  }

  return {
    /** A request was refused because it does not say who calls, or nobody may believe it. */
    refused(address: string, refusal: Refusal = "unauthorized"): void {
      const { level, why } = refusals[refusal];
      addressed(counts.refusals, address, level, `A request was refused: ${why}`);
      audited?.[refusal].add(address);
    },

    /** A token was refused for where it came from. Its caller is told nothing of that. */
    fromOtherNetwork(tokenId: string, address: string): void {
      const message = "A token was refused: it may not come from this network";
      const principal = `token:${tokenId}`;
      addressed(counts.refusals, address, "warn", message, { principal });
      audited?.network.add(address, principal);
    },

    loggedIn({ result, address, username, reason }: LoginReport): void {
      if (result === "success") return;
      // someone who mistypes may have written a password in place of the name
      const user = reason === "unknown_user" || reason === undefined ? {} : { user: username };
      addressed(counts.logins, address, "warn", loginMessages[result], { ...user, reason });
    },

    called(incident: CallIncident, context: CallContext, elapsedMs: number): void {
      const { tool, kind, database, sqlState } = incident;
      // that a database cannot be reached is logged once elsewhere, and not for each call
      if (kind === "cancelled" || kind === "unavailable") return;
      const { address, principal, logger: ofRequest } = context;
      // as the access log and the audit trail name them
      const caller = {
        address: address && addressGroup(address),
        principal: principalKey(principal),
        user: accountOf(principal),
      };
      const what = { database, sqlstate: sqlState, outcome: kind };
      counts.calls.add(JSON.stringify([caller.address, callerKey(principal), what]), {
        level: isServersOwn(incident) ? "warn" : "info",
        message: messageOf(incident),
        fields: { tool, ...what, ...caller, elapsed_ms: Math.round(elapsedMs) },
        logger: ofRequest,
      });
    },

    [Symbol.dispose](): void {
      for (const count of Object.values(counts)) count[Symbol.dispose]();
      for (const count of Object.values(audited ?? {})) count[Symbol.dispose]();
    },
  };
}

/** Why a request was refused before it was read: for its token, or for the headers of a proxy that say who asks. */
type Refusal = "unauthorized" | IdentityRefusal;

const refusals: Readonly<Record<Refusal, { readonly level: LogLevel; readonly why: string }>> = {
  unauthorized: { level: "info", why: "it has no valid token" },
  required: { level: "info", why: "the proxy does not say who asks" },
  malformed: { level: "warn", why: "what the proxy says of who asks cannot be read" },
  untrusted: { level: "warn", why: "identity.trusted_proxies does not list where it came from" },
  role: { level: "info", why: "the claims name a role that identity.allowed_roles does not list" },
};

const loginMessages: Readonly<Record<Exclude<LoginReport["result"], "success">, string>> = {
  failed: "A login failed",
  unavailable: "Logins are refused: the state does not answer",
  rate_limited: "Logins from one address are refused: too many have failed",
  busy: "Logins are refused: too many are waiting",
};

function messageOf({ kind }: CallIncident): string {
  if (kind === "overloaded") return "A call was refused: there was no room for it";
  if (kind === "quota_exceeded") return "A call was refused: its caller has used up a limit";
  return kind === "refused" ? "A statement was refused" : "A statement failed";
}

/** Whether it is no mistake in the statement: a timeout, no room, a limit, or a class of SQLSTATE that tells of the server's state. */
function isServersOwn({ kind, sqlState = "" }: CallIncident): boolean {
  if (kind === "timeout" || kind === "overloaded" || kind === "quota_exceeded") return true;
  return /^(08|25|53|54|57|58|F0|XX)/.test(sqlState);
}

/** The key of everything beyond the lines that the log has room for. */
const others = "others";

function countForLog(): EventCounts<Incident> {
  return createEventCounts<Incident>({
    maxKeys: maxLogKeys,
    others,
    report({ key, event: { level, message, fields, logger }, count }) {
      const leftOut = count - 1;
      logger[level](message, {
        ...fields,
        ...(key === others ? { address: "others" } : {}),
        ...(leftOut === 0 ? {} : { left_out: leftOut }),
      });
    },
  });
}

/** Its events are principals, where they are known. */
function countForAudit(audit: Pick<AuditTrail, "record">, result: string): EventCounts<string | void> {
  return createEventCounts<string | void>({
    maxKeys: maxAuditedAddresses,
    others: "other addresses",
    report({ key, event, count, isRepeated }) {
      const principal = event === undefined ? {} : { principal: event };
      const detail = isRepeated ? { reason: `${count} more within a minute` } : {};
      audit.record({ event: "refusal", outcome: result, ...principal, address: key, ...detail });
    },
  });
}

/** What is known of the events of one key since the last report. */
interface CountReport<Event> {
  /** What the events have in common, or `others`. */
  readonly key: string;
  /** The latest. */
  readonly event: Event;
  /** Events that the report stands for. */
  readonly count: number;
  /** Whether there was a report of the same key within the minute before. */
  readonly isRepeated: boolean;
}

type EventCounts<Event> = ReturnType<typeof createEventCounts<Event>>;

interface CountOptions<Event> {
  readonly report: (report: CountReport<Event>) => void;
  /** How many keys have counts of their own; events of all other keys are counted together. */
  readonly maxKeys: number;
  /** The key of those. */
  readonly others: string;
  /** Milliseconds of a clock that does not go back. */
  readonly now?: () => number;
}

const windowMs = 60_000;
const sweepMs = 5_000;

interface Entry<Event> {
  event: Event;
  count: number;
  reportedAt: number;
}

/**
 * Counts events, so that whoever causes them does not decide how many reports there are. The first event of a key is reported
 * at once; those that follow are reported as one, a minute after the last report. Disposing of it reports what has not been
 * reported yet.
 */
export function createEventCounts<Event>(options: CountOptions<Event>) {
  const { report, maxKeys, others, now = () => performance.now() } = options;
  const entries = new Map<string, Entry<Event>>();

  function reportFollowing(key: string, entry: Entry<Event>): void {
    report({ key, event: entry.event, count: entry.count, isRepeated: true });
    entry.count = 0;
    entry.reportedAt = now();
  }

  function sweep(): void {
    for (const [key, entry] of entries) {
      if (now() - entry.reportedAt < windowMs) continue;
      if (entry.count > 0) reportFollowing(key, entry);
      else entries.delete(key);
    }
  }

  const timer = setInterval(sweep, sweepMs);
  Deno.unrefTimer(timer);
  return {
    add(own: string, event: Event): void {
      const key = entries.has(own) || entries.size < maxKeys ? own : others;
      const entry = entries.get(key);
      if (entry === undefined) {
        entries.set(key, { event, count: 0, reportedAt: now() });
        return report({ key, event, count: 1, isRepeated: false });
      }
      entry.event = event;
      entry.count++;
      if (now() - entry.reportedAt >= windowMs) reportFollowing(key, entry);
    },
    [Symbol.dispose](): void {
      clearInterval(timer);
      for (const [key, entry] of entries) if (entry.count > 0) reportFollowing(key, entry);
      entries.clear();
    },
  };
}
