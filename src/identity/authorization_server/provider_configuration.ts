import { generateKeyPairSync } from "node:crypto";
import { mayStay } from "../users/lockout.ts";
import type { AuthorizationServerOptions, Resource } from "./authorization_server_options.ts";
import type { KoaContext, OidcClient, OidcModule } from "./provider_types.ts";
import { readScopes } from "../own_scopes.ts";

/** How long a login may take, from the first page to the last. */
const interactionSeconds = 15 * 60;
/** After this a user has to log in again, however often a client refreshed its token. */
const longestGrantSeconds = 365 * 24 * 3_600;

/** What `oidc-provider` is made with: the grants of OAuth 2.1 alone, and what of OpenID Connect can be switched off is off. */
export function providerConfiguration(
  { issuer, hasConsole, lifetimesMs, allowRegistration, cookieKeys, resources, accounts, issuerLogin }:
    AuthorizationServerOptions,
  { oidc, prefix, adapter, devicePages, ours, findGrant, renderError }: {
    readonly oidc: OidcModule;
    /** Of the issuer's path; empty where it has none. */
    readonly prefix: string;
    readonly adapter: unknown;
    readonly devicePages: Readonly<Record<string, unknown>>;
    /** The resource that a client means; undefined where it is none of ours. */
    readonly ours: (resource: string) => Resource | undefined;
    readonly findGrant: (id: string) => Promise<unknown>;
    readonly renderError: (
      context: KoaContext,
      out: { readonly error: string; readonly error_description?: string },
    ) => void;
  },
): Readonly<Record<string, unknown>> {
  const seconds = (ms: number) => Math.floor(ms / 1_000);
  const resourceServer = { accessTokenFormat: "opaque", accessTokenTTL: seconds(lifetimesMs.accessToken) };
  const cookies = { httpOnly: true, sameSite: "lax", signed: true };
  const { InvalidTarget = Error } = oidc.errors;
  return {
    adapter,
    clientAuthMethods: ["none"],
    clientDefaults: {
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      id_token_signed_response_alg: "ES256",
    },
    // which web pages may call is decided before (http/host_and_origin)
    clientBasedCORS: () => true,
    claims: {},
    clients: hasConsole ? [consoleClient(issuer)] : [],
    cookies: {
      keys: cookieKeys.secrets,
      names: cookieNames,
      long: { ...cookies, path: `${prefix}/oauth` },
      short: cookies,
    },
    expiresWithSession: () => false,
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      revocation: { enabled: true },
      registration: { enabled: allowRegistration, issueRegistrationAccessToken: false },
      deviceFlow: { enabled: true, ...devicePages },
      resourceIndicators: {
        enabled: true,
        // of several that were asked for together, the first
        defaultResource: (_context: KoaContext, _client: unknown, oneOf?: readonly string[]) =>
          oneOf?.[0] ?? resources[0]?.address,
        useGrantedResource: () => true,
        getResourceServerInfo(context: KoaContext, resource: string) {
          const audience = ours(resource)?.address;
          if (audience === undefined) throw new InvalidTarget("unknown resource");
          return { ...resourceServer, audience, scope: scopesOf(context).join(" ") };
        },
      },
    },
    async findAccount(_context: KoaContext, username: string, token?: { readonly grantId?: string }) {
      // a login without a grant is looked at before consent
      const isLet = issuerLogin?.logins.covers(username)
        ? token?.grantId === undefined || await issuerLogin.logins.current(token.grantId) !== undefined
        : mayStay(accounts.find(username));
      return isLet ? { accountId: username, claims: () => ({ sub: username }) } : undefined;
    },
    interactions: {
      url: (_context: KoaContext, { uid }: { readonly uid: string }) => `${prefix}/oauth/interaction/${uid}`,
    },
    issueRefreshToken: (_context: KoaContext, client: OidcClient) => client.grantTypeAllowed("refresh_token"),
    // the provider wants a key for ID tokens, of which there are none
    jwks: {
      keys: [generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" })],
    },
    // each authorization is a grant of its own, which its user can be asked about and which ends alone
    async loadExistingGrant({ oidc: { result } }: KoaContext) {
      return result?.consent && await findGrant(result.consent.grantId);
    },
    pkce: { required: () => true },
    renderError,
    responseTypes: ["code"],
    rotateRefreshToken: true,
    routes: {
      authorization: "/oauth/authorize",
      code_verification: "/oauth/device/verify",
      device_authorization: "/oauth/device",
      end_session: "/oauth/end_session",
      jwks: "/oauth/jwks",
      registration: "/oauth/register",
      revocation: "/oauth/revoke",
      token: "/oauth/token",
    },
    scopes: [],
    ttl: {
      AccessToken: seconds(lifetimesMs.accessToken),
      AuthorizationCode: seconds(lifetimesMs.authorizationCode),
      DeviceCode: seconds(lifetimesMs.deviceCode),
      RefreshToken: seconds(lifetimesMs.refreshToken),
      Grant: longestGrantSeconds,
      Interaction: interactionSeconds,
      Session: interactionSeconds,
      IdToken: 60,
    },
  };
}

/** What a request is about: the scopes that it asks for, or those of the code or token that it comes with. */
function scopesOf({ oidc: { params, entities } }: KoaContext): readonly string[] {
  const { AuthorizationCode, DeviceCode, RefreshToken } = entities;
  const granted = AuthorizationCode ?? DeviceCode ?? RefreshToken;
  return readScopes(granted?.["scope"] ?? params?.["scope"]);
}

export const consoleClientId = "postern-console";

/** Where the console waits for its code. */
export const consoleCallback = (issuer: string) => `${issuer.replace(/\/$/, "")}/console/callback`;

/** The one client that is built in: the console, whose users are asked for consent as for any other. */
function consoleClient(issuer: string) {
  return {
    client_id: consoleClientId,
    client_name: "Postern's console",
    redirect_uris: [consoleCallback(issuer)],
    // a native one may be called back on any port
    application_type: "web",
  };
}

/** The cookies of who logged in, and of the request for authorization that goes on where a form was sent. */
const cookieNames = {
  session: "postern_login",
  interaction: "postern_interaction",
  resume: "postern_resume",
} as const;

/**
 * Gives the login of each authorization a cookie of its own: two at once in one browser, in two tabs, would otherwise take
 * each other's place, and one of them would end in an error. The provider has one path for all of them.
 *
 * @param path of the request that is answered
 */
export function separateLogins(response: Response, path: string): Response {
  const lines = response.headers.getSetCookie();
  const resumed = lines.findLast((line) => new RegExp(`^${cookieNames.resume}=[^;]`).test(line));
  const next = resumed === undefined ? path : pathOf(resumed);
  if (next === undefined || !resumePath.test(next)) return response;
  response.headers.delete("set-cookie");
  for (const line of lines) {
    const isLogin = line.startsWith(`${cookieNames.session}=`) ||
      line.startsWith(`${cookieNames.session}.sig=`);
    response.headers.append("set-cookie", isLogin ? line.replace(pathAttribute, `; path=${next}`) : line);
  }
  return response;
}

const pathAttribute = /; path=([^;]*)/i;
/** Where an authorization goes on: it ends with the authorization's own name. */
const resumePath = /\/oauth\/(?:authorize|device\/verify)\/[\w-]+$/;

function pathOf(line: string): string | undefined {
  return pathAttribute.exec(line)?.[1];
}
