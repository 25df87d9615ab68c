import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { CompactSign, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import { freePort } from "./token_issuer.ts";

/** Somebody whom the provider knows. */
export interface Person {
  readonly sub: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** What the login at it is known by at Postern. */
export const loginClient = { id: "postern", secret: "a secret of the provider's client" };

export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>;

/**
 * An identity provider over real HTTP, on `oidc-provider`. Whoever comes is logged in at once as `person`; there is no page.
 *
 * @param options.redirectUri where it sends browsers back to
 */
export async function startIdentityProvider({ redirectUri, jwks, port = freePort() }: {
  readonly redirectUri: string;
  /** Its client's public keys, where that has no secret. */
  readonly jwks?: readonly JWK[];
  readonly port?: number;
}) {
  const [{ Provider }, { base }] = await Promise.all([
    import("oidc-provider/lib/provider.js"),
    import("oidc-provider/lib/helpers/interaction_policy/index.js"),
  ]);
  const issuer = `http://127.0.0.1:${port}`;
  const key = await newKey("first");
  const people = new Map<string, Person>();
  const answers = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  const requests: string[] = [];
  const given: string[] = [];
  const asked: string[] = [];
  const state: { person: Person | undefined; key: JWK } = { person: undefined, key };
  const policy = base();
  policy.remove("consent");
  const provider = new Provider(issuer, {
    clients: [{
      client_id: loginClient.id,
      ...(jwks === undefined
        ? { client_secret: loginClient.secret }
        : { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: jwks } }),
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      id_token_signed_response_alg: "ES256",
    }],
    jwks: { keys: [key] },
    claims: {
      openid: ["sub", "sid"],
      profile: ["preferred_username", "groups", "tenant"],
      email: ["email", "email_verified"],
    },
    conformIdTokenClaims: false,
    cookies: { keys: ["a key of the provider's cookies"] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_context: unknown, sub: string) => {
      const person = people.get(sub);
      return person &&
        { accountId: sub, claims: () => ({ sub, sid: `session of ${sub}`, ...person.claims }) };
    },
    interactions: { policy, url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    async loadExistingGrant(
      { oidc }: {
        oidc: Record<string, { clientId: string; accountId: string; grantIdFor(id: string): string }>;
      },
    ) {
      const { client, session } = oidc;
      const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
      grant.addOIDCScope("openid profile email offline_access");
      await grant.save();
      return grant;
    },
    pkce: { required: () => true },
    scopes: ["openid", "profile", "email", "offline_access"],
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      IdToken: 600,
      RefreshToken: 3_600,
      Interaction: 600,
      Session: 3_600,
      Grant: 3_600,
    },
  });
  for (const event of ["access_token.issued", "access_token.saved", "refresh_token.saved"]) {
    provider.on(event, ({ jti }: { jti: string }) => void given.push(jti));
  }
  const callback = provider.callback();
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", issuer);
    requests.push(pathname);
    if (pathname === "/auth") asked.push(request.url ?? "");
    const answer = answers.get(pathname);
    if (answer !== undefined) return answer(request, response);
    if (pathname.startsWith("/interaction/")) {
      const { person } = state;
      const result = person === undefined
        ? { error: "access_denied", error_description: "nobody is there" }
        : { login: { accountId: person.sub } };
      return await provider.interactionFinished(request, response, result);
    }
    callback(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    issuer,
    /** In place of what is served at a path. */
    answers,
    /** The paths that were asked for, in order. */
    requests,
    /** The requests for a login, as they came. */
    asked,
    /** Its access and refresh tokens, as it gave them out. */
    given,
    count: (path: string) => requests.filter((each) => each === path).length,
    key,
    /** Whoever comes next is that one; undefined: nobody logs in. */
    meet(person: Person | undefined): void {
      if (person !== undefined) people.set(person.sub, person);
      state.person = person;
    },
    /** The provider knows somebody no more. */
    remove: (sub: string) => void people.delete(sub),
    /** A token with its signature. */
    sign: (claims: Readonly<Record<string, unknown>>, header = {}, by: JWK = key) =>
      signWith(by, claims, header),
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A private key of a provider. */
export async function newKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return { ...await exportJWK(privateKey), kid, alg: "ES256", use: "sig" };
}

async function signWith(
  key: JWK,
  claims: Readonly<Record<string, unknown>>,
  header: object,
): Promise<string> {
  const { kid = "" } = key;
  return await new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: "ES256", kid, ...header }).sign(await importJWK(key, "ES256"));
}
