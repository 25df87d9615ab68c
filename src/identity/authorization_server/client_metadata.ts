import { AppError } from "../../core/app_error.ts";
import { fetchPublicDocument, type PublicDocument } from "../../http/public_document.ts";
import { addressGroup, createRateLimiter } from "../rate_limiter.ts";
import { isLoopback } from "../../core/address.ts";
import { parseUnambiguous } from "../../core/claims.ts";

/** What is kept of what a client says of itself (RFC 7591, section 2); it has no secret. */
interface ClientMetadata {
  readonly client_id: string;
  readonly client_name?: string;
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly application_type: "native" | "web";
  readonly token_endpoint_auth_method: "none";
}

export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
const grantTypes: readonly string[] = ["authorization_code", "refresh_token", deviceGrant];

const mostRedirectUris = 20;
const longestName = 100;

/**
 * What a client says of itself, as it is kept: without what Postern does not use, such as a logo that browsers would fetch
 * from elsewhere.
 *
 * @param fields of a registration, or of a document that describes a client
 * @param whereNotAllowed what an address does that is not allowed
 * @throws {AppError} `invalid` naming the field
 */
export function readClientMetadata(
  clientId: string,
  fields: Readonly<Record<string, unknown>>,
  isAllowed: RedirectRule,
  whereNotAllowed: "refuse" | "leave_out",
): ClientMetadata {
  const asked = texts(fields["grant_types"], "grant_types") ?? ["authorization_code", "refresh_token"];
  const grants = asked.filter((grant) => grantTypes.includes(grant));
  const usesCode = grants.includes("authorization_code");
  const given = texts(fields["redirect_uris"], "redirect_uris") ?? [];
  const allowed = given.filter(isAllowed);
  const refused = given.find((uri) => !isAllowed(uri));
  if (given.length > mostRedirectUris) throw fault("redirect_uris", `expected at most ${mostRedirectUris}`);
  if (refused !== undefined && (whereNotAllowed === "refuse" || allowed.length === 0)) {
    throw fault(
      "redirect_uris",
      `${quotedUri(refused)} is not allowed: http.auth.oauth.allowed_redirect_uris`,
    );
  }
  if (usesCode && allowed.length === 0) throw fault("redirect_uris", "expected at least one");
  if (grants.length === 0 || grants.every((grant) => grant === "refresh_token")) {
    throw fault("grant_types", `expected some of ${grantTypes.join(", ")}`);
  }
  const name = fields["client_name"];
  return {
    client_id: clientId,
    ...(typeof name === "string" && name.trim() !== "" ? { client_name: shortName(name) } : {}),
    redirect_uris: allowed,
    grant_types: grants,
    response_types: usesCode ? ["code"] : [],
    application_type: isNativeClient(allowed) ? "native" : "web",
    token_endpoint_auth_method: "none",
  };
}

function texts(value: unknown, name: string): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || !value.every((each) => typeof each === "string" && each.length <= 2_000)) {
    throw fault(name, "expected a list of texts");
  }
  return value;
}

function fault(name: string, reason: string): AppError {
  return new AppError("invalid", `${name}: ${reason}`, { data: { field: name } });
}

function quotedUri(uri: string): string {
  return JSON.stringify(uri.length > 200 ? `${uri.slice(0, 199)}…` : uri);
}

/** On one line and of a bounded length, without what would turn the reading direction. */
function shortName(name: string): string {
  const plain = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").replace(/\s+/g, " ").trim();
  const characters = Array.from(plain);
  return characters.length > longestName ? `${characters.slice(0, longestName - 1).join("")}…` : plain;
}

/**
 * Whether a client's ID is the address of a document that describes it (OAuth Client ID Metadata Document, section 3): https,
 * with a path, and without what would make one document out of several addresses.
 */
export function isDocumentAddress(clientId: string): boolean {
  if (!/^https:\/\/[^/?#@\\\s]+\/[^?#\\\s]+$/.test(clientId) || clientId.length > 500) return false;
  const url = URL.parse(clientId);
  return url !== null && !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(clientId.slice("https://".length)) &&
    url.href === clientId;
}

interface ClientDocumentsOptions {
  readonly isAllowed: RedirectRule;
  /** Milliseconds of a clock that does not go back. */
  readonly elapsedMs?: () => number;
  readonly fetch?: typeof fetchPublicDocument;
}

const maxBytes = 5 * 1024;
const mostKept = 200;
const shortestKeptMs = 60_000;
const longestKeptMs = 24 * 3_600_000;
/** How long a document that cannot be used is not asked for again. */
const refusedMs = 30_000;
const mostAtOnce = 32;
/** Whoever asks need not have logged in: one address may neither take all the room nor have us fetch for it without end. */
const mostAtOnceOfAddress = 4;
const mostAnHourOfAddress = 300;
const hourMs = 3_600_000;

export type ClientDocuments = ReturnType<typeof createClientDocuments>;

/** The documents in which clients describe themselves, fetched when they are needed and kept for as long as they say. */
export function createClientDocuments(options: ClientDocumentsOptions) {
  const { isAllowed, elapsedMs = () => performance.now(), fetch = fetchPublicDocument } = options;
  const kept = new Map<string, { readonly until: number; readonly found: Promise<ClientMetadata> }>();
  const stop = new AbortController();
  const limiter = createRateLimiter({ windowMs: hourMs, maxAttempts: mostAnHourOfAddress, now: elapsedMs });
  const underWay: string[] = [];

  /** @throws {AppError} `overloaded` where there is no room for a document, or none for that address */
  function enter(address: string): () => void {
    const group = addressGroup(address);
    const own = underWay.filter((each) => each === group).length;
    const isLimited = limiter.check(address).limited;
    if (underWay.length >= mostAtOnce || own >= mostAtOnceOfAddress || isLimited) {
      throw new AppError("overloaded", "too many documents of clients are being fetched; try again later");
    }
    limiter.recordFailed(address);
    underWay.push(group);
    return () => void underWay.splice(underWay.indexOf(group), 1);
  }

  async function read(
    clientId: string,
    leave: () => void,
  ): Promise<{ metadata: ClientMetadata; keptMs: number }> {
    try {
      const document = await fetch(new URL(clientId), maxBytes, stop.signal);
      return { metadata: readDocument(clientId, document, isAllowed), keptMs: keptFor(document) };
    } finally {
      leave();
    }
  }

  return {
    /**
     * The client of that ID, which `isDocumentAddress`.
     *
     * @param address of whoever wants to know
     * @throws {AppError} `invalid` for a document that does not describe it, `unavailable` where there is none, `overloaded`
     * where it may not be fetched now
     */
    async find(clientId: string, address: string): Promise<ClientMetadata> {
      const known = kept.get(clientId);
      if (known !== undefined && known.until > elapsedMs()) return await known.found;
      const reading = read(clientId, enter(address));
      const found = reading.then(({ metadata }) => metadata);
      // whoever waits is told; nobody need wait
      found.catch(() => {});
      keep(Infinity);
      try {
        keep((await reading).keptMs);
      } catch (error) {
        keep(refusedMs);
        throw error;
      }
      return await found;

      function keep(forMs: number): void {
        kept.delete(clientId);
        kept.set(clientId, { until: elapsedMs() + forMs, found });
        const [oldest] = kept.keys();
        if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
      }
    },
    [Symbol.dispose]: () => stop.abort(),
  };
}

function keptFor({ maxAgeSeconds = 0 }: PublicDocument): number {
  return Math.min(longestKeptMs, Math.max(shortestKeptMs, maxAgeSeconds * 1_000));
}

function readDocument(clientId: string, { text }: PublicDocument, isAllowed: RedirectRule): ClientMetadata {
  let fields: unknown;
  try {
    fields = parseUnambiguous(text);
  } catch {
    throw new AppError("invalid", "the client's document is no JSON, or has a name twice");
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
    throw new AppError("invalid", "the client's document is no JSON object");
  }
  const { client_id, client_secret, token_endpoint_auth_method: method = "none" } = fields as Record<
    string,
    unknown
  >;
  if (client_id !== clientId) throw new AppError("invalid", "client_id: expected the document's own address");
  if (client_secret !== undefined) {
    throw new AppError("invalid", "client_secret: expected none in a public document");
  }
  if (method !== "none") throw new AppError("invalid", "token_endpoint_auth_method: expected none");
  return readClientMetadata(clientId, fields as Record<string, unknown>, isAllowed, "leave_out");
}

/** Says whether a login may lead back to an address. */
type RedirectRule = (uri: string) => boolean;

/**
 * Allows what is listed, character by character; of a loopback address the port may differ (RFC 8252, section 7.3). The
 * page `/oauth/callback` of the server itself, and of each web origin that may call it, needs no entry.
 */
export function createRedirectRule(options: {
  readonly allowed: readonly string[];
  readonly issuer: string;
  readonly origins: readonly string[];
}): RedirectRule {
  const own = [options.issuer, ...options.origins].map((base) => `${base.replace(/\/$/, "")}/oauth/callback`);
  const listed = new Set([...options.allowed, ...own]);
  const loopback = new Set([...listed].flatMap((uri) => withoutLoopbackPort(uri) ?? []));
  return (uri) => {
    if (listed.has(uri)) return true;
    const bare = withoutLoopbackPort(uri);
    return bare !== undefined && loopback.has(bare);
  };
}

/** Undefined for what is no plain URL of loopback. */
function withoutLoopbackPort(uri: string): string | undefined {
  const [, host = "", rest = ""] =
    /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(\/[^#\\\s]*)?$/.exec(uri) ??
      [];
  return host === "" ? undefined : `http://${host}${rest}`;
}

/** Whether every address is of an app on the user's own machine, which may then use any port (RFC 8252). */
function isNativeClient(uris: readonly string[]): boolean {
  return uris.length > 0 && uris.every((uri) => {
    const url = URL.parse(uri);
    return url !== null && !(url.protocol === "https:" && isLoopback(url.hostname.replace(/^\[|\]$/g, "")));
  });
}
