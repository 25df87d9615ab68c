import { AppError } from "../../core/app_error.ts";
import { isTimeout } from "../../core/async/deadline.ts";
import { LoginError, pg } from "../connection.ts";
import type { DatabaseOptions } from "../database_options.ts";
import { PasswordMissing } from "./passwords.ts";
import { TlsError } from "./tls.ts";

/** Why one attempt at one address came to nothing. */
export interface AttemptError {
  /**
   * `network`: nothing answered as a PostgreSQL server would; `tls`: no encryption of the kind asked for; `login`:
   * the server refused; `session`: it is not one of the kind asked for.
   */
  readonly stage: "network" | "tls" | "login" | "session";
  /** Fit for a caller: no address and no secret. */
  readonly reason: string;
  /** The server's own, where it answered. */
  readonly sqlState?: string;
  /** Whether the server had taken the credentials. */
  readonly isAuthenticated: boolean;
  readonly cause: unknown;
}

/** The SQLSTATE too_many_connections, whatever has the limit: the role, the database or the server. */
const tooManyConnections = "53300";

/** The same in the words of poolers, which have other SQLSTATEs for it: PgBouncer and Supavisor. */
const noMoreClients = /no more connections allowed|max (?:client connections|clients) reached/i;

/** After so long it may be tried again where a server has no room. */
const retryAfterSeconds = 1;

/** PostgreSQL is starting up, shutting down or recovering: another host may serve. */
export const cannotConnectNow = "57P03";

const networkReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "it closed the connection",
  EPIPE: "it closed the connection",
  EHOSTUNREACH: "no route to its host",
  ENETUNREACH: "no route to its host",
  ENOTFOUND: "its host name does not resolve",
  EAI_AGAIN: "its host name does not resolve",
  ENOENT: "it has no socket there",
  EACCES: "no permission to use its socket",
  EPROTO: "it does not keep to PostgreSQL's protocol",
  ETIMEDOUT: "no answer in time",
};

/** Why a server that was reached does not let a role in. `doctor/database_checks` says what mends each. */
export type LoginRefusal =
  | "no_password"
  | "wrong_password"
  | "no_role"
  | "no_login"
  | "no_host_rule"
  | "other_method"
  | "no_database"
  | "no_connect_right";

/** What the `cause` of a connect error says; undefined where it was something else than the role and its rights. */
export function loginRefusal(cause: unknown): LoginRefusal | undefined {
  if (cause instanceof PasswordMissing) return "no_password";
  if (!(cause instanceof pg.DatabaseError)) return undefined;
  const { code = "", routine, message } = cause;
  if (code !== "28000") return Object.hasOwn(refusalStates, code) ? refusalStates[code] : undefined;
  // messages may be in another language, names of PostgreSQL's functions are not
  if (routine === "InitializeSessionUserId") return /not permitted/.test(message) ? "no_login" : "no_role";
  return routine === "auth_failed" ? "other_method" : "no_host_rule";
}

const refusalStates: Readonly<Record<string, LoginRefusal>> = {
  "28P01": "wrong_password",
  "3D000": "no_database",
  "42501": "no_connect_right",
};

/** The one error for all attempts of a connect, in order: a refused login says more than what came before it. */
export function connectError({ name, user }: DatabaseOptions, errors: readonly AttemptError[]): AppError {
  const decisive = errors.find((error) => error.stage === "login") ?? errors.at(-1);
  const { sqlState, cause } = decisive ?? {};
  const state = sqlState !== undefined && { sqlState };
  const unavailable = (message: string) =>
    new AppError("unavailable", message, { cause, ...(state && { data: state }) });
  if (decisive !== undefined && isShortage(decisive)) {
    return new AppError(
      "unavailable",
      `Cannot reach database "${name}": its server takes no more connections (${decisive.reason}); try again later, ` +
        `or ask the operator to raise the CONNECTION LIMIT of role "${user}" or the server's max_connections`,
      { cause, data: { ...state, retryAfterSeconds } },
    );
  }
  const refusal = loginRefusal(cause);
  if (refusal !== undefined) {
    // the server's texts of these two hold this program's address, or say less
    const reason = refusal === "wrong_password"
      ? `the server refused the credentials of role "${user}"`
      : refusal === "no_host_rule"
      ? `the server does not admit role "${user}" from here`
      : decisive?.reason;
    return unavailable(`Cannot log in to database "${name}": ${reason}`);
  }
  const reasons = [...new Set(errors.map((error) => error.reason))].join("; ");
  // a restart takes seconds
  const advice = sqlState === cannotConnectNow ? "; try again later" : "";
  return unavailable(`Cannot reach database "${name}": ${reasons}${advice}`);
}

function isShortage({ stage, sqlState, reason }: AttemptError): boolean {
  return stage === "login" && (sqlState === tooManyConnections || noMoreClients.test(reason));
}

/** What an error that was thrown in an attempt says of it. */
export function attemptError(error: unknown): AttemptError {
  if (error instanceof TlsError) {
    return { stage: "tls", reason: `TLS failed: ${error.message}`, isAuthenticated: false, cause: error };
  }
  const isAuthenticated = error instanceof LoginError && error.isAuthenticated;
  const cause = error instanceof LoginError ? error.cause : error;
  if (cause instanceof pg.DatabaseError && cause.code !== undefined) {
    return { stage: "login", reason: cause.message, sqlState: cause.code, isAuthenticated, cause };
  }
  if (error instanceof LoginError && isTlsMessage(cause)) {
    return { stage: "tls", reason: `TLS failed: ${cause.message}`, isAuthenticated, cause };
  }
  if (cause instanceof PasswordMissing || cause instanceof Error && cause.message.startsWith("SASL")) {
    return { stage: "login", reason: cause.message, isAuthenticated, cause };
  }
  return { stage: "network", reason: networkReason(cause), isAuthenticated, cause };
}

// node:tls of Deno before 2.9 reports a failed handshake on the first read of the stream
function isTlsMessage(cause: unknown): cause is Error {
  return cause instanceof Error &&
    /peer certificate|fatal alert|handshake|corrupt message/i.test(cause.message);
}

function networkReason(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (Object.hasOwn(networkReasons, code)) return networkReasons[code] ?? code;
  if (isTimeout(cause)) return "no answer in time";
  return code === "" ? "it closed the connection" : code;
}
