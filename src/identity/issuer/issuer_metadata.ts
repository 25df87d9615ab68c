import { isLoopback } from "../../core/address.ts";
import { AppError } from "../../core/app_error.ts";
import { fetchJson } from "./fetch_json.ts";

export interface MetadataOptions {
  readonly issuer: string;
  /** Absent where the issuer tells it. */
  readonly jwksUri?: string | undefined;
  readonly introspection?: {
    /** Absent where the issuer tells it. */
    readonly endpoint?: string | undefined;
  } | undefined;
}

/** Where an issuer's keys are and where it is asked about tokens: as configured, else as it tells itself. */
export function createMetadata({ issuer, jwksUri, introspection }: MetadataOptions) {
  const needs = [
    ...(jwksUri === undefined ? ["jwksUri" as const] : []),
    ...(introspection !== undefined && introspection.endpoint === undefined
      ? ["introspectionEndpoint" as const]
      : []),
  ];
  let found: IssuerMetadata | undefined;
  return {
    /** Asks the issuer for what is not known yet. @throws as {@linkcode discoverIssuer} */
    async read(signal: AbortSignal): Promise<{ readonly jwksUri: string }> {
      if (needs.length > 0) found ??= await discoverIssuer(issuer, needs, signal);
      return { jwksUri: jwksUri ?? found?.jwksUri ?? "" };
    },
    introspectionEndpoint: (): string | undefined => introspection?.endpoint ?? found?.introspectionEndpoint,
    /** Has what the issuer told asked for again. */
    forget: () => void (found = undefined),
  };
}

/** What an issuer says of itself, as far as it is needed. */
export interface IssuerMetadata {
  readonly jwksUri: string | undefined;
  readonly introspectionEndpoint: string | undefined;
}

/**
 * Where an issuer may describe itself, in the order of asking (MCP, Authorization Server Discovery): RFC 8414 section 3.1,
 * then OpenID Connect Discovery 1.0 with the well-known part before the issuer's path and behind it.
 */
export function wellKnownUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  return [
    ...new Set([
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}/.well-known/openid-configuration${path}`,
      `${origin}${path}/.well-known/openid-configuration`,
    ]),
  ];
}

/**
 * Reads what an issuer says of itself. A document counts if its `issuer` is the issuer to the letter (RFC 8414 section 3.3),
 * and if it has what is needed.
 *
 * @throws {AppError} `unavailable`, with what was wrong with each document; the signal's reason where that aborts
 */
export async function discoverIssuer(
  issuer: string,
  needs: readonly (keyof IssuerMetadata)[],
  signal: AbortSignal,
): Promise<IssuerMetadata> {
  const faults: string[] = [];
  for (const url of wellKnownUrls(issuer)) {
    try {
      const metadata = readMetadata(await fetchJson(url, signal), issuer);
      const missing = needs.find((name) => metadata[name] === undefined);
      if (missing === undefined) return metadata;
      faults.push(`${url} has no ${fieldNames[missing]}`);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      faults.push(error.code === "invalid" ? `${url} ${error.message}` : error.message);
    }
  }
  throw new AppError("unavailable", `Cannot find out about the issuer ${issuer}: ${faults.join("; ")}`);
}

const fieldNames: Readonly<Record<keyof IssuerMetadata, string>> = {
  jwksUri: "jwks_uri",
  introspectionEndpoint: "introspection_endpoint",
};

function readMetadata(document: unknown, issuer: string): IssuerMetadata {
  const fields = (document ?? {}) as Readonly<Record<string, unknown>>;
  if (fields["issuer"] !== issuer) {
    throw new AppError("invalid", `is of another issuer${called(fields["issuer"])}`);
  }
  const address = (name: keyof IssuerMetadata) => {
    const value = fields[fieldNames[name]];
    if (value === undefined || value === null) return undefined;
    if (typeof value === "string" && isIssuerAddress(value, issuer)) return value;
    throw new AppError("invalid", `has a ${fieldNames[name]} that is no https address`);
  };
  return { jwksUri: address("jwksUri"), introspectionEndpoint: address("introspectionEndpoint") };
}

/** A slash too many or too few is the mistake that is made most. */
function called(name: unknown): string {
  if (typeof name !== "string" || !/^https?:\/\/[\x21-\x7e]{1,200}$/.test(name)) return "";
  return `: it calls itself ${JSON.stringify(name)}; if that is the one, write it so`;
}

/** Against requests to services on this machine (SSRF): http and loopback are only for an issuer that is there itself. */
function isIssuerAddress(text: string, issuer: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  if (username !== "" || password !== "" || !["http:", "https:"].includes(protocol)) return false;
  if (isLoopbackUrl(text)) return isLoopbackUrl(issuer);
  return protocol === "https:";
}

function isLoopbackUrl(text: string): boolean {
  return isLoopback(new URL(text).hostname.replace(/^\[|\]$/g, ""));
}
