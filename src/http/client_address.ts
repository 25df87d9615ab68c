import {
  canonicalIpAddress,
  canonicalIpv6Address,
  isInBlocks,
  requireAddressBlock,
} from "../core/address.ts";
import type { ClientHeader } from "./client_header_kinds.ts";

export interface ClientAddressOptions {
  /** The header in which the proxies name the client. Optional: without it, the network peer is the client. */
  readonly header?: ClientHeader;
  /** Addresses and CIDR blocks whose header is believed. */
  readonly trustedProxies: readonly string[];
}

/** The address of a request's client, in its one canonical text; `peer` is the other end of the connection. */
export type ClientAddress = (peer: string, headers: Headers) => string;

/**
 * Tells a client's address where reverse proxies stand before the server. The header counts only on a connection from a
 * trusted proxy, and is read from the right: each trusted hop vouches for the one to its left, and the first that is not
 * trusted is the client. Where every hop is trusted, the farthest is. A value that is no address, and a chain of over
 * 100 hops, count as the peer. `X-Real-IP` names the client itself, in its last value.
 *
 * @throws AppError `invalid` naming an entry of `trustedProxies` that is no block
 */
export function createClientAddress(options: ClientAddressOptions): ClientAddress {
  const { header } = options;
  const trusted = options.trustedProxies.map(requireAddressBlock);
  return (peer, headers) => {
    const peerAddress = canonicalIpAddress(peer);
    if (peerAddress === undefined) return peer;
    const value = header !== undefined && isInBlocks(peerAddress, trusted) ? headers.get(header) ?? "" : "";
    return clientIn(value) ?? peerAddress;
  };

  function clientIn(value: string): string | undefined {
    let farthest: string | undefined;
    let hops = 0;
    for (const element of elementsFromRight(value)) {
      if (++hops > mostHops) return undefined;
      const node = header === "Forwarded" ? forParameter(element) : element;
      const hop = node === undefined ? undefined : parseNode(node);
      if (hop === undefined || header === "X-Real-IP" || !isInBlocks(hop, trusted)) return hop;
      farthest = hop;
    }
    return farthest;
  }
}

const mostHops = 100;

/**
 * The elements of a list header (RFC 9110, section 5.6.1) from the right, where the nearest proxy writes; empty ones are
 * left out. Commas inside quoted strings do not count. Reading from that end, nothing that a client puts at the left end,
 * such as a quote that it never closes, changes how the elements of the proxies are read.
 */
function* elementsFromRight(header: string): Generator<string> {
  let end = header.length;
  let quoted = false;
  for (let index = header.length - 1; index >= 0; index--) {
    const char = header[index];
    if (char === '"') {
      if (!quoted || !isEscaped(header, index)) quoted = !quoted;
    } else if (char === "," && !quoted) {
      const element = header.slice(index + 1, end).trim();
      if (element !== "") yield element;
      end = index;
    }
  }
  const first = header.slice(0, end).trim();
  if (first !== "") yield first;
}

/**
 * The `for` parameter of one element of a `Forwarded` header (RFC 7239, section 4), unquoted; undefined where the element
 * has none, has it twice or is malformed.
 */
function forParameter(element: string): string | undefined {
  const values: (string | undefined)[] = [];
  for (let index = 0; index < element.length;) {
    nextPair.lastIndex = index;
    const match = nextPair.exec(element);
    if (match === null) return undefined;
    const [whole, name, token, quoted] = match;
    if (name?.toLowerCase() === "for") values.push(token ?? quoted?.replace(/\\(.)/g, "$1"));
    index += whole.length;
  }
  return values.length === 1 ? values[0] : undefined;
}

/**
 * The canonical address of a node (RFC 7239, section 6) or of an `X-Forwarded-For` entry: `192.0.2.1`, `192.0.2.1:4711`,
 * `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:4711`. Undefined for `unknown`, `_hidden` and what is no address.
 */
function parseNode(text: string): string | undefined {
  if (text.length > longestNode) return undefined;
  const bracketed = /^\[([^\]]*)\](.*)$/.exec(text);
  if (bracketed !== null) {
    const [, address = "", port = ""] = bracketed;
    return isPort(port) ? canonicalIpv6Address(address) : undefined;
  }
  const withPort = /^([\d.]+)(:.*)$/.exec(text);
  if (withPort === null) return canonicalIpAddress(text);
  const [, address = "", port = ""] = withPort;
  // digits before a colon, without a dot, may begin an IPv6 address
  return address.includes(".") && isPort(port) ? canonicalIpAddress(address) : canonicalIpAddress(text);
}

const longestNode = 120;
// a value may hold the colons and brackets of an address without the quotes that RFC 7239 asks for, as some proxies send it
const nextPair = /(?:([\w!#$%&'*+.^`|~-]+)=(?:([^\s",;=]+)|"((?:[^"\\]|\\.)*)"))?[ \t]*(?:;[ \t]*|$)/y;

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0;
  while (text[index - 1 - backslashes] === "\\") backslashes++;
  return backslashes % 2 === 1;
}

function isPort(text: string): boolean {
  const digits = /^:(\d{1,5})$/.exec(text)?.[1];
  return text === "" || Number(digits) <= 65_535 || /^:_[A-Za-z0-9._-]+$/.test(text);
}
