import { type AddressBlock, canonicalIpAddress, isInBlocks } from "../core/address.ts";
import { defined } from "../core/defined.ts";
import { createLatestByText } from "../core/latest_by_text.ts";
import type { Principal } from "../core/principal.ts";
import { isJwt } from "./issuer/unverified_token.ts";
import { isSessionToken, type PresentedToken, presentToken, tokenPrefix } from "./presented_token.ts";
import type { TokenRecord } from "./tokens/token_file.ts";
import type { ReadLimits } from "./tokens/limited_tokens.ts";

/** Where the API tokens of the moment are found; a reload may change them between two calls. */
interface TokenSource {
  readonly find: Find<FoundToken | undefined>;
}

type FoundToken = Pick<TokenRecord, "id" | "database" | keyof ReadLimits>;

/** Who calls with an API token. */
export function principalOfToken({ id, database, limits }: FoundToken): Principal {
  return { kind: "token", id, ...(database === null ? {} : { database }), ...defined({ limits }) };
}

/** Where the sessions of the moment are found. */
interface SessionSource {
  readonly find: Find<Session | undefined>;
  /** Optional: learns of those that began at other processes. */
  learn?(): Promise<void>;
}

/** Where the grants of the moment are found. */
interface GrantSource {
  readonly find: Find<GrantCaller | undefined | Promise<GrantCaller | undefined>>;
}

type Find<Found> = (presented: PresentedToken | undefined, nowMs: number) => Found;

type FoundCaller = Principal | undefined | Promise<Principal | undefined>;

/** A user's session as others see it. */
export type Session = Omit<Extract<Principal, { kind: "session" }>, "kind">;

/** Whom a grant lets in: the user of an account, or a person of an issuer. */
export type GrantCaller = Session | Extract<Principal, { kind: "issuer" }>;

/** Tells who is calling from a request's `Authorization` header. */
export interface Authenticator {
  /**
   * Undefined whatever is wrong: nothing, another scheme, an unknown or an expired token.
   *
   * @param addressOf the client's address
   * @throws {AppError} `unavailable`, with `retryAfterSeconds`, where it cannot be told now
   */
  authenticate(authorizationHeader: string | null, addressOf: () => string): FoundCaller;
}

/** Knows API tokens, sessions, and access tokens of the built-in authorization server; each only where it is given. */
export function createAuthenticator(
  options: {
    tokens?: TokenSource;
    sessions?: SessionSource;
    grants?: GrantSource;
    /** Told of each request with a token that may not come from the client's address. */
    onOtherNetwork?: (tokenId: string, address: string) => void;
    now: () => number;
  },
) {
  const { tokens, sessions, grants, onOtherNetwork, now } = options;
  const known = createLatestByText<PresentedToken>({ maxBytes: maxKnownBytes });

  /** @param text the token where it was not known before: what has just begun elsewhere may have to be learnt */
  function principalOf(
    presented: PresentedToken,
    text: string | undefined,
    addressOf: (() => string) | undefined,
  ): FoundCaller {
    const time = now();
    // an API token and a session are always both looked up, so that the time does not tell the two apart
    const token = tokens?.find(presented, time);
    const login = sessions?.find(presented, time);
    if (token !== undefined) {
      const { id, networkBlocks } = token;
      if (networkBlocks !== undefined && addressOf !== undefined && !isFrom(addressOf(), networkBlocks)) {
        onOtherNetwork?.(id, addressOf());
        return undefined;
      }
      return principalOfToken(token);
    }
    if (login !== undefined) return principalOfSession(login);
    if (text !== undefined && sessions?.learn !== undefined && isSessionToken(text)) {
      return sessions.learn().then(() => principalOfSession(sessions.find(presented, time)));
    }
    if (text?.startsWith(tokenPrefix) === false) return undefined;
    // access tokens may have to be looked up in the state: it is asked last, and about what is neither of the two
    const session = grants?.find(presented, time);
    return session instanceof Promise ? session.then(principalOfSession) : principalOfSession(session);
  }

  return {
    /** @param addressOf the client's address. Optional: without it a token counts from everywhere */
    authenticate(authorizationHeader: string | null, addressOf?: () => string): FoundCaller {
      if (authorizationHeader === null) return undefined;
      const before = known.get(authorizationHeader);
      const text = before === undefined ? bearerToken(authorizationHeader) ?? "" : undefined;
      const presented = before ?? presentToken(text ?? "");
      if (presented === undefined) return undefined;
      const remember = (principal: Principal | undefined) => {
        if (principal === undefined) known.delete(authorizationHeader);
        else if (before === undefined) known.set(authorizationHeader, presented, digestBytes);
        return principal;
      };
      const principal = principalOf(presented, text, addressOf);
      return principal instanceof Promise ? principal.then(remember) : remember(principal);
    },
  };
}

function isFrom(address: string, blocks: readonly AddressBlock[]): boolean {
  const canonical = canonicalIpAddress(address);
  return canonical !== undefined && isInBlocks(canonical, blocks);
}

function principalOfSession(session: GrantCaller | undefined): Principal | undefined {
  return session && ("kind" in session ? session : { kind: "session", ...session });
}

/**
 * Of headers that let a caller in, with the digests of their tokens: to make one takes as long as all else about a short
 * request. What a token is good for is looked up each time: one that has ended is refused from then on, and its header is
 * forgotten. No other header is remembered, so how long an answer takes tells nothing of them.
 */
const maxKnownBytes = 1_048_576;
/** About as much as the engine needs for one. */
const digestBytes = 400;

/**
 * Lets in with the access tokens of an issuer too. Only what nobody here knows gets as far as that, and nothing of the form
 * of Postern's tokens or of a session, which may be another process's: the issuer is asked about tokens that are no JWT, and
 * must not learn one that lets somebody in.
 *
 * @param isOurs whether the token of a header is one of another server's, or of a kind that this server does not take
 */
export function withIssuer(
  own: ReturnType<typeof createAuthenticator>,
  issuer: {
    authenticate(token: string, addressOf: () => string): FoundCaller;
  },
  isOurs: (authorizationHeader: string) => boolean,
): Authenticator {
  return {
    authenticate(authorizationHeader, addressOf) {
      const principal = own.authenticate(authorizationHeader, addressOf);
      // a promise too: what is looked up elsewhere has the form of a token of ours
      if (principal !== undefined || authorizationHeader === null) return principal;
      const token = bearerToken(authorizationHeader);
      if (token === undefined || token.startsWith(tokenPrefix) || isSessionToken(token)) return undefined;
      return !isJwt(token) && isOurs(authorizationHeader) ? undefined : issuer.authenticate(token, addressOf);
    },
  };
}

// RFC 6750 section 2.1, with the scheme in any case (RFC 9110 section 11.1) and one space
function bearerToken(header: string): string | undefined {
  return /^bearer ([^\s,]+)$/i.exec(header)?.[1];
}
