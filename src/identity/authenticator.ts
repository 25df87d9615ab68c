import type { Principal } from "../core/principal.ts";
import type { Session } from "./sessions.ts";
import { type PresentedToken, presentToken } from "./tokens/token_digest.ts";
import type { TokenRecord } from "./tokens/token_file.ts";

/** Where the tokens of the moment are found; a reload may change them between two calls. */
export interface TokenSource {
  find(presented: PresentedToken | undefined, nowMs: number): TokenRecord | undefined;
}

/** Where the sessions of the moment are found. */
export interface SessionSource {
  find(presented: PresentedToken | undefined, nowMs: number): Session | undefined;
}

/** Tells who is calling from a request's `Authorization` header. */
export interface Authenticator {
  /** Undefined for every kind of failure alike: nothing, another scheme, an unknown or an expired token. */
  authenticate(authorizationHeader: string | null): Principal | undefined;
}

/** Without sessions only API tokens let a caller in. */
export function createAuthenticator(
  options: { tokens: TokenSource; sessions?: SessionSource; now: () => number },
): Authenticator {
  const { tokens, sessions, now } = options;
  return {
    authenticate(authorizationHeader) {
      const bearer = bearerToken(authorizationHeader);
      const presented = bearer === undefined ? undefined : presentToken(bearer);
      if (presented === undefined) return undefined;
      const time = now();
      // both are always looked up, so that the time does not tell which kind a token is of
      const token = tokens.find(presented, time);
      const session = sessions?.find(presented, time);
      return token !== undefined ? tokenPrincipal(token) : session && sessionPrincipal(session);
    },
  };
}

function tokenPrincipal({ id, database }: TokenRecord): Principal {
  return { kind: "token", id, ...(database === null ? {} : { database }) };
}

function sessionPrincipal(session: Session): Principal {
  return { kind: "session", ...session };
}

// RFC 6750 section 2.1, with the scheme in any case (RFC 9110 section 11.1) and one space
function bearerToken(header: string | null): string | undefined {
  return /^bearer ([^\s,]+)$/i.exec(header ?? "")?.[1];
}
