import { createHmac, createPrivateKey } from "node:crypto";
import { importPKCS8 } from "jose";
import * as openid from "openid-client";
import { AppError } from "../../core/app_error.ts";
import { readText, timeoutMs } from "../issuer/fetch_json.ts";
import { readSecretFile } from "../../core/files/read_regular_file.ts";
import { isLoopbackUrl } from "../issuer/issuer_metadata.ts";
import { payloadText } from "../issuer/unverified_token.ts";

export interface IssuerClientOptions {
  readonly issuer: string;
  /** Under which the issuer knows Postern. */
  readonly clientId: string;
  /** File that holds the client's secret, or its private key; read each time, so that a new one counts at once. */
  readonly credential: { readonly kind: "secret" | "private_key"; readonly path: string };
  /** Where the issuer sends browsers back to. */
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  /** Whether claims are asked for at the issuer's UserInfo endpoint too. */
  readonly asksUserInfo: boolean;
}

/** What ties an answer of the issuer to the request: compared, and never sent together. */
export type LoginChecks = ReturnType<typeof checksOf>;

/** What an issuer says of somebody who has logged in. Of its tokens nothing is kept but what renews the claims. */
export interface ToldClaims {
  /** JSON, as the issuer wrote it where nothing was added. */
  readonly claimsText: string;
  readonly refreshToken?: string | undefined;
}

/** What a renewed ID token has to have of the first one, where it has them. */
interface ToldOf {
  readonly subject: string;
  readonly nonce: unknown;
}

type Tokens = Pick<openid.TokenEndpointResponse, "access_token" | "id_token" | "refresh_token">;

/** The issuer does not let somebody in, or no more. */
export class LoginRefused extends AppError {
  /** @param reason the issuer's code (RFC 6749, sections 4.1.2.1 and 5.2; OpenID Connect Core 1.0, section 3.1.2.6) */
  constructor(readonly reason: string) {
    super("forbidden", `The issuer refused: ${reason}`);
  }
}

export type IssuerClient = ReturnType<typeof createIssuerClient>;

/** How long it is relied on what an issuer says of itself; after a failure it is asked again at once. */
const discoveredMs = 3_600_000;
/** Of a refresh token: the person is gone, or has to log in again. */
const endCodes = ["invalid_grant", "login_required", "interaction_required", "consent_required"];

/** Postern as a client of an issuer: OpenID Connect's code flow with PKCE, state and nonce, by `openid-client`. */
export function createIssuerClient(options: IssuerClientOptions) {
  const { issuer, clientId, redirectUri } = options;
  let asking: Promise<openid.Configuration> | undefined;
  let known: openid.Configuration | undefined;
  let knownUntil = 0;

  async function discover(): Promise<openid.Configuration> {
    const more = isLoopbackUrl(issuer) ? [openid.allowInsecureRequests] : [];
    const found = await openid.discovery(new URL(issuer), clientId, undefined, authenticate, {
      [openid.customFetch]: boundedFetch,
      timeout: timeoutMs / 1_000,
      // an ID token's signature counts too, not only where it came from
      execute: [openid.enableNonRepudiationChecks, ...more],
    });
    // the library takes Entra ID's documents for all tenants
    if (found.serverMetadata().issuer === issuer) return found;
    throw new AppError("unavailable", `it calls itself ${JSON.stringify(found.serverMetadata().issuer)}`);
  }

  async function configuration(): Promise<openid.Configuration> {
    if (known !== undefined && knownUntil > performance.now()) return known;
    asking ??= discover().finally(() => asking = undefined);
    known = await asking.catch((error) => {
      if (known === undefined) throw error;
      return known;
    });
    knownUntil = performance.now() + discoveredMs;
    return known;
  }

  /** RFC 6749 section 2.3.1, or RFC 7523 section 2.2. */
  async function credential(server: openid.ServerMetadata): Promise<openid.ClientAuth> {
    const { kind, path } = options.credential;
    const text = await readSecretFile(path, "the client's secret");
    if (kind === "private_key") return openid.PrivateKeyJwt(await privateKey(text, path));
    const isBasic = server.token_endpoint_auth_methods_supported?.includes("client_secret_basic") ?? true;
    return isBasic ? openid.ClientSecretBasic(text) : openid.ClientSecretPost(text);
  }

  const authenticate: openid.ClientAuth = async (server, ...rest) =>
    await (await credential(server))(server, ...rest);

  /** @throws {AppError} `forbidden` (a LoginRefused) or `unavailable`, without anything secret */
  async function ask<T>(work: (configuration: openid.Configuration) => Promise<T>): Promise<T> {
    try {
      return await work(await configuration());
    } catch (error) {
      if (error instanceof LoginRefused) throw error;
      const isOver = error instanceof openid.ResponseBodyError && endCodes.includes(error.error);
      if (isOver || error instanceof openid.AuthorizationResponseError) {
        throw new LoginRefused(shortReason(error.error));
      }
      // it may be elsewhere now
      knownUntil = 0;
      throw new AppError("unavailable", `Cannot log in at the issuer ${issuer}: ${reasonOf(error)}`);
    }
  }

  async function read(found: openid.Configuration, tokens: Tokens, subject: string): Promise<ToldClaims> {
    const { id_token: idToken, refresh_token: refreshToken } = tokens;
    const text = idToken === undefined ? "{}" : payloadText(idToken);
    if (!options.asksUserInfo && idToken !== undefined) return { claimsText: text, refreshToken };
    // not every answer to a refresh has an ID token (OpenID Connect Core 1.0, section 12.2)
    if (found.serverMetadata().userinfo_endpoint === undefined) throw new LoginRefused("no claims to renew");
    const more = await openid.fetchUserInfo(found, tokens.access_token, subject);
    return { claimsText: JSON.stringify({ ...more, ...JSON.parse(text) }), refreshToken };
  }

  return {
    issuer,
    clientId,
    /** Where a browser logs in. @throws {AppError} `unavailable` */
    loginUrl: ({ state, nonce, verifier }: LoginChecks): Promise<string> =>
      ask(async (found) =>
        openid.buildAuthorizationUrl(found, {
          redirect_uri: redirectUri,
          scope: options.scopes.join(" "),
          state,
          nonce,
          code_challenge: await openid.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256",
        }).href
      ),
    /**
     * What the issuer says of whoever comes back from it.
     *
     * @param search the query that the browser brought, with a code or an error
     * @throws {AppError} `forbidden` (a LoginRefused) or `unavailable`
     */
    finish: (search: string, { state, nonce, verifier }: LoginChecks): Promise<ToldClaims> =>
      ask(async (found) => {
        const tokens = await openid.authorizationCodeGrant(found, new URL(`${redirectUri}${search}`), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
        });
        const { sub = "", azp = clientId } = tokens.claims() ?? {};
        if (azp !== clientId) throw new LoginRefused("an ID token of another client");
        return await read(found, tokens, sub);
      }),
    /**
     * The claims anew.
     * @throws {AppError} `forbidden` (a LoginRefused) where the issuer lets the person in no more, else `unavailable`
     */
    renew: (refreshToken: string, { subject, nonce }: ToldOf): Promise<ToldClaims> =>
      ask(async (found) => {
        const tokens = await openid.refreshTokenGrant(found, refreshToken);
        const told = tokens.claims();
        if ((told?.sub ?? subject) !== subject) throw new LoginRefused("another subject");
        if ((told?.azp ?? clientId) !== clientId) throw new LoginRefused("an ID token of another client");
        // it need not have one (OpenID Connect Core 1.0, section 12.2)
        if ((told?.nonce ?? nonce) !== nonce) throw new LoginRefused("an ID token of another login");
        return await read(found, tokens, subject);
      }),
    /** Whether the issuer can be asked, and the credential used. @throws {AppError} `unavailable` */
    check: (): Promise<unknown> => ask(async (found) => await credential(found.serverMetadata())),
  };
}

/** State, nonce and PKCE's verifier of one secret, which the browser alone has: nobody else knows any of them. */
export function checksOf(uid: string, secret: string) {
  const part = (name: string) => createHmac("sha256", secret).update(`${name} ${uid}`).digest("base64url");
  return { state: `${uid}.${part("state")}`, nonce: part("nonce"), verifier: part("verifier") };
}

/** The library bounds the time, and follows no redirect; here the answer's length is bounded too. */
export async function boundedFetch(url: string, init: object): Promise<Response> {
  const response = await fetch(url, init);
  return new Response(await readText(response, url) || null, response);
}

/** @throws {AppError} `unavailable` for what is no such key */
async function privateKey(pem: string, path: string) {
  try {
    const key = createPrivateKey(pem);
    const algorithm = { rsa: "RS256", ec: "ES256", ed25519: "EdDSA" }[key.asymmetricKeyType as string] ?? "";
    return await importPKCS8(key.export({ type: "pkcs8", format: "pem" }).toString(), algorithm);
  } catch {
    // the cause may quote the key
    throw new AppError("unavailable", `Cannot use ${path}: expected an RSA, P-256 or Ed25519 key in PEM`);
  }
}

/** What an operator needs to know of a failure, without what the issuer answered: that may hold tokens. */
function reasonOf(error: unknown): string {
  const { code, message, cause } = error as Error & { readonly code?: unknown };
  // the library passes on what boundedFetch throws as a cause
  for (const each of [error, cause]) if (each instanceof AppError) return each.message;
  if (error instanceof openid.ResponseBodyError) {
    return `it answered ${shortReason(error.error)}: ${shortReason(error.error_description ?? "")}`;
  }
  if (!/^(?:OAUTH|ERR)_/.test(String(code))) return "the connection failed";
  if (code === "OAUTH_TIMEOUT") return `no answer within ${timeoutMs / 1_000} s`;
  const status = cause instanceof Response ? ` ${cause.status}` : "";
  const detail = cause instanceof Error && cause.message !== message ? `: ${cause.message}` : "";
  return `${message}${status}${detail}`;
}

/** Of a text that somebody else wrote. */
function shortReason(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").slice(0, 200);
}
