import type { Principal } from "../core/principal.ts";
import { type PresentedToken, presentToken } from "./presented_token.ts";

/** Where the API tokens of the moment are found; a reload may change them between two calls. */
export interface TokenSource {
  find(
    presented: PresentedToken | undefined,
    nowMs: number,
  ): { readonly id: string; readonly database: string | null } | undefined;
}

/** Where the sessions of the moment are found. */
export interface SessionSource {
  find(presented: PresentedToken | undefined, nowMs: number): Session | undefined;
}

/** A user's session as others see it. */
export type Session = Omit<Extract<Principal, { kind: "session" }>, "kind">;

/** Tells who is calling from a request's `Authorization` header. */
export type Authenticator = ReturnType<typeof createAuthenticator>;

/** Without sessions only API tokens let a caller in. */
export function createAuthenticator(
  options: { tokens: TokenSource; sessions?: SessionSource; now: () => number },
) {
  const { tokens, sessions, now } = options;
  return {
    /** Undefined whatever is wrong: nothing, another scheme, an unknown or an expired token. */
    authenticate(authorizationHeader: string | null): Principal | undefined {
      const bearer = bearerToken(authorizationHeader);
      const presented = bearer === undefined ? undefined : presentToken(bearer);
      if (presented === undefined) return undefined;
      const time = now();
      // both are always looked up, so that the time does not tell which kind a token is of
      const token = tokens.find(presented, time);
      const session = sessions?.find(presented, time);
      if (token === undefined) return session && { kind: "session", ...session };
      const { id, database } = token;
      return { kind: "token", id, ...(database === null ? {} : { database }) };
    },
  };
}

// RFC 6750 section 2.1, with the scheme in any case (RFC 9110 section 11.1) and one space
function bearerToken(header: string | null): string | undefined {
  return /^bearer ([^\s,]+)$/i.exec(header ?? "")?.[1];
}
