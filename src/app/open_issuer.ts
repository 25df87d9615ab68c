import type { Config } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import type { ServerMetrics } from "../core/metrics/server_metrics.ts";
import { createIssuer, type Issuer } from "../identity/issuer/issuer.ts";
import { tokenAlgorithms } from "../identity/issuer/issuer_kinds.ts";
import { tokenRefusals } from "../identity/issuer/unverified_token.ts";
import type { UserDirectory } from "../identity/users/user_directory.ts";

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
