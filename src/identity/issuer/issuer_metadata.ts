import { isLoopback } from "../../core/address.ts";
import { AppError } from "../../core/app_error.ts";
import { createSingleFlight } from "../../core/async/single_flight.ts";
import { fetchJson } from "./fetch_json.ts";

export interface MetadataOptions {
  readonly issuer: string;
  /** Optional: none where the issuer tells it. */
  readonly jwksUri?: string | undefined;
  readonly introspection?: {
    /** Optional: none where the issuer tells it. */
    readonly endpoint?: string | undefined;
  } | undefined;
}

/** An address at which an issuer is asked: as configured, else as it tells itself. */
interface IssuerAddress {
  /**
   * Asks the issuer where that is not known, or may have changed. Where it cannot tell then, what it told last counts.
   * @throws as {@linkcode discoverIssuer}
   */
  find(signal: AbortSignal): Promise<string>;
  /** Has the issuer asked again, once. */
  mayHaveChanged(): void;
}

/** What an issuer says of itself, as far as it is needed. */
type IssuerAddressName = "jwksUri" | "introspectionEndpoint";

/** Where an issuer's keys are and where it is asked about tokens. One that is missing does not stop the other. */
export function createMetadata(
  { issuer, jwksUri, introspection }: MetadataOptions,
): Readonly<Record<IssuerAddressName, IssuerAddress>> {
  return {
    jwksUri: createAddress(issuer, "jwksUri", jwksUri),
    introspectionEndpoint: createAddress(issuer, "introspectionEndpoint", introspection?.endpoint),
  };
}

function createAddress(
  issuer: string,
  name: IssuerAddressName,
  configured: string | undefined,
): IssuerAddress {
  const asking = createSingleFlight<string>();
  let told: string | undefined;
  let isCurrent = false;
  return {
    async find(signal) {
      if (configured !== undefined) return configured;
      if (told !== undefined && isCurrent) return told;
      try {
        told = await asking.join(signal, (signal) => discoverIssuer(issuer, name, signal));
      } catch (error) {
        if (told === undefined || signal.aborted) throw error;
      }
      isCurrent = true;
      return told;
    },
    mayHaveChanged: () => void (isCurrent = false),
  };
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
 * Reads an address in what an issuer says of itself. A document counts if its `issuer` is the issuer to the letter (RFC 8414
 * section 3.3), and if it has the address.
 *
 * @throws {AppError} `unavailable`, with what was wrong with each document; the signal's reason where that aborts
 */
export async function discoverIssuer(
  issuer: string,
  name: IssuerAddressName,
  signal: AbortSignal,
): Promise<string> {
  const faults: string[] = [];
  for (const url of wellKnownUrls(issuer)) {
    try {
      return readAddress(await fetchJson(url, signal), issuer, fieldNames[name]);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      faults.push(error.code === "invalid" ? `${url} ${error.message}` : error.message);
    }
  }
  throw new AppError("unavailable", `Cannot find out about the issuer ${issuer}: ${faults.join("; ")}`);
}

const fieldNames: Readonly<Record<IssuerAddressName, string>> = {
  jwksUri: "jwks_uri",
  introspectionEndpoint: "introspection_endpoint",
};

/** @throws {AppError} `invalid`, in words that go on from the document's address */
function readAddress(document: unknown, issuer: string, field: string): string {
  const fields = (document ?? {}) as Readonly<Record<string, unknown>>;
  if (fields["issuer"] !== issuer) {
    throw new AppError("invalid", `is of another issuer${called(fields["issuer"])}`);
  }
  const value = fields[field];
  if (value === undefined || value === null) throw new AppError("invalid", `has no ${field}`);
  if (typeof value === "string" && isIssuerAddress(value, issuer)) return value;
  throw new AppError("invalid", `has no https address as ${field}`);
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

export function isLoopbackUrl(text: string): boolean {
  return isLoopback(new URL(text).hostname.replace(/^\[|\]$/g, ""));
}
