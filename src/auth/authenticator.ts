import type { Principal } from "../core/principal.ts";
import type { TokenRecord } from "./token_file.ts";

/** Where the tokens of the moment are found; a reload may change them between two calls. */
export interface TokenSource {
  find(token: string, nowMs: number): TokenRecord | undefined;
}

/** Tells who is calling from a request's `Authorization` header. */
export interface Authenticator {
  /** Undefined for every kind of failure alike: nothing, another scheme, an unknown or an expired token. */
  authenticate(authorizationHeader: string | null): Principal | undefined;
}

export function createAuthenticator(options: { tokens: TokenSource; now: () => number }): Authenticator {
  const { tokens, now } = options;
  return {
    authenticate(authorizationHeader) {
      const token = bearerToken(authorizationHeader);
      const record = token === undefined ? undefined : tokens.find(token, now());
      if (record === undefined) return undefined;
      return {
        kind: "token",
        id: record.id,
        ...(record.database === null ? {} : { database: record.database }),
      };
    },
  };
}

// RFC 6750 section 2.1, with the scheme in any case (RFC 9110 section 11.1) and one space
function bearerToken(header: string | null): string | undefined {
  return /^bearer ([^\s,]+)$/i.exec(header ?? "")?.[1];
}
