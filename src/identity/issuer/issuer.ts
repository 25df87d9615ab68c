import { defined } from "../../core/defined.ts";
import { errors, jwtVerify, type JWTVerifyGetKey } from "jose";
import { AppError } from "../../core/app_error.ts";
import { createLatestByText } from "../../core/latest_by_text.ts";
import type { Logger } from "../../core/logger.ts";
import type { Principal } from "../../core/principal.ts";
import type { AccountSource } from "../users/user_directory.ts";
import { fetchJson, IssuerStatus, IssuerUnreachable } from "./fetch_json.ts";
import { createIntrospection, type IntrospectionOptions } from "./introspection.ts";
import { createMetadata, type MetadataOptions } from "./issuer_metadata.ts";
import { createKeySet } from "./key_set.ts";
import { type ClaimNames, type IssuerPrincipal, principalOfClaims } from "./token_claims.ts";
import {
  type ExpectedToken,
  isJwt,
  payloadText,
  refuseUnverified,
  type TokenRefusal,
} from "./unverified_token.ts";
import { sha256 } from "../../core/text/sha256.ts";

export interface IssuerOptions extends ClaimNames, MetadataOptions, ExpectedToken {
  /** What a token's `aud` must hold. */
  readonly audience: string;
  /** Optional: none where opaque tokens let nobody in. */
  readonly introspection?:
    | (
      & NonNullable<MetadataOptions["introspection"]>
      & Pick<IntrospectionOptions, "clientId" | "clientSecretFile">
    )
    | undefined;
  /** The accounts whose rights a caller of the same name has. Optional: none where names are not trusted. */
  readonly accounts?: AccountSource | undefined;
  /** Told of each token that lets nobody in, and why; `unavailable` where that could not be found out. */
  readonly onRefusal: (reason: TokenRefusal | "unavailable") => void;
  /** Told of each request to the issuer. */
  readonly onRequest: (what: "keys" | "introspection", result: "ok" | "failed") => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds of a clock that does not go back. */
  readonly elapsedMs?: () => number;
  readonly logger: Logger;
}

/** The longest token, in characters: one with some hundred groups has less. */
const longestIssuerToken = 16_384;
/** By how much the issuer's clock and ours may differ. */
export const clockSkewSeconds = 30;
/** How long an introspection's answer holds; an active token's not beyond its end. */
const introspectedMs = 60_000;

const maxAcceptedBytes = 4 * 1024 * 1024;
const maxRefusedBytes = 1024 * 1024;
/** About as much as the engine needs for a principal, without its claims. */
const principalBytes = 600;
/** And for claims, by the character of their JSON: their text, and what was read of it, measured of common ones. */
const bytesOfClaimsCharacter = 3;

export type Issuer = ReturnType<typeof createIssuer>;

interface Accepted {
  readonly principal: IssuerPrincipal;
  readonly endsAt: number;
  /** What it takes in memory. */
  readonly bytes: number;
}

/**
 * Tells who calls with an access token of an issuer (OAuth 2.1, resource server). A token that was accepted is remembered
 * by its hash until it ends, or until the issuer's keys change.
 */
export function createIssuer(options: IssuerOptions) {
  const { issuer, audience, algorithms, now, logger, onRequest } = options;
  const accepted = createLatestByText<Accepted>({ maxBytes: maxAcceptedBytes });
  const refusedUntil = createLatestByText<number>({ maxBytes: maxRefusedBytes });
  const underWay = new Map<string, Promise<Accepted | TokenRefusal>>();
  const stop = new AbortController();
  // of the keys: what was verified with those of another one is not remembered
  let generation = 0;
  const clock = options.elapsedMs === undefined ? {} : { elapsedMs: options.elapsedMs };

  const metadata = createMetadata(options);
  const loadKeys = async (signal: AbortSignal) =>
    await fetchJson(await metadata.jwksUri.find(signal), signal);
  const keys = createKeySet({
    issuer,
    algorithms,
    async load(signal) {
      // an address that was left may still answer, with keys of that time
      metadata.jwksUri.mayHaveChanged();
      metadata.introspectionEndpoint.mayHaveChanged();
      return await loadKeys(signal);
    },
    onChanged() {
      generation++;
      accepted.clear();
    },
    onAttempt: (result) => onRequest("keys", result),
    logger,
    ...clock,
  });
  const introspection = options.introspection && createIntrospection({
    ...options.introspection,
    endpoint: metadata.introspectionEndpoint.find,
    onAnswer: (error) => {
      onRequest("introspection", error === undefined ? "ok" : "failed");
      if (error instanceof IssuerStatus && error.hasMoved) metadata.introspectionEndpoint.mayHaveChanged();
      if (error !== undefined) warnOfIntrospection(error);
    },
    ...clock,
  });
  const warnOfIntrospection = atMostEvery(
    60_000,
    (error: unknown) =>
      logger.warn("Cannot ask the issuer about tokens; they let nobody in until that succeeds", {
        issuer,
        error,
      }),
  );

  function remembered(hash: string): Accepted | undefined {
    const known = accepted.get(hash);
    if (known === undefined) return undefined;
    accepted.delete(hash);
    if (known.endsAt <= now()) return undefined;
    // what was used last is forgotten last
    accepted.set(hash, known, known.bytes);
    return known;
  }

  async function verify(token: string): Promise<Accepted | TokenRefusal> {
    const refusal = refuseUnverified(token, options);
    if (refusal !== undefined) return refusal;
    const verified = await verifySignature(token, keys.find);
    if (typeof verified === "string") return verified;
    return acceptClaims(verified, payloadText(token));
  }

  async function verifySignature(token: string, find: JWTVerifyGetKey) {
    try {
      const { payload } = await jwtVerify(token, find, {
        issuer,
        audience,
        algorithms: [...algorithms],
        requiredClaims: ["exp", "sub"],
        clockTolerance: clockSkewSeconds,
        currentDate: new Date(now()),
      });
      return payload;
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
      const refusal = refusalOf(error);
      if (refusal === "audience" && error instanceof errors.JWTClaimValidationFailed) {
        // the mistake that is made most, and by now the issuer is known to have written it
        logger.debug("A token is for another audience", {
          issuer,
          expected: audience,
          aud: error.payload.aud,
        });
      }
      return refusal;
    }
  }

  async function introspect(token: string, hash: string, address: string): Promise<Accepted | TokenRefusal> {
    const until = refusedUntil.get(hash);
    if (introspection === undefined) return "malformed";
    if (until !== undefined && until > now()) return "inactive";
    const claims = await introspection.ask(token, address, stop.signal);
    const result = claims === undefined ? "inactive" : acceptIntrospected(claims);
    if (typeof result === "string") {
      introspection.refused(address);
      refusedUntil.set(hash, now() + introspectedMs, 8);
    }
    return result;
  }

  /** The checks that `jwtVerify` makes of a JWT. */
  function acceptIntrospected(claims: Readonly<Record<string, unknown>>): Accepted | TokenRefusal {
    const { iss = issuer, aud, exp, nbf, token_type: type = "bearer" } = claims;
    const seconds = now() / 1_000;
    if (iss !== issuer) return "issuer";
    if (!/^(?:bearer|access_token)$/i.test(String(type))) return "type";
    if (![aud].flat().includes(audience)) return "audience";
    if (exp !== undefined && !(typeof exp === "number" && exp > seconds - clockSkewSeconds)) return "expired";
    if (nbf !== undefined && !(typeof nbf === "number" && nbf <= seconds + clockSkewSeconds)) {
      return "not_yet_valid";
    }
    const result = acceptClaims(claims, undefined, exp ?? Infinity);
    if (typeof result === "string") return result;
    return { ...result, endsAt: Math.min(result.endsAt, now() + introspectedMs) };
  }

  function acceptClaims(
    claims: Readonly<Record<string, unknown>>,
    claimsText?: string,
    exp = claims["exp"],
  ): Accepted | TokenRefusal {
    // bound to a key that its holder has to show (RFC 9449 section 7.1, RFC 8705 section 3)
    if (claims["cnf"] !== undefined) return "type";
    const principal = principalOfClaims(issuer, claims, options);
    if (principal === undefined) return "claims";
    const endsAt = (Number(exp) + clockSkewSeconds) * 1_000;
    return {
      principal: {
        ...principal,
        ...defined({ claimsText }),
        ...(endsAt < Infinity && { endsAt }),
      },
      endsAt,
      bytes: bytesOf(principal, claims),
    };
  }

  async function decide(
    token: string,
    hash: string,
    addressOf: () => string,
  ): Promise<Principal | undefined> {
    try {
      const result = await (underWay.get(hash) ?? start(token, hash, addressOf));
      return typeof result === "string" ? refuse(result) : withAccount(result.principal);
    } catch (error) {
      options.onRefusal("unavailable");
      throw unavailable(error);
    }
  }

  function start(token: string, hash: string, addressOf: () => string): Promise<Accepted | TokenRefusal> {
    const begun = generation;
    const started = isJwt(token) ? verify(token) : introspect(token, hash, addressOf());
    underWay.set(hash, started);
    started.then((result) => {
      if (typeof result !== "string" && begun === generation) accepted.set(hash, result, result.bytes);
    }).catch(() => {}).finally(() => underWay.delete(hash));
    return started;
  }

  function refuse(reason: TokenRefusal): undefined {
    options.onRefusal(reason);
    logger.debug("A token of the issuer lets nobody in", { issuer, reason });
    return undefined;
  }

  /** An account of the caller's name counts where names are trusted; one that is disabled or locked keeps them out. */
  function withAccount(principal: IssuerPrincipal): Principal | undefined {
    const { accounts } = options;
    const account = principal.name === undefined ? undefined : accounts?.find(principal.name);
    if (account === undefined) return principal;
    return account.enabled ? { ...principal, account: account.username } : refuse("account");
  }

  return {
    /**
     * Who calls with a token; undefined where it lets nobody in.
     *
     * @param addressOf the caller's address
     * @throws {AppError} `unavailable`, with `retryAfterSeconds`, where that cannot be told now
     */
    authenticate(
      token: string,
      addressOf: () => string,
    ): Principal | undefined | Promise<Principal | undefined> {
      if (token.length > longestIssuerToken) return refuse("malformed");
      const hash = sha256(token);
      const known = remembered(hash);
      return known === undefined ? decide(token, hash, addressOf) : withAccount(known.principal);
    },
    /** The issuer's URL. */
    name: issuer,
    /** Asks the issuer for its keys, which stay as they are. @throws where it cannot be reached */
    ping: async (signal: AbortSignal): Promise<void> => {
      await loadKeys(AbortSignal.any([signal, stop.signal]));
    },
    async [Symbol.asyncDispose](): Promise<void> {
      stop.abort();
      await keys[Symbol.asyncDispose]();
    },
  };
}

function atMostEvery<T>(ms: number, tell: (what: T) => void): (what: T) => void {
  let toldAt = -Infinity;
  return (what) => {
    if (performance.now() - toldAt < ms) return;
    toldAt = performance.now();
    tell(what);
  };
}

function bytesOf({ subject, name = "", groups, scopes = [] }: IssuerPrincipal, claims: unknown): number {
  const texts = [subject, name, ...groups, ...scopes];
  const ofClaims = bytesOfClaimsCharacter * JSON.stringify(claims).length;
  return texts.reduce((bytes, text) => bytes + 32 + 2 * text.length, principalBytes + ofClaims);
}

function refusalOf(error: errors.JOSEError): TokenRefusal {
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "signature";
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return "key";
  }
  if (!(error instanceof errors.JWTClaimValidationFailed)) return "malformed";
  const { claim } = error;
  return claim === "aud" ? "audience" : claim === "nbf" ? "not_yet_valid" : "claims";
}

function unavailable(error: unknown): AppError {
  if (error instanceof AppError && typeof error.data?.["retryAfterSeconds"] === "number") return error;
  // what it refused, or what Postern lacks, is the operator's to know: the log has it
  const reason = error instanceof IssuerUnreachable
    ? "the identity provider does not answer"
    : "the identity provider could not be asked; the server's log says why";
  return new AppError("unavailable", `Cannot tell who is calling: ${reason}`, {
    cause: error,
    data: { retryAfterSeconds: 5 },
  });
}
