import { isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import { AppError } from "./app_error.ts";

/**
 * The one text of an IPv4 or IPv6 address: dotted decimals for IPv4, IPv4-mapped IPv6 too (RFC 4291, section 2.5.5.2), and
 * RFC 5952 for IPv6. Undefined for other text. A zone id is dropped: it means nothing on another machine. An octet with a
 * leading zero is refused, since some programs read it as octal.
 */
export function canonicalIpAddress(text: string): string | undefined {
  const [, address = "", zone] = /^([^%]*)(%[\w.~%-]+)?$/.exec(text) ?? [];
  if (zone === undefined && isIPv4(address)) return address;
  if (!isIPv6(address)) return undefined;
  // ipaddr.js takes octal, and ::192.0.2.1 as if it were IPv4-mapped, so it is only given what the runtime has read
  const written = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  return written.startsWith("::ffff:") ? ipaddr.process(written).toString() : written;
}

/** As canonicalIpAddress(), of text that is written as IPv6, IPv4-mapped too: as URLs have it between brackets. */
export function canonicalIpv6Address(text: string): string | undefined {
  return text.includes(":") ? canonicalIpAddress(text) : undefined;
}

/** Whether only this machine can reach a host: `localhost`, `127.0.0.0/8` and `::1`. */
export function isLoopback(host: string): boolean {
  const address = canonicalIpAddress(host);
  if (address === undefined) return /^(.*\.)?localhost$/i.test(host);
  return address.startsWith("127.") || address === "::1";
}

/** How many bits of an IPv4-mapped IPv6 address stand before the address of IPv4. */
const mappedBits = 96;

/** The addresses that share their first `bits` with `base`. */
export interface AddressBlock {
  readonly base: ipaddr.IPv4 | ipaddr.IPv6;
  readonly bits: number;
}

/**
 * Reads an address or a CIDR block (`192.0.2.1`, `192.0.2.0/24`, `2001:db8::/32`); undefined for other text. Bits of the
 * address after the prefix are ignored. A zone id is refused: a block holds what is in it on every interface.
 */
export function parseAddressBlock(text: string): AddressBlock | undefined {
  const [, address = "", bitsText] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const base = canonicalIpAddress(address);
  if (base === undefined) return undefined;
  const width = address.includes(":") ? 128 : 32;
  const bits = Number(bitsText ?? width);
  if (bits > width) return undefined;
  const isMapped = width === 128 && !base.includes(":");
  // of an IPv4-mapped block what is left of IPv4; a wider one is of IPv6
  if (isMapped && bits < mappedBits) return { base: ipaddr.IPv6.parse(address), bits };
  return { base: ipaddr.parse(base), bits: isMapped ? bits - mappedBits : bits };
}

/** The same. @throws {AppError} `invalid` for a text that is no block */
export function requireAddressBlock(text: string): AddressBlock {
  const block = parseAddressBlock(text);
  if (block !== undefined) return block;
  const reason = "expected an address or CIDR such as 10.0.0.0/8";
  throw new AppError("invalid", `Cannot read the address block ${JSON.stringify(text)}: ${reason}`);
}

/** Whether a canonical address is in one of several blocks; one of IPv6, `::/0` included, holds none of IPv4. */
export function isInBlocks(address: string, blocks: readonly AddressBlock[]): boolean {
  const parsed = ipaddr.parse(address);
  return blocks.some(({ base, bits }) => parsed.kind() === base.kind() && parsed.match(base, bits));
}

/** The block of so many bits that a canonical address of IPv6 is in; an address of IPv4 as it is. */
export function formatIpv6Block(address: string, bits: number): string {
  return address.includes(":")
    ? `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`)}/${bits}`
    : address;
}

/** A place to listen on; the host is empty where every interface is meant. */
export interface ListenAddress {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
}

/** Reads `:8080`, `127.0.0.1:8080`, `localhost:8080` or `[::1]:8080`; undefined for anything else. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]*)):(\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const port = Number(match[3]);
  if (port > 65_535 || (match[1] !== undefined && canonicalIpv6Address(match[1]) === undefined)) {
    return undefined;
  }
  return { host: match[1] ?? match[2] ?? "", port };
}

/** An address as a URL writes it. */
export function formatListenAddress({ host, port }: ListenAddress): string {
  return `${host.includes(":") ? `[${host}]` : host || "0.0.0.0"}:${port}`;
}

/** Whether two listeners would fight for one port: equal ports, and equal hosts or one of them every interface. */
export function addressesCollide(left: ListenAddress, right: ListenAddress): boolean {
  if (left.port !== right.port || left.port === 0) return false;
  const hosts = [left.host, right.host].map((host) => canonicalIpAddress(host) ?? host.toLowerCase());
  return hosts[0] === hosts[1] || hosts.some((host) => host === "" || host === "0.0.0.0" || host === "::");
}
