import { AppError } from "../core/app_error.ts";
import { canonicalIpAddress, isInBlocks, parseAddressBlock } from "../core/ip_address.ts";
import type { ClientHeader } from "./client_header_kinds.ts";
import { elementsFromRight, forParameter, parseNode } from "./forwarded_header.ts";

export interface ClientAddressOptions {
  /** The header in which the proxies name the client; absent: the network peer is the client. */
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
  const trusted = options.trustedProxies.map((text) => {
    const block = parseAddressBlock(text);
    if (block !== undefined) return block;
    const reason = "expected an address or CIDR such as 10.0.0.0/8";
    throw new AppError("invalid", `Cannot read the address block ${JSON.stringify(text)}: ${reason}`);
  });
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
