import { canonicalIpAddress, isInBlocks, parseAddressBlock } from "./address.ts";

const blocksOf = (texts: readonly string[]) => texts.flatMap((text) => parseAddressBlock(text) ?? []);

/** IANA IPv4 Special-Purpose Address Registry, multicast (RFC 5771), and what is reserved (RFC 1112). */
const specialIpv4 = blocksOf([
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
]);

/** What is given out to networks (RFC 4291, section 2.4); all other of IPv6 is special, the forms that hold IPv4 among it. */
const globalIpv6 = blocksOf(["2000::/3"]);
/** IANA IPv6 Special-Purpose Address Registry, as far as it is in that. */
const specialIpv6 = blocksOf([
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
]);

/**
 * Whether an address is one of the public internet: not of this machine, of a network of ours, of the cloud's services for
 * its machines, or of a special purpose. What a stranger has us fetch must come from such an address.
 */
export function isPublicAddress(text: string): boolean {
  const address = canonicalIpAddress(text);
  if (address === undefined || text.includes("%")) return false;
  if (!address.includes(":")) return !isInBlocks(address, specialIpv4);
  return isInBlocks(address, globalIpv6) && !isInBlocks(address, specialIpv6);
}
