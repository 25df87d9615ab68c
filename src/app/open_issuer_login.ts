import type { Config } from "../config/mod.ts";
import { issuerPaths } from "../identity/authorization_server/request_parameters.ts";
import { createIssuerLogin, type IssuerLoginOptions } from "../identity/issuer_login/issuer_login.ts";

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
