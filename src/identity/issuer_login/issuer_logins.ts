import { hkdfSync, randomBytes } from "node:crypto";
import { compactDecrypt, CompactEncrypt } from "jose";
import { AppError } from "../../core/app_error.ts";
import { type Claims, parseClaims } from "../../core/claims.ts";
import type { Logger } from "../../core/logger.ts";
import { principalName } from "../../core/principal.ts";
import { sha256 } from "../../core/text/sha256.ts";
import { sql } from "../../state/engine.ts";
import { currentVersion, endStatements, type State } from "../../state/state.ts";
import { type GrantStore, loginKind, ownerOf } from "../authorization_server/grant_store.ts";
import { readSecretFile } from "../../core/files/read_regular_file.ts";
import { type ClaimNames, type IssuerPrincipal, principalOfClaims } from "../issuer/token_claims.ts";
import type { OauthEvent } from "../authorization_server/provider_events.ts";
import {
  type IssuerClient,
  type IssuerClientOptions,
  LoginRefused,
  type ToldClaims,
} from "./issuer_client.ts";

/** Of the credential file's text the key is made that refresh tokens are kept under. */
export interface IssuerLoginsOptions extends ClaimNames, Pick<IssuerClientOptions, "issuer" | "credential"> {
  readonly state: State;
  readonly store: Pick<GrantStore, "endGrant" | "endGrantsOf">;
  /** How long claims count before the issuer has to say them again. */
  readonly claimsLifetimeMs: number;
  /** Domains of which somebody must be. Optional: without it, anybody whom the issuer knows. */
  readonly allowedDomains?: readonly string[] | undefined;
  /** Told when a login ends, since the issuer lets somebody in no more or cannot say so again. */
  readonly onEvent: (event: OauthEvent) => void;
  readonly logger: Logger;
}

/** Somebody who has logged in at the issuer. Its grant, once there is consent, has the same id. */
interface KeptLogin {
  readonly id: string;
  readonly principal: IssuerPrincipal;
  /** Of the ID token that the login began with. */
  readonly nonce: unknown;
  /** Milliseconds since 1970. */
  readonly toldAt: number;
  /** Encrypted. */
  readonly refreshToken: string | undefined;
}

export type IssuerLogins = ReturnType<typeof createIssuerLogins>;

/** Of logout tokens that have counted. */
const logoutKind = "oauth Logout";
/** How long a login is kept before there is a grant: as long as login and consent may take. */
const pendingMs = 30 * 60_000;
/** The share of their lifetime after which claims are renewed in the background, so that an issuer may be away for the rest. */
const renewedAfter = 0.8;
/** After one process has begun to renew claims, others leave it to that one; and for how long where it has failed. */
const leaseMs = 15_000;
const askAgainMs = 2_000;
/** Logins that are known without a look; then all are looked up again. */
const mostKnown = 2_000;
/** The longest claims, in characters. */
const longestClaims = 16_384;

/** Logins at an issuer, in the state: what it said of the person, until when that counts, and how it is renewed. */
export function createIssuerLogins(client: Pick<IssuerClient, "renew">, options: IssuerLoginsOptions) {
  const { issuer, state, store, claimsLifetimeMs, logger } = options;
  const known = new Map<string, KeptLogin>();
  const settling = new Map<string, Promise<IssuerPrincipal | undefined>>();
  const rowOf = (id: string) => sql`kind = ${loginKind} AND id = ${id}`;

  state.onEnded(loginKind, (id) => id === undefined ? known.clear() : known.delete(id));

  /** @throws {LoginRefused} for claims that let nobody in */
  function principalOf(claimsText: string, grantId: string): IssuerPrincipal {
    const claims = claimsText.length > longestClaims ? undefined : parseClaims(claimsText);
    const principal = claims && principalOfClaims(issuer, claims, options);
    if (claims === undefined || principal === undefined) throw new LoginRefused("unusable claims");
    if (!isOfDomain(issuer, claims, options.allowedDomains)) {
      throw new LoginRefused("not of an allowed domain");
    }
    // scopes are those of an issuer's access token, which this is none of
    const { scopes: _none, ...person } = principal;
    return { ...person, claimsText, grantId };
  }

  async function valueOf(id: string, told: ToldClaims, nonce: unknown): Promise<string> {
    const { claimsText, refreshToken } = told;
    const refresh = refreshToken && await encrypt(refreshToken, await keyOf(id));
    return JSON.stringify({ claims: claimsText, toldAt: state.now(), refresh, nonce });
  }

  /** Of a refresh token at rest: it is in no file together with what it opens, and fits one login alone. */
  async function keyOf(id: string): Promise<Uint8Array> {
    const secret = await readSecretFile(options.credential.path, "the client's secret");
    return new Uint8Array(hkdfSync("sha256", secret, issuer, `postern refresh token ${id}`, 32));
  }

  async function read(id: string): Promise<KeptLogin | undefined> {
    const [[row] = []] = await state.read([
      sql`SELECT value FROM records WHERE ${rowOf(id)} AND expires_at > ${state.now()}`,
    ]);
    if (row === undefined) return undefined;
    const { claims, toldAt, refresh, nonce } = JSON.parse(String(row["value"]));
    const principal = principalOf(claims, id);
    return { id, principal, nonce: nonce ?? principal.claims?.["nonce"], toldAt, refreshToken: refresh };
  }

  function remember(login: KeptLogin): IssuerPrincipal {
    if (known.size >= mostKnown) known.clear();
    known.set(login.id, login);
    return login.principal;
  }

  const ageOf = ({ toldAt }: KeptLogin) => state.now() - toldAt;
  const isOver = (login: KeptLogin) => ageOf(login) >= claimsLifetimeMs;
  const isDue = (login: KeptLogin) =>
    isOver(login) || (login.refreshToken !== undefined && ageOf(login) >= renewedAfter * claimsLifetimeMs);

  /** The person as of now, renewed where that is due; undefined where the login has ended. */
  async function settle(id: string): Promise<IssuerPrincipal | undefined> {
    try {
      const login = await read(id);
      if (login === undefined) return void known.delete(id);
      if (!isDue(login)) return remember(login);
      return await renew(login).catch((error) => {
        if (error instanceof LoginRefused || isOver(login)) throw error;
        return remember(login);
      });
    } catch (error) {
      if (!(error instanceof LoginRefused)) throw error;
      known.delete(id);
      if (await store.endGrant(id)) options.onEvent({ event: "expire", grantId: id, reason: error.reason });
      return undefined;
    }
  }

  /** @throws {AppError} `forbidden` (a LoginRefused), or `unavailable` with `retryAfterSeconds` */
  async function renew(login: KeptLogin): Promise<IssuerPrincipal | undefined> {
    const { id, nonce, principal: { subject } } = login;
    // two that use one refresh token look like a thief to the issuer
    const [taken] = await state.change([
      sql`UPDATE records SET used_at = ${state.now()}
        WHERE ${rowOf(id)} AND coalesce(used_at, 0) <= ${state.now() - leaseMs} RETURNING used_at`,
    ]);
    if (taken?.length !== 1) throw away();
    const token = login.refreshToken && await decrypt(login.refreshToken, await keyOf(id));
    if (token === undefined) throw new LoginRefused("the claims have ended");
    const told = await client.renew(token, { subject, nonce }).catch(async (error) => {
      if (error instanceof LoginRefused) throw error;
      logger.warn("Cannot renew what the issuer says of somebody", { issuer, error });
      const askAgainAt = state.now() + askAgainMs - leaseMs;
      await state.change([sql`UPDATE records SET used_at = ${askAgainAt} WHERE ${rowOf(id)}`]);
      throw away();
    });
    const value = await valueOf(id, { ...told, refreshToken: told.refreshToken ?? token }, nonce);
    await state.change([sql`UPDATE records SET value = ${value}, used_at = NULL WHERE ${rowOf(id)}`]);
    const renewed = await read(id);
    return renewed && remember(renewed);
  }

  return {
    issuer,
    /** Whether a name is that of a person of the issuer, and not of an account. */
    covers: (username: string): boolean => username.startsWith(`${issuer}#`),
    /** Keeps a login that has no grant yet. @throws {LoginRefused} for claims that let nobody in */
    async keep(told: ToldClaims): Promise<IssuerPrincipal> {
      const id = randomBytes(24).toString("base64url");
      const principal = principalOf(told.claimsText, id);
      const { sid, nonce } = principal.claims ?? {};
      const time = state.now();
      await state.change([
        sql`INSERT INTO records (kind, id, alias, part_of, owner, value, created_at, expires_at, version)
          VALUES (${loginKind}, ${id}, ${typeof sid === "string" ? sha256(sid) : null}, ${id},
            ${ownerOf(principalName(principal))}, ${await valueOf(id, told, nonce)}, ${time}, ${
          time + pendingMs
        },
            ${currentVersion})`,
      ]);
      return principal;
    },
    /**
     * Whom a login stands for now; undefined where it has ended.
     * @throws {AppError} `unavailable`, with `retryAfterSeconds`, where the issuer or the state would have to tell, and does not
     */
    current(id: string): IssuerPrincipal | undefined | Promise<IssuerPrincipal | undefined> {
      const login = known.get(id);
      if (login !== undefined && !isDue(login)) return login.principal;
      const settled = settling.get(id) ?? settle(id).finally(() => settling.delete(id));
      settling.set(id, settled);
      if (login === undefined || isOver(login)) return settled;
      settled.catch(() => {});
      return login.principal;
    },
    /**
     * Ends the logins that a logout at the issuer means, with their grants: those of the session, and of the subject those
     * that know no session (OpenID Connect Back-Channel Logout 1.0, section 2.7).
     *
     * @param jti the logout token's, which counts once until it expires
     * @returns how many grants ended; undefined where the logout has happened before
     */
    async end(
      subject = "",
      sid: string | undefined,
      jti: string,
      expiresAt: number,
    ): Promise<number | undefined> {
      // no subject is empty
      const owner = ownerOf(`${issuer}#${subject}`);
      const session = sid === undefined ? null : sha256(sid);
      const ofSession = subject === ""
        ? sql`alias = ${session}`
        : sql`alias = ${session} AND owner = ${owner}`;
      const which = sql`((${ofSession}) OR
        (owner = ${owner} AND (alias IS NULL OR CAST(${session} AS TEXT) IS NULL)))`;
      const [before = [], logins = []] = await state.read([
        sql`SELECT id FROM records WHERE kind = ${logoutKind} AND id = ${sha256(jti)}`,
        sql`SELECT id FROM records WHERE kind = ${loginKind} AND ${which}`,
      ]);
      if (before.length > 0) return undefined;
      const ids = logins.map(({ id }) => String(id));
      const ended = await store.endGrantsOf(ids);
      await state.change([
        // those that wait for consent
        ...endStatements(sql`kind = ${loginKind} AND id IN (${ids})`, state.now()),
        sql`INSERT INTO records (kind, id, value, created_at, expires_at, version)
          VALUES (${logoutKind}, ${sha256(jti)}, '1', ${state.now()}, ${expiresAt}, ${currentVersion})
          ON CONFLICT (kind, id) DO NOTHING`,
      ]);
      return ended;
    },
  };
}

function away(): AppError {
  return new AppError("unavailable", "Cannot tell who is calling: the identity provider does not answer", {
    data: { retryAfterSeconds: 5 },
  });
}

const googleIssuer = "https://accounts.google.com";

/**
 * Google's own claim says it for its organisations alone; elsewhere an address does that the issuer has verified: any other,
 * people may choose.
 */
function isOfDomain(issuer: string, claims: Claims, allowed?: readonly string[]): boolean {
  if (allowed === undefined) return true;
  const { hd, email, email_verified: isVerified } = claims;
  const address = isVerified === true && typeof email === "string" ? email : "";
  const domain = issuer === googleIssuer ? hd : /^[^@\s]+@([^@\s]+)$/.exec(address)?.[1];
  return typeof domain === "string" && allowed.some((each) => each.toLowerCase() === domain.toLowerCase());
}

function encrypt(text: string, key: Uint8Array): Promise<string> {
  const encrypting = new CompactEncrypt(new TextEncoder().encode(text));
  return encrypting.setProtectedHeader({ alg: "dir", enc: "A256GCM" }).encrypt(key);
}

/** Undefined where the key is another one by now. */
async function decrypt(text: string, key: Uint8Array): Promise<string | undefined> {
  const opened = await compactDecrypt(text, key).catch(() => undefined);
  return opened && new TextDecoder().decode(opened.plaintext);
}
