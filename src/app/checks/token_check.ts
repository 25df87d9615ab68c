import type { Config } from "../../config/mod.ts";
import { isGranted, toolOf } from "../../identity/access_rules.ts";
import { principalOfToken } from "../../identity/authenticator.ts";
import { presentToken } from "../../identity/presented_token.ts";
import { limitsText } from "../../identity/tokens/limited_tokens.ts";
import { createTokenIndex } from "../../identity/tokens/token_directory.ts";
import { isExpired, readTokenFile } from "../../identity/tokens/token_file.ts";
import { readUserFile } from "../../identity/users/user_file.ts";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { AppError } from "../../core/app_error.ts";
import type { Principal } from "../../core/principal.ts";
import { silentLogger } from "../../core/logger.ts";
import { createIssuer, type IssuerOptions } from "../../identity/issuer/issuer.ts";
import type { IssuerPrincipal } from "../../identity/issuer/token_claims.ts";
import { isJwt, type TokenRefusal } from "../../identity/issuer/unverified_token.ts";
import { type Check, type CheckResult, createCheck, error, note, warning } from "./check.ts";

/** An issuer as a server asks it whether a token lets its caller in. */
export interface TokenCheckSettings
  extends Omit<IssuerOptions, "onRefusal" | "onRequest" | "now" | "elapsedMs" | "logger" | "accounts"> {
  /** Scopes that every request needs. */
  readonly requiredScopes?: readonly string[] | undefined;
  /** Of the accounts whose rights callers of the same name have. Optional: none where names are not trusted. */
  readonly userFile?: string;
}

/** Whether an API token lets its caller in, and what it is good for. */
export function apiTokenCheck(config: Config, token: string): Check {
  const { token_file: path, methods } = config.http.auth;
  return createCheck(`token of ${path}`, async () => {
    const { records } = await readTokenFile(path);
    const found = createTokenIndex(records).find(presentToken(token), -Infinity);
    if (found === undefined) {
      const remedy = "Make one with -add-token; for an issuer's, set auth.identity_provider";
      return [told("It is not in the file", remedy)];
    }
    if (isExpired(found, Date.now())) return [told("It has ended", "Make another one with -add-token")];
    if (!methods.api_tokens) return [told("API tokens are off", "Set http.auth.methods.api_tokens: true")];
    return [note(`it lets in ${found.id}`), note(rightsText(principalOfToken(found), config))];
  });
}

/** What somebody may use of what is configured, as `-list-tokens` says it. */
function rightsText(principal: Principal, { databases, pipelines, http }: Config): string {
  const limits = principal.kind === "token" ? principal.limits : undefined;
  const named = (kind: "database" | "pipeline", list: typeof databases | typeof pipelines) =>
    list.filter((each) => isGranted(principal, { ...each, kind })).map(({ name }) => name);
  const scopes = http.auth.identity_provider?.scopes_by_tool ?? {};
  const lacking = Object.keys(scopes).filter((name) => !isGranted(principal, toolOf(name, scopes)));
  const most = isGranted(principal, toolOf("query_database")) ? "all" : "those of documents";
  return limitsText({
    databases: named("database", databases),
    pipelines: named("pipeline", pipelines),
    tools: limits?.tools ?? [lacking.length === 0 ? most : `all but ${lacking.join(", ")}`],
    networks: limits?.networks ?? ["all"],
  });
}

/**
 * Whether a token lets its caller in, as a server decides it; else which check refuses it, and what to do at the provider.
 * No result holds the token, only what it says of itself.
 */
export function tokenCheck(settings: TokenCheckSettings, token: string, config?: Config): Check {
  return createCheck(`token for ${settings.audience}`, async () => {
    const { userFile } = settings;
    const users = userFile === undefined ? [] : (await readUserFile(userFile)).records;
    let refusal: TokenRefusal | "unavailable" | undefined;
    await using issuer = createIssuer({
      ...settings,
      accounts: { find: (name) => users.find(({ username }) => username === name) },
      onRefusal: (reason) => refusal = reason,
      onRequest: () => {},
      now: Date.now,
      logger: silentLogger,
    });
    let principal: Principal | undefined;
    try {
      principal = await issuer.authenticate(token, () => "");
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
    }
    if (principal?.kind === "issuer") return accepted(principal, settings, config);
    return [refused(refusal ?? "malformed", saidBy(token), settings)];
  });
}

/** Nothing of it is verified. */
function saidBy(token: string): Said {
  try {
    const { typ, alg, kid } = decodeProtectedHeader(token);
    return { isJwt: isJwt(token), header: { typ, alg, kid }, claims: decodeJwt(token) };
  } catch {
    return { isJwt: isJwt(token), header: {}, claims: {} };
  }
}

interface Said {
  readonly isJwt: boolean;
  readonly header: { readonly typ?: unknown; readonly alg?: unknown; readonly kid?: unknown };
  readonly claims: Readonly<Record<string, unknown>>;
}

/** In the order in which a server looks at a token. */
function refused(
  refusal: TokenRefusal | "unavailable",
  { isJwt, header, claims }: Said,
  { issuer, audience, algorithms, types }: TokenCheckSettings,
): CheckResult {
  const text = (value: unknown) => value === undefined ? "nothing" : JSON.stringify(value);
  const time = (seconds: unknown) =>
    typeof seconds === "number" ? new Date(seconds * 1_000).toISOString() : text(seconds);
  switch (refusal) {
    case "malformed":
      return isJwt
        ? told(
          "It is longer than 16,384 characters, or damaged: no JSON, a name twice, `crit`",
          "Copy the whole access token again; let the provider put fewer groups into it",
        )
        : told(
          "It is no JWT, and introspection is not set",
          "Copy the access token, not the refresh token; let the provider write JWTs as access tokens, or\n" +
            "set introspection of identity_provider",
        );
    case "type":
      return claims["cnf"] !== undefined
        ? told(
          "It is bound to a key (`cnf`), which Postern does not ask for",
          "Switch DPoP or mTLS off for the client",
        )
        : types.includes("JWT")
        ? told(
          `Its type is ${text(header.typ)}, or it has a claim that only ID tokens and logout tokens have`,
          "Send the access token, not the ID token",
        )
        : told(
          `Its type (typ in the header) is ${text(header.typ)}; expected "at+jwt"`,
          'Keycloak: in the client, tab Advanced, switch on Use "at+jwt" as access token header type\n' +
            "Auth0: in the API, choose the token profile RFC 9068\n" +
            "Entra ID, Okta: set token_types: [at+jwt, JWT]",
        );
    case "algorithm":
      return told(
        `It is signed with ${text(header.alg)}; expected ${algorithms.join(", ")}`,
        "Choose one of these for access tokens at the provider (Keycloak: the client, tab Advanced,\n" +
          "Access token signature algorithm)",
      );
    case "issuer":
      return told(
        `Its iss is ${text(claims["iss"])}; expected ${text(issuer)}`,
        `If that is your provider, write it as issuer, to the letter: a slash at the end counts`,
      );
    case "key":
    case "signature":
      return told(
        `None of the issuer's keys signed it (kid ${text(header.kid)})`,
        "Get a new token: the provider may have changed its keys; compare jwks_uri with the provider's",
      );
    case "audience":
      if (claims["aud"] === undefined && claims["sub"] === undefined) {
        return told(
          "It has neither aud nor sub",
          "Keycloak: in the client, tab Advanced, switch off Always use lightweight access token; or switch on\n" +
            "Add to lightweight access token in the mappers of sub, audience and groups",
        );
      }
      return told(
        `Its aud is ${text(claims["aud"])}; expected ${text(audience)} to be in it`,
        "Keycloak: add an Audience mapper with Included Custom Audience and Add to access token\n" +
          "Auth0, Okta: the client must ask for the API that has this name\n" +
          "Or write the name that the provider gives as audience, unless it is a client's ID",
      );
    case "expired":
      return told(`It ended at ${time(claims["exp"])}`, "Get a new token, and check both clocks");
    case "not_yet_valid":
      return told(`It begins at ${time(claims["nbf"])}`, "Check the clocks of both machines");
    case "claims":
      return told(
        `Its sub is ${text(claims["sub"])} and its exp ${text(claims["exp"])}; expected a text and a number`,
        "Keycloak: give the client the scope basic, as Default",
      );
    case "inactive":
      return told(
        "The issuer calls it inactive",
        "Get a new token; if that is inactive too, check which client introspection.client_id is",
      );
    case "account":
      return told("The account of its name is disabled", "Enable it with -enable-user");
    case "unavailable":
      return told("The issuer could not be asked", "Run -doctor without -check-token, which says why");
  }
}

/** @param remedy text for the reader, in lines */
function told(message: string, remedy: string): CheckResult {
  return error(message, remedy.split("\n").map((line) => `-- ${line}`).join("\n"));
}

/** What it gives its caller, and what one may have expected it to give. */
function accepted(
  principal: IssuerPrincipal,
  { usernameClaim, groupsClaim, requiredScopes = [] }: TokenCheckSettings,
  config: Config | undefined,
): CheckResult[] {
  const { subject, name, groups, scopes = [] } = principal;
  const list = (values: readonly string[]) => values.length === 0 ? "none" : values.join(", ");
  const found = [
    note(`it lets in ${name ?? subject} (sub ${subject}), groups: ${list(groups)}, scopes: ${list(scopes)}`),
    ...(config === undefined ? [] : [note(rightsText(principal, config))]),
  ];
  const missing = requiredScopes.filter((scope) => !scopes.includes(scope));
  if (missing.length > 0) {
    found.push(error(
      `It lacks the scopes ${missing.join(", ")}, which required_scopes asks for`,
      "-- Let the client ask for them, and the provider give them",
    ));
  }
  if (name === undefined) {
    found.push(warning(
      `It has no name in the claim ${usernameClaim}`,
      "-- Lists and logs show sub. Keycloak: give the client the scope profile; or set username_claim",
    ));
  }
  if (groupsClaim !== undefined && groups.length === 0) {
    found.push(warning(
      `It has no groups in the claim ${groupsClaim}`,
      `-- Keycloak: add a Group Membership mapper with the Token Claim Name ${groupsClaim}; or put the user in a group`,
    ));
  }
  const [path] = groups.filter((group) => group.startsWith("/"));
  if (path !== undefined) {
    found.push(warning(
      `Its groups are paths: ${path}`,
      `-- Write group:${path} in available_to_users, or switch off Full group path in Keycloak's mapper`,
    ));
  }
  return found;
}
