import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { AppError } from "../core/app_error.ts";
import { withDeadline } from "../core/async/deadline.ts";
import { tryToClose } from "./open_connections.ts";
import { canonicalIpAddress, isInBlocks, requireAddressBlock } from "../core/address.ts";

export interface PublicDocumentOptions {
  /** Which addresses may be connected to; without it, those of the public internet. */
  readonly isAllowed?: (address: string) => boolean;
  /** What a test turns, as the next one; a server uses neither. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /** PEM, besides the system's. */
  readonly caCerts?: readonly string[];
}

/** What a server answers, whatever its status. */
export interface DocumentResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined where it is larger than was asked for. */
  readonly body: Uint8Array<ArrayBuffer> | undefined;
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
    return await withDeadline(timeoutMs, signal, async (soon) => {
      if (url.protocol !== "https:") throw new Refusal("it is no https URL");
      const { status, headers, body } = await requestDocument(url, maxBytes, soon, {
        ...options,
        headers: { accept: "application/json" },
      });
      // of what answers otherwise nothing is told, not even its status
      if (status !== 200) throw new Refusal("it did not answer with status 200");
      if (body === undefined) throw new Refusal(`it is larger than ${maxBytes} bytes`);
      const maxAge = /(?:^|,)\s*max-age\s*=\s*(\d{1,9})/i.exec(headers.get("cache-control") ?? "")?.[1];
      return {
        text: new TextDecoder().decode(body),
        maxAgeSeconds: maxAge === undefined ? undefined : Number(maxAge),
      };
    });
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Refusal ? error.message : "no document came within 5 s";
    throw new AppError("unavailable", `Cannot read ${url.href}: ${reason}`, { cause: error });
  }
}

class Refusal extends Error {}

/**
 * What a server answers to a GET over http or https, with the same care: the connection goes to the address that was looked
 * at, and no redirect is followed.
 *
 * @throws {Error} where the address is not allowed, or the answer is not whole; else the runtime's errors
 */
export async function requestDocument(
  url: URL,
  maxBytes: number,
  signal: AbortSignal,
  options: PublicDocumentOptions & { readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<DocumentResponse> {
  const { isAllowed = isPublicAddress, resolve = resolveHost, caCerts = [], headers = {} } = options;
  const isSecure = url.protocol === "https:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = await resolve(host);
  signal.throwIfAborted();
  const [address] = addresses;
  if (address === undefined || !addresses.every(isAllowed)) {
    throw new Refusal("its host is not on the public internet");
  }
  const plain = await Deno.connect({ hostname: address, port: Number(url.port || (isSecure ? 443 : 80)) });
  const close = () => tryToClose(plain);
  signal.addEventListener("abort", close, { once: true });
  try {
    const connection = !isSecure ? plain : await Deno.startTls(plain, {
      hostname: host,
      caCerts: [...caCerts],
      alpnProtocols: ["http/1.1"],
    });
    const closeTls = () => tryToClose(connection);
    signal.addEventListener("abort", closeTls, { once: true });
    try {
      signal.throwIfAborted();
      await writeAll(connection, requestText(url, headers));
      return readResponse(await readMessage(connection, maxBytes), maxBytes);
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
function requestText({ host, pathname, search }: URL, own: Readonly<Record<string, string>>): string {
  const usual = { host, "accept-encoding": "identity", "user-agent": "Postern", connection: "close" };
  const fields = Object.entries({ ...usual, ...own }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${pathname}${search} HTTP/1.1\r\n${fields.join("")}\r\n`;
}

async function writeAll(connection: Deno.Conn, text: string): Promise<void> {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(await connection.write(rest));
}

/** Ends as soon as the message is whole, or too large: some servers keep the connection open all the same. */
async function readMessage(connection: Deno.Conn, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const mostBytes = maxHeadBytes + 2 * maxBytes;
  let bytes = new Uint8Array(Math.min(64 * 1024, mostBytes));
  let filled = 0;
  while (filled < mostBytes) {
    if (filled === bytes.length) {
      const larger = new Uint8Array(Math.min(2 * filled, mostBytes));
      larger.set(bytes);
      bytes = larger;
    }
    const count = await connection.read(bytes.subarray(filled)).catch((error) => {
      // many servers end TLS without saying so
      if (error instanceof Deno.errors.UnexpectedEof) return null;
      throw error;
    });
    filled += count ?? 0;
    const message = bytes.subarray(0, filled);
    if (count === null || isWhole(message, maxBytes)) return message;
  }
  throw new Refusal("it is too large");
}

const latin1 = new TextDecoder("latin1");

/** Head and body, apart; undefined as long as the head is not there. */
function split(bytes: Uint8Array<ArrayBuffer>): { head: string; body: Uint8Array<ArrayBuffer> } | undefined {
  const end = latin1.decode(bytes.subarray(0, maxHeadBytes)).indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  return { head: latin1.decode(bytes.subarray(0, end)), body: bytes.subarray(end + 4) };
}

function headersOf(head: string): Headers {
  const fields = head.split("\r\n").slice(1).map((line) =>
    line.split(/:(.*)/s).slice(0, 2) as [string, string]
  );
  return new Headers(fields);
}

function isWhole(bytes: Uint8Array<ArrayBuffer>, maxBytes: number): boolean {
  const message = split(bytes);
  if (message === undefined) return false;
  const headers = headersOf(message.head);
  const length = headers.get("content-length");
  if (length !== null) return message.body.length >= Math.min(Number(length), maxBytes + 1);
  // to look for the end of the chunks from their beginning takes long
  return isChunked(headers) && latin1.decode(bytes.subarray(-5)) === "0\r\n\r\n" &&
    unchunk(message.body) !== undefined;
}

function isChunked(headers: Headers): boolean {
  return headers.get("transfer-encoding")?.toLowerCase() === "chunked";
}

function readResponse(bytes: Uint8Array<ArrayBuffer>, maxBytes: number): DocumentResponse {
  const message = split(bytes);
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(message?.head ?? "")?.[1]);
  if (message === undefined || Number.isNaN(status)) throw new Refusal("no answer of HTTP came");
  const headers = headersOf(message.head);
  const length = isChunked(headers) || status === 304 ? null : headers.get("content-length");
  if (Number(length) > maxBytes) return { status, headers, body: undefined };
  const body = isChunked(headers)
    ? unchunk(message.body)
    : message.body.subarray(0, Number(length ?? Infinity));
  if (body === undefined || (length !== null && body.length < Number(length))) {
    throw new Refusal("the answer is not whole");
  }
  return { status, headers, body: body.length > maxBytes ? undefined : body };
}

/** A chunked body as it was (RFC 9112, section 7.1); undefined where its end is missing. */
function unchunk(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
  const parts: Uint8Array<ArrayBuffer>[] = [];
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

function concatenated(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
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
