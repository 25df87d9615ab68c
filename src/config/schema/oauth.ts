import { z } from "zod";
import { isLoopback } from "../../core/address.ts";
import { checked, filePath, list, parsed, section, text, toggle } from "./field_types.ts";
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
export const methods = section({
  api_tokens: toggle().prefault(true).describe("Accept API tokens"),
  password_login: toggle().prefault(true).describe("Offer `authenticate_user`"),
  oauth: toggle().prefault(true).describe(
    "Run the authorization server where `oauth.issuer` is set; on the RAG server, accept its tokens",
  ),
});
