import { AppError } from "../core/app_error.ts";
import type { ServedBy } from "../core/metrics/server_metrics.ts";
import type { Principal } from "../core/principal.ts";
import { type Access, accessTo } from "./access_rules.ts";
import type { Authenticator } from "./authenticator.ts";
import type { Login } from "./login.ts";

/** How a server tells callers apart, and what it asks of all of them. */
export interface Authentication {
  readonly authenticator: Authenticator;
  /** Optional: none where nobody can log in with a password. */
  readonly login?: Login;
  /** Ends a session, by its id. Optional: none where nobody can log out. */
  readonly endSession?: (id: string) => Promise<void>;
  /** Optional: tells what tokens of the built-in authorization server need. */
  readonly server?: ServedBy;
  /** Scopes that every request needs whose caller's token of an issuer is bound to scopes. */
  readonly requiredScopes?: readonly string[];
  /** Told of a request that was refused for its token. */
  readonly onRefusal?: (address: string) => void;
}

/** A session that its user ended. */
export interface LogoutReport {
  readonly session: Principal;
  /** The client's. */
  readonly address: string;
  readonly requestId: string;
}

export type Admission =
  | { readonly kind: "admitted"; readonly principal: Principal }
  /** No token, or one that is good for nothing: none of these cases may be told apart. */
  | { readonly kind: "unauthorized" }
  | Extract<Access, { readonly kind: "insufficient_scope" }>
  /** It cannot be told now whether the token is good, since an issuer does not tell; `message` is for the caller. */
  | { readonly kind: "unavailable"; readonly message: string; readonly retryAfterSeconds: number };

const unauthorized: Admission = { kind: "unauthorized" };

/**
 * Tells from a request's `Authorization` header whether a server lets its caller in.
 *
 * @param addressOf the client's address
 */
export async function admit(
  { authenticator, server = "tool_server", requiredScopes = [] }: Authentication,
  authorizationHeader: string | null,
  addressOf: () => string,
): Promise<Admission> {
  let principal: Principal | undefined;
  try {
    principal = await authenticator.authenticate(authorizationHeader, addressOf);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { message, data: { retryAfterSeconds } = {} } = error;
    if (typeof retryAfterSeconds !== "number") throw error;
    return { kind: "unavailable", message, retryAfterSeconds };
  }
  if (principal === undefined) return unauthorized;
  const access = accessTo(principal, { kind: "server", name: server, scopes: requiredScopes });
  return access.kind === "insufficient_scope" ? access : { kind: "admitted", principal };
}

/**
 * The value of `WWW-Authenticate` (RFC 6750, section 3).
 *
 * @param scopes what the token lacks some of, where it is good for something
 */
export function bearerChallenge(scopes?: readonly string[]): string {
  return scopes === undefined ? "Bearer" : `Bearer error="insufficient_scope", scope="${scopes.join(" ")}"`;
}
