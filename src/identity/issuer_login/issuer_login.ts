import { randomBytes } from "node:crypto";
import { createRemoteJWKSet, customFetch, jwtVerify, type JWTVerifyGetKey } from "jose";
import { AppError } from "../../core/app_error.ts";
import { isName } from "../../core/claims.ts";
import { isMap } from "../../core/yaml/value_tree.ts";
import { timeoutMs } from "../issuer/fetch_json.ts";
import { clockSkewSeconds } from "../issuer/issuer.ts";
import { tokenAlgorithms } from "../issuer/issuer_kinds.ts";
import { createMetadata } from "../issuer/issuer_metadata.ts";
import {
  boundedFetch,
  checksOf,
  createIssuerClient,
  type IssuerClientOptions,
  LoginRefused,
} from "./issuer_client.ts";
import { createIssuerLogins, type IssuerLoginsOptions } from "./issuer_logins.ts";

export interface IssuerLoginOptions extends IssuerClientOptions, IssuerLoginsOptions {
  /** What the login page calls the issuer. */
  readonly name: string;
}

/** Logging in at an issuer, in the place of a password of this server. */
export type IssuerLogin = ReturnType<typeof createIssuerLogin>;

/** Why somebody did not log in: the issuer's code, and what their user reads. */
export type FailedLogin = ReturnType<typeof failedLogin>;

/** A state begins with the interaction that it is of. */
const statePattern = /^([\w-]{10,64})\.[\w-]{43}$/;
/** The event that makes a token a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.4). */
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";
/** How old a logout token may be. */
const longestAgeSeconds = 600;

export function createIssuerLogin(options: IssuerLoginOptions) {
  const { issuer, clientId, name, logger } = options;
  const client = createIssuerClient(options);
  const logins = createIssuerLogins(client, options);
  const { jwksUri } = createMetadata({ issuer });
  let keys: JWTVerifyGetKey | undefined;

  function failed(error: unknown): FailedLogin {
    // where the state is away, the same request may do later
    if (!(error instanceof AppError) || error.data?.retryAfterSeconds !== undefined) throw error;
    logger.warn("A login at the issuer failed", { issuer, error });
    if (error instanceof LoginRefused) {
      return failedLogin(403, error.reason, `${name} did not let you in: ${error.reason}.`);
    }
    const message = `${name} cannot be asked, or its answer could not be used. The server's log says why.`;
    return failedLogin(502, "unavailable", message);
  }

  /** Unknown keys have them read again, at most twice a minute. */
  async function findKey(...of: Parameters<JWTVerifyGetKey>) {
    const fetching = { [customFetch]: boundedFetch, timeoutDuration: timeoutMs };
    keys ??= createRemoteJWKSet(new URL(await jwksUri.find(AbortSignal.timeout(2 * timeoutMs))), fetching);
    return await keys(...of);
  }

  return {
    name,
    logins,
    /** The interaction that an answer of the issuer is for, by its state; the rest of that is looked at there. */
    interactionOf: (search: string): string | undefined =>
      statePattern.exec(new URLSearchParams(search).get("state") ?? "")?.[1],
    /**
     * Begins the login of an interaction.
     * @returns where the browser logs in, and the secret that it alone is to keep
     */
    async begin(uid: string) {
      const secret = randomBytes(32).toString("base64url");
      const url = client.loginUrl(checksOf(uid, secret));
      return await url.then((url) => ({ kind: "begun" as const, url, secret }), failed);
    },
    /** @param secret of `begin()`, as the browser has it; without it nothing is asked */
    async finish(uid: string, secret: string | undefined, search: string, isLimited: boolean) {
      const checks = checksOf(uid, secret ?? "");
      if (isLimited) {
        return failedLogin(429, "rate_limited", "Too many logins from your address have failed.");
      }
      // of another browser, or another interaction: before anything of it is used
      if (secret === undefined || new URLSearchParams(search).get("state") !== checks.state) {
        return failedLogin(400, "state", "This login has expired, or it began in another browser.");
      }
      const principal = client.finish(search, checks).then(logins.keep);
      return await principal.then((principal) => ({ kind: "done" as const, principal }), failed);
    },
    /**
     * Ends what a logout token means; section 2.6 of the specification says what is looked at.
     *
     * @returns how many grants ended
     * @throws {AppError} `invalid`, in words for the issuer; `unavailable` where its keys are not to be had
     */
    async endByToken(token: string): Promise<number> {
      const { payload, protectedHeader: { typ = "JWT" } } = await jwtVerify(token, findKey, {
        issuer,
        audience: clientId,
        algorithms: [...tokenAlgorithms],
        requiredClaims: ["iat", "exp", "jti", "events"],
        maxTokenAge: longestAgeSeconds,
        clockTolerance: clockSkewSeconds,
      }).catch((cause) => {
        if (cause instanceof AppError) throw cause;
        logger.warn("A logout token of the issuer was refused", { issuer, reason: cause.code });
        throw new AppError("invalid", "the logout token is not good", { cause });
      });
      const { jti, sub, sid, events, iat = 0 } = payload;
      const [subject, session] = [sub, sid].map((each) => isName(each) ? each : undefined);
      const isLogout = /^(?:application\/)?(?:logout\+)?jwt$/i.test(typ) && !("nonce" in payload) &&
        isMap(events) && isMap(events[logoutEvent]);
      if (!isLogout || (subject === undefined && session === undefined)) {
        throw new AppError("invalid", "expected a logout token, with sub or sid and without nonce");
      }
      const expiresAt = Math.ceil(iat + longestAgeSeconds + 2 * clockSkewSeconds) * 1_000;
      const ended = await logins.end(subject, session, String(jti), expiresAt);
      if (ended === undefined) throw new AppError("invalid", "this logout token has been used");
      return ended;
    },
  };
}

function failedLogin(status: number, reason: string, message: string) {
  return { kind: "failed" as const, status, reason, message };
}
