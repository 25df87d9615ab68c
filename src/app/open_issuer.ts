import type { Config } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import type { ServerMetrics } from "../core/metrics/server_metrics.ts";
import { createIssuer, type Issuer } from "../identity/issuer/issuer.ts";
import { tokenAlgorithms } from "../identity/issuer/issuer_kinds.ts";
import { tokenRefusals } from "../identity/issuer/unverified_token.ts";
import type { UserDirectory } from "../identity/users/user_directory.ts";
import { issuerPaths } from "../identity/authorization_server/request_parameters.ts";
import { createIssuerLogin, type IssuerLoginOptions } from "../identity/issuer_login/issuer_login.ts";

type ProviderConfig = NonNullable<Config["http"]["auth"]["identity_provider"]>;

/** What verifies the access tokens of a configured issuer; it reads the issuer's keys from now on. */
export function openIssuer(
  provider: ProviderConfig,
  { users, metrics, logger }: {
    readonly users: UserDirectory;
    readonly metrics: ServerMetrics;
    readonly logger: Logger;
  },
): Issuer {
  for (const reason of [...tokenRefusals, "unavailable"]) metrics.issuerRefusals.of(reason);
  for (const result of ["ok", "failed"]) metrics.issuerRequests.of("keys", result);
  return createIssuer({
    ...issuerSettings(provider),
    accounts: provider.trust_names ? users : undefined,
    onRefusal: (reason) => metrics.issuerRefusals.of(reason).add(),
    onRequest: (what, result) => metrics.issuerRequests.of(what, result).add(),
    now: Date.now,
    logger,
  });
}

/** What is needed to ask an issuer, and to judge its tokens. */
export function issuerSettings({ introspection, ...provider }: ProviderConfig) {
  return {
    issuer: provider.issuer,
    audience: provider.audience,
    usernameClaim: provider.username_claim ?? "preferred_username",
    groupsClaim: provider.groups_claim,
    requiredScopes: provider.required_scopes,
    jwksUri: provider.jwks_uri,
    algorithms: provider.algorithms ?? tokenAlgorithms,
    types: provider.token_types ?? ["at+jwt"] as const,
    introspection: introspection && {
      endpoint: introspection.endpoint,
      clientId: introspection.client_id,
      clientSecretFile: introspection.client_secret_file,
    },
  };
}

type LoginConfig = NonNullable<Config["http"]["auth"]["oauth"]["login"]>;

/** Lets people log in at a configured issuer. @param options.issuer the built-in authorization server's */
export function openIssuerLogin(
  login: LoginConfig,
  options: Pick<IssuerLoginOptions, "issuer" | "state" | "store" | "onEvent" | "logger">,
) {
  return createIssuerLogin({ ...options, ...issuerLoginSettings(options.issuer, login) });
}

/** How people log in at a configured issuer. @param issuer the built-in authorization server's */
export function issuerLoginSettings(issuer: string, login: LoginConfig) {
  const { client_secret_file: secret, private_key_file: key = "" } = login;
  const kind = secret === undefined ? "private_key" as const : "secret" as const;
  return {
    issuer: login.issuer,
    name: login.name ?? new URL(login.issuer).host,
    clientId: login.client_id,
    credential: { kind, path: secret ?? key },
    redirectUri: `${issuer.replace(/\/$/, "")}${issuerPaths.callback}`,
    scopes: login.scopes ?? ["openid", "profile", "email"],
    asksUserInfo: login.claims_from === "userinfo",
    usernameClaim: login.username_claim ?? "preferred_username",
    groupsClaim: login.groups_claim,
    claimsLifetimeMs: login.claims_lifetime ?? 3_600_000,
    allowedDomains: login.allowed_domains,
  };
}
