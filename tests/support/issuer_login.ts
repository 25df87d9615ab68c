import assert from "node:assert/strict";
import {
  type IdentityProvider,
  loginClient,
  type Person,
  startIdentityProvider,
} from "./identity_provider.ts";
import {
  createFormBrowser,
  createOauthClient,
  type OauthServer,
  type OpenPage,
  startOauthServer,
} from "./oauth_server.ts";
import { freePort } from "./token_issuer.ts";

export const dora: Person = {
  sub: "person-1",
  claims: {
    preferred_username: "dora",
    groups: ["analysts"],
    tenant: "north",
    email: "dora@example.com",
    email_verified: true,
  },
};

/** A server whose users log in at a provider, as `dora` until a test says otherwise. */
export interface LoginServer extends AsyncDisposable {
  readonly provider: IdentityProvider;
  readonly oauth: OauthServer;
  readonly issuer: string;
  /** A browser that goes to both. */
  browser(follows?: (url: string) => boolean): ReturnType<typeof createFormBrowser>;
  /** Logs in, lets a new client in, and exchanges its code. */
  logIn(scope?: string): Promise<LoggedIn>;
}

export interface LoggedIn {
  readonly client: Awaited<ReturnType<typeof createOauthClient>>;
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** @param options.login settings of `http.auth.oauth.login` besides, in YAML's flow style */
export async function startLoginServer(
  {
    login = "groups_claim: groups",
    accounts = [],
    config = "databases: []",
    files = {},
    jwks,
    secret = true,
  }: {
    login?: string;
    accounts?: readonly string[];
    config?: string;
    files?: Readonly<Record<string, string>>;
    jwks?: Parameters<typeof startIdentityProvider>[0]["jwks"];
    secret?: boolean;
  } = {},
): Promise<LoginServer> {
  const port = freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const provider = await startIdentityProvider({
    redirectUri: `${issuer}/oauth/login/callback`,
    ...(jwks && { jwks }),
  });
  provider.meet(dora);
  const credential = secret ? "client_secret_file: secret, " : "";
  const oauth = await startOauthServer({
    port,
    accounts,
    config,
    files: { secret: loginClient.secret, ...files },
    oauth: `login: { issuer: "${provider.issuer}", client_id: ${loginClient.id}, ${credential}${login} }`,
  });
  const browser = (follows?: (url: string) => boolean) =>
    createFormBrowser(issuer, follows, [provider.issuer]);
  return {
    provider,
    oauth,
    issuer,
    browser,
    async logIn(scope) {
      const client = await createOauthClient(issuer);
      const own = browser();
      const page = await own.open(client.authorizeUrl({ scope }));
      assert.match(page.html, /Allow access\?/, page.html);
      const end = await own.submit(page, { action: "allow" });
      const { status, body } = await client.exchange(codeOf(end));
      assert.equal(status, 200, JSON.stringify(body));
      return {
        client,
        accessToken: String(body["access_token"]),
        refreshToken: String(body["refresh_token"]),
      };
    },
    async [Symbol.asyncDispose]() {
      await oauth[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** The code that a browser was sent back to a client with. */
export function codeOf({ url }: OpenPage): string {
  const code = new URL(url).searchParams.get("code");
  assert.ok(code !== null, url);
  return code;
}
