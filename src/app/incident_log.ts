import type { LoginReport } from "../identity/login.ts";
import { addressGroup } from "../identity/rate_limiter.ts";
import type { LogFields, Logger, LogLevel } from "../core/logger.ts";
import { principalName } from "../core/principal.ts";
import type { CallReport } from "../tool_server/tools/registry.ts";
import { createTally, type Tally } from "./tally.ts";

/**
 * What an operator wants to see of a server that runs: requests and logins that were refused, and statements that failed.
 * Callers decide how many there are, so each kind gets one line per address and minute, and a bounded number a minute of
 * all together. No line holds a statement, a token or a name that a caller made up.
 */
export interface IncidentLog extends Disposable {
  /** A request was refused for its token. */
  refused(address: string): void;
  loggedIn(report: LoginReport): void;
  called(report: CallReport): void;
}

interface Incident {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
  readonly logger: Logger;
}

/** Addresses, and of statements kinds of failure, that get lines of their own within a minute. */
const maxKeys = 50;
const others = "others";

export function createIncidentLog(logger: Logger): IncidentLog {
  const tallies = { refusals: tallyOf(), logins: tallyOf(), calls: tallyOf() };

  function addressed(tally: Tally<Incident>, address: string, level: LogLevel, message: string, fields = {}) {
    const group = addressGroup(address);
    tally.add(`${message} ${group}`, { level, message, fields: { address: group, ...fields }, logger });
  }

  return {
    refused: (address) =>
      addressed(tallies.refusals, address, "info", "A request was refused: it has no valid token"),

    loggedIn({ result, address, username, reason }) {
      if (result === "success") return;
      // who mistypes may have written a password in the place of the name
      const user = reason === "unknown_user" || reason === undefined ? {} : { user: username };
      addressed(tallies.logins, address, "warn", loginMessages[result], { ...user, reason });
    },

    called({ tool, context, error, elapsedMs }) {
      // of a database that is gone the log tells once, and not for each call
      if (error === undefined || error.kind === "cancelled" || error.kind === "unavailable") return;
      const { address, principal, logger: ofRequest } = context;
      const caller = { address: address && addressGroup(address), principal: principalName(principal) };
      const what = { database: error.database, sqlstate: error.sqlState, outcome: error.kind };
      tallies.calls.add(JSON.stringify([caller, what]), {
        level: isServersOwn(error) ? "warn" : "info",
        message: messageOf(error),
        fields: { tool, ...what, ...caller, elapsed_ms: Math.round(elapsedMs) },
        logger: ofRequest,
      });
    },

    [Symbol.dispose]() {
      for (const tally of Object.values(tallies)) tally[Symbol.dispose]();
    },
  };
}

function tallyOf(): Tally<Incident> {
  return createTally<Incident>({
    maxKeys,
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

const loginMessages: Readonly<Record<Exclude<LoginReport["result"], "success">, string>> = {
  failed: "A login failed",
  rate_limited: "Logins of an address are refused: too many of them failed",
  busy: "Logins are refused: too many of them wait",
};

type CallError = NonNullable<CallReport["error"]>;

function messageOf({ kind }: CallError): string {
  return kind === "refused" ? "A statement was refused" : "A statement failed";
}

/** Not a mistake in the statement: a timeout, or the classes of SQLSTATE that tell of the server's state. */
function isServersOwn({ kind, sqlState = "" }: CallError): boolean {
  return kind === "timeout" || /^(08|25|53|54|57|58|F0|XX)/.test(sqlState);
}
