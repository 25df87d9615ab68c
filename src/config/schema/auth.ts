import { z } from "zod";
import { longestPasswordBytes } from "../../identity/users/password_limits.ts";
import {
  checked,
  choice,
  duration,
  filePath,
  hostName,
  integer,
  issuerAddress,
  issuerUrl,
  keptEmpty,
  list,
  parsed,
  scope,
  section,
  text,
  toggle,
} from "./field_types.ts";
import { tokenAlgorithms, tokenTypes } from "../../identity/issuer/issuer_kinds.ts";
import { isLoopback } from "../../core/address.ts";
import { parseDuration } from "../../core/text/units.ts";

/** A lifetime that is longer than nothing; the parsed value is in milliseconds. */
export const lifetime = () =>
  parsed("a duration of a second or more, such as 10m, 1h or 30d", (value) => {
    const ms = parseDuration(value);
    return ms !== undefined && ms >= 1_000 ? ms : undefined;
  });

/** RFC 8414, section 2, but for loopback, where no certificate is to be had. */
const issuer = () =>
  checked(
    "a URL such as https://mcp.example.com, without a query or fragment; http:// only for this machine itself",
    isIssuer,
  );

function isIssuer(value: string): boolean {
  if (!/^https?:\/\/[^?#\s\\]+$/i.test(value)) return false;
  const url = URL.parse(value);
  if (url === null || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || isLoopback(url.hostname.replace(/^\[|\]$/g, ""));
}

/** RFC 8252, section 7: an app's own scheme, a claimed https URL, or loopback. */
const redirectUri = () =>
  checked(
    "an https URL, an http URL of this machine itself, or a URL of an app's own scheme, without a fragment",
    isRedirectUri,
  );

/** Schemes that a browser acts on by itself. */
const schemesOfBrowsers =
  /^(?:javascript|data|vbscript|file|blob|about|filesystem|view-source|ws|wss|ftp|mailto|tel):$/;

function isRedirectUri(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || value.includes("#") || /[\s\\]/.test(value)) return false;
  if (url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:") return true;
  if (url.protocol === "http:") return isLoopback(url.hostname.replace(/^\[|\]$/g, ""));
  return !schemesOfBrowsers.test(url.protocol);
}

const colour = () => {
  const error = 'expected a colour such as "#15AABF"';
  return z.string({ error }).regex(/^#(?:[\da-f]{3}|[\da-f]{6})$/i, { error });
};

const imageSuffixes = /\.(?:png|jpe?g|gif|webp)$/i;

const loginPage = section({
  title: text().prefault("Sign in").describe("Heading of the login page; your organisation's name, say"),
  message: text().optional().describe("Notice above the form; a blank line begins a new paragraph"),
  logo_file: filePath().refine((value) => imageSuffixes.test(value), {
    // no SVG: it can hold scripts, and the page's own address would serve it
    error: "expected a file whose name ends with .png, .jpg, .jpeg, .gif or .webp",
  }).optional().describe("Logo: PNG, JPEG, GIF or WebP"),
  primary_colour: colour().prefault("#0B7285").describe("Colour of buttons"),
});

/** The built-in authorization server; without an issuer there is none. Names and meaning are pgEdge's. */
export const oauth = section({
  issuer: issuer().optional().describe(
    "Address under which clients reach this server; if set, users can log in with OAuth",
  ),
  access_token_lifetime: lifetime().prefault("1h").describe("How long an access token is valid"),
  refresh_token_lifetime: lifetime().prefault("24h").describe(
    "How long a client can be away before its user has to log in again",
  ),
  authorization_code_lifetime: lifetime().prefault("10m").describe(
    "How long a client may take to exchange a code",
  ),
  device_code_lifetime: lifetime().prefault("15m").describe(
    "How long a user may take to enter a device's code",
  ),
  allow_dynamic_registration: toggle().prefault(true).describe("Let clients register themselves (RFC 7591)"),
  allow_client_id_metadata_documents: toggle().prefault(true).describe(
    "Let a client's ID be the https URL of a document that describes it; Postern fetches that document",
  ),
  allowed_redirect_uris: list(redirectUri()).prefault([
    "https://claude.ai/api/mcp/auth_callback",
    "http://127.0.0.1/callback",
    "http://localhost/callback",
  ]).describe(
    "Addresses to which a login may lead back, exactly; the port of this machine's own addresses may differ",
  ),
  login_page: loginPage.prefault({}),
});

/** Which ways in there are; a file that says nothing has all of them. */
const methods = section({
  api_tokens: toggle().prefault(true).describe("Accept API tokens"),
  password_login: toggle().prefault(true).describe("Offer `authenticate_user`"),
  oauth: toggle().prefault(true).describe(
    "Run the authorization server where `oauth.issuer` is set; on the RAG server, accept its tokens",
  ),
});

/**
 * How a server tells who is calling: the same settings for both. What `server.auth` leaves out, but for `enabled`, is as
 * in `http.auth` (config.ts).
 */
export const auth = (defaults: { readonly enabled: boolean }) =>
  section({
    enabled: toggle().prefault(defaults.enabled).describe(
      "Require a token on every request but probes and a login",
    ),
    token_file: filePath().prefault("tokens.yaml").describe(
      "File of API tokens; Postern makes it when it first writes a token",
    ),
    user_file: filePath().prefault("users.yaml").describe(
      "File of user accounts",
    ),
    session_lifetime: duration().prefault("24h").describe("How long a session lasts"),
    password_min_length: integer(1, longestPasswordBytes).prefault(12).describe(
      "Least number of characters of a password",
    ),
    rate_limit_window_minutes: integer(1).prefault(15).describe(
      "Minutes for which a failed login of an address counts",
    ),
    rate_limit_max_attempts: integer(1).prefault(10).describe(
      "Failed logins that an address may have in that time",
    ),
    max_failed_attempts_before_lockout: integer(0).prefault(0)
      .describe("Failed logins in a row that lock an account; 0: never"),
    identity_provider: identityProvider.optional(),
    methods: methods.prefault({}),
  });

export type AuthConfig = z.output<ReturnType<typeof auth>>;

/** An issuer elsewhere, whose access tokens let callers in. */
const identityProvider = section({
  issuer: issuerUrl().describe("Issuer of the tokens, as their `iss` has it to the letter"),
  audience: text().describe("What a token's `aud` must hold, such as `resource_url`"),
  jwks_uri: issuerAddress().optional().describe(
    "Address of the issuer's keys; without it, Postern asks the issuer",
  ),
  algorithms: list(choice(...tokenAlgorithms)).optional().describe(
    "How tokens may be signed: RS256, PS256, ES256, EdDSA; without it, in each of these ways",
  ),
  token_types: list(choice(...tokenTypes)).optional().describe(
    "Types of JWT that are taken: at+jwt; JWT for issuers that write no type of their own; without it, at+jwt alone",
  ),
  username_claim: text().optional().describe(
    "Claim that holds the user's name; without it, `preferred_username`",
  ),
  groups_claim: text().optional().describe(
    "Claim that holds the names of the user's groups, for `group:NAME` in `available_to_users`; without it, none",
  ),
  trust_names: toggle().optional().describe(
    "Give a user the rights of the account that has the same name; without it, false",
  ),
  listed_first: toggle().optional().describe(
    "Tell clients of this issuer before the built-in authorization server; they take the first. Without it, true",
  ),
  required_scopes: list(scope()).optional().describe(
    "Scopes that every request with a token of the issuer needs",
  ),
  scopes_by_tool: z.record(z.string(), list(scope()), {
    error: "expected a mapping of tools to lists of scopes",
  }).optional().describe("Further scopes that calls of a tool need, by the tool's name"),
  introspection: section({
    client_id: text().describe("Name under which the issuer knows Postern"),
    client_secret_file: filePath().describe("File that holds the secret of that name"),
    endpoint: issuerAddress().optional().describe(
      "Address that Postern asks; without it, the one that the issuer tells",
    ),
  }).optional().describe(
    "Ask the issuer about tokens that are no JWT (RFC 7662); without it, they are refused",
  ),
});

/** An issuer at which people log in, beside Postern's accounts (OpenID Connect). */
export const login = section({
  issuer: issuerUrl().describe("Issuer at which people log in, to the letter"),
  client_id: text().describe("Name under which the issuer knows Postern"),
  client_secret_file: filePath().optional().describe("File that holds the secret of that name"),
  private_key_file: filePath().optional().describe("In its place, file that holds a private key (RFC 7523)"),
  name: text().optional().describe("What the login page calls the issuer; without it, its host"),
  scopes: list(scope()).optional().describe("Scopes to ask for; without it, openid, profile and email"),
  claims_from: choice("id_token", "userinfo").optional().describe("`userinfo` adds its claims"),
  username_claim: text().optional().describe("Claim of the name; without it, `preferred_username`"),
  groups_claim: text().optional().describe("Claim that holds the names of groups; without it, none"),
  allowed_domains: keptEmpty(list(hostName())).optional()
    .describe("Domains of which users must be, by `hd` or a verified `email`; without it, any"),
  claims_lifetime: lifetime().optional().describe("How long claims count at most; without it, 1h"),
}).optional();
