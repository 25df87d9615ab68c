import { AppError } from "../../core/app_error.ts";
import { LoginError, pg } from "../connection.ts";
import type { DatabaseOptions } from "../database_options.ts";
import { isTimeout } from "../../core/async/deadline.ts";
import { TlsError } from "./start_tls.ts";

/** Why one attempt at one address failed. */
export interface ConnectFailure {
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
  ETIMEDOUT: "no answer in time",
};

/** The failure that an error of an attempt stands for. */
export function connectFailure(error: unknown): ConnectFailure {
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

/** The server asked for a password that nobody configured. */
export class PasswordMissing extends Error {
  override readonly name = "PasswordMissing";
  constructor(user: string) {
    super(`the server asks for a password and there is none for role "${user}"`);
  }
}

/** The one error for all attempts of a connect, in order: a refused login says more than what came before it. */
export function connectError(options: DatabaseOptions, failures: readonly ConnectFailure[]): AppError {
  const { name, user } = options;
  const decisive = failures.find((failure) => failure.stage === "login") ?? failures.at(-1);
  const { sqlState, cause } = decisive ?? {};
  const details = { cause, ...(sqlState !== undefined && { data: { sqlState } }) };
  if (sqlState === "28P01") {
    const reason = `the server refused the credentials of role "${user}"`;
    return new AppError("unavailable", `Cannot log in to database "${name}": ${reason}`, details);
  }
  if (sqlState === "28000") {
    // the server's text holds this program's address
    const reason = `the server does not admit role "${user}" from here`;
    return new AppError("unavailable", `Cannot log in to database "${name}": ${reason}`, details);
  }
  const reasons = [...new Set(failures.map((failure) => failure.reason))].join("; ");
  return new AppError("unavailable", `Cannot reach database "${name}": ${reasons}`, details);
}
