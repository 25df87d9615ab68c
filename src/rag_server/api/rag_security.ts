import { scopeText } from "../../identity/own_scopes.ts";

/** Whose access tokens let callers in, beside API tokens and sessions. */
export interface Issuers {
  /** The built-in authorization server, and where its clients go. */
  readonly authorizationServer?: {
    readonly issuer: string;
    readonly authorizationUrl: string;
    readonly tokenUrl: string;
    /** Those that it gives. */
    readonly scopes: readonly string[];
  } | undefined;
  readonly identityProvider?: {
    readonly issuer: string;
    /** Those that every request needs. */
    readonly requiredScopes: readonly string[];
  } | undefined;
}

/** Of what a session alone may do. */
export const sessionScheme = {
  type: "http",
  scheme: "bearer",
  description: "The token of a session, which /v1/login gives",
} as const;

/**
 * How callers prove who they are, as security schemes of OpenAPI 3.0.3, and what requests need of them. Each stands for a
 * token in the header `Authorization: Bearer`.
 */
export function securityOf({ authorizationServer, identityProvider }: Issuers) {
  const where = authorizationServer === undefined && identityProvider === undefined
    ? ""
    : "; the header WWW-Authenticate of a 401 names the address at which a client finds the issuers (RFC 9728)";
  // each of them alone lets in
  const requirements: Record<string, string[]>[] = [
    { token: [] },
    ...(authorizationServer === undefined ? [] : [{ authorizationServer: [] }]),
    ...(identityProvider === undefined ? [] : [{ identityProvider: [...identityProvider.requiredScopes] }]),
  ];
  return {
    schemes: {
      token: {
        type: "http" as const,
        scheme: "bearer",
        description: `An API token, or the token of a session${where}`,
      },
      ...(authorizationServer && { authorizationServer: codeFlow(authorizationServer) }),
      ...(identityProvider && {
        identityProvider: {
          type: "openIdConnect" as const,
          description:
            `An access token of ${identityProvider.issuer}. An issuer of OAuth 2 alone describes itself at the place ` +
            "of RFC 8414 instead",
          openIdConnectUrl: `${identityProvider.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`,
        },
      }),
    },
    requirements,
  };
}

function codeFlow(
  { issuer, authorizationUrl, tokenUrl, scopes }: NonNullable<Issuers["authorizationServer"]>,
) {
  return {
    type: "oauth2" as const,
    description: `An access token of ${issuer} that is for this server (RFC 8707); with PKCE (RFC 7636)`,
    flows: {
      authorizationCode: {
        authorizationUrl,
        tokenUrl,
        refreshUrl: tokenUrl,
        scopes: Object.fromEntries(scopes.map((scope) => [scope, scopeText(scope, "rag_server")])),
      },
    },
  };
}
