import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { AppError } from "../core/app_error.ts";
import { withDeadline } from "../core/async/deadline.ts";
import { tryToClose } from "./open_connections.ts";
import { canonicalIpAddress, isInBlocks, requireAddressBlock } from "../core/address.ts";

/** What a test turns; a server uses none of it. */
export interface PublicDocumentOptions {
  readonly isAllowed?: (address: string) => boolean;
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /** PEM, besides the system's. */
  readonly caCerts?: readonly string[];
}

export interface PublicDocument {
  readonly text: string;
  /** Of `Cache-Control: max-age`; undefined where there is none. */
  readonly maxAgeSeconds: number | undefined;
}

const timeoutMs = 5_000;
const maxHeadBytes = 16 * 1024;

/**
 * The document at an https URL that a stranger named. The connection goes to the very address that was looked at, which
 * must be public: a name that leads to another one the next moment (DNS rebinding) leads nowhere else. No redirect is
 * followed, and no more than `maxBytes` is read.
 *
 * @throws {AppError} `unavailable`, which does not tell what is there; the signal's reason where that aborts
 */
export async function fetchPublicDocument(
  url: URL,
  maxBytes: number,
  signal: AbortSignal,
  options: PublicDocumentOptions = {},
): Promise<PublicDocument> {
  try {
    return await withDeadline(timeoutMs, signal, (soon) => fetchDocument(url, maxBytes, soon, options));
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Refusal ? error.message : "no document came within 5 s";
    throw new AppError("unavailable", `Cannot read ${url.href}: ${reason}`, { cause: error });
  }
}

class Refusal extends Error {}

async function fetchDocument(
  url: URL,
  maxBytes: number,
  signal: AbortSignal,
  { isAllowed = isPublicAddress, resolve = resolveHost, caCerts = [] }: PublicDocumentOptions,
): Promise<PublicDocument> {
  if (url.protocol !== "https:") throw new Refusal("it is no https URL");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = await resolve(host);
  signal.throwIfAborted();
  const [address] = addresses;
  if (address === undefined || !addresses.every(isAllowed)) {
    throw new Refusal("its host is not on the public internet");
  }
  const plain = await Deno.connect({ hostname: address, port: Number(url.port || 443) });
  const close = () => tryToClose(plain);
  signal.addEventListener("abort", close, { once: true });
  try {
    const connection = await Deno.startTls(plain, {
      hostname: host,
      caCerts: [...caCerts],
      alpnProtocols: ["http/1.1"],
    });
    const closeTls = () => tryToClose(connection);
    signal.addEventListener("abort", closeTls, { once: true });
    try {
      signal.throwIfAborted();
      await writeAll(connection, requestText(url));
      return readResponse(await readUpTo(connection, maxHeadBytes + 2 * maxBytes), maxBytes);
    } finally {
      signal.removeEventListener("abort", closeTls);
      tryToClose(connection);
    }
  } finally {
    signal.removeEventListener("abort", close);
    tryToClose(plain);
  }
}

async function resolveHost(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** HTTP/1.1 (RFC 9112); `host` and path are of a URL, which holds no control characters. */
function requestText({ host, pathname, search }: URL): string {
  return `GET ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\naccept: application/json\r\n` +
    "accept-encoding: identity\r\nuser-agent: Postern\r\nconnection: close\r\n\r\n";
}

async function writeAll(connection: Deno.Conn, text: string): Promise<void> {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(await connection.write(rest));
}

async function readUpTo(connection: Deno.Conn, maxBytes: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(maxBytes);
  let filled = 0;
  while (filled < maxBytes) {
    const count = await connection.read(bytes.subarray(filled)).catch((error) => {
      // many servers end TLS without saying so
      if (error instanceof Deno.errors.UnexpectedEof) return null;
      throw error;
    });
    if (count === null) return bytes.subarray(0, filled);
    filled += count;
    if (isWhole(bytes.subarray(0, filled))) return bytes.subarray(0, filled);
  }
  throw new Refusal("it is too large");
}

const latin1 = new TextDecoder("latin1");

/** Head and body, apart; undefined as long as the head is not there. */
function split(bytes: Uint8Array): { head: string; body: Uint8Array } | undefined {
  const end = latin1.decode(bytes.subarray(0, maxHeadBytes)).indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  return { head: latin1.decode(bytes.subarray(0, end)), body: bytes.subarray(end + 4) };
}

function field(head: string, name: string): string | undefined {
  const line = head.split("\r\n").slice(1).find((each) => each.toLowerCase().startsWith(`${name}:`));
  return line?.slice(name.length + 1).trim();
}

/** Some servers keep the connection open all the same. */
function isWhole(bytes: Uint8Array): boolean {
  const message = split(bytes);
  if (message === undefined) return false;
  const length = field(message.head, "content-length");
  if (length !== undefined) return message.body.length >= Number(length);
  return isChunked(message.head) && unchunk(message.body) !== undefined;
}

function isChunked(head: string): boolean {
  return field(head, "transfer-encoding")?.toLowerCase() === "chunked";
}

function readResponse(bytes: Uint8Array, maxBytes: number): PublicDocument {
  const message = split(bytes);
  if (message === undefined) throw new Refusal("no answer of HTTP came");
  const { head } = message;
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1];
  // of what answers otherwise nothing is told, not even its status
  if (status !== "200") throw new Refusal("it did not answer with status 200");
  const length = field(head, "content-length");
  const body = isChunked(head) ? unchunk(message.body) : message.body.subarray(0, Number(length ?? Infinity));
  if (body === undefined || (length !== undefined && !isChunked(head) && body.length < Number(length))) {
    throw new Refusal("the answer is not whole");
  }
  if (body.length > maxBytes) throw new Refusal(`it is larger than ${maxBytes} bytes`);
  const maxAge = /(?:^|,)\s*max-age\s*=\s*(\d{1,9})/i.exec(field(head, "cache-control") ?? "")?.[1];
  return {
    text: new TextDecoder().decode(body),
    maxAgeSeconds: maxAge === undefined ? undefined : Number(maxAge),
  };
}

/** A chunked body as it was (RFC 9112, section 7.1); undefined where its end is missing. */
function unchunk(bytes: Uint8Array): Uint8Array | undefined {
  const parts: Uint8Array[] = [];
  let at = 0;
  while (true) {
    const line = /^([\da-f]{1,6})[^\r\n]*\r\n/i.exec(latin1.decode(bytes.subarray(at, at + 80)));
    if (line === null) return undefined;
    const size = Number.parseInt(line[1] ?? "", 16);
    at += line[0].length;
    if (size === 0) return concatenated(parts);
    if (bytes.length < at + size + 2) return undefined;
    parts.push(bytes.subarray(at, at + size));
    at += size + 2;
  }
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** What is given out to networks (RFC 4291, section 2.4); all other of IPv6 is special, the forms that hold IPv4 among it. */
const globalIpv6 = [requireAddressBlock("2000::/3")];

/**
 * Whether an address is one of the public internet: not of this machine, of a network of ours, of the cloud's services for
 * its machines, or of a special purpose. What a stranger has us fetch must come from such an address.
 */
export function isPublicAddress(text: string): boolean {
  const address = canonicalIpAddress(text);
  if (address === undefined || text.includes("%")) return false;
  // the special purposes are those of IANA's registries, which ipaddr.js knows
  if (ipaddr.parse(address).range() !== "unicast") return false;
  return !address.includes(":") || isInBlocks(address, globalIpv6);
}
