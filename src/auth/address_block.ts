import { AppError } from "../core/app_error.ts";
import { type IpAddress, isIpv4, parseIpAddress } from "./ip_address.ts";

/**
 * Whether an address is in one of several blocks, each a single address or CIDR (`192.0.2.0/24`, `2001:db8::/32`); bits
 * after the prefix are ignored. A block of IPv4 takes IPv4-mapped addresses too; one of IPv6, `::/0` included, takes none
 * of IPv4.
 *
 * @throws AppError `invalid` naming the text that is no block
 */
export function createAddressBlocks(texts: readonly string[]): (address: IpAddress) => boolean {
  const blocks = texts.map(parseBlock);
  return (address) => blocks.some((block) => contains(block, address));
}

interface Block {
  readonly base: IpAddress;
  /** Of the 128 of the IPv6 or mapped address. */
  readonly bits: number;
}

const mappedBits = 96;

function parseBlock(text: string): Block {
  const [addressText = "", bitsText, ...rest] = text.trim().split("/");
  const base = parseIpAddress(addressText);
  const width = addressText.includes(":") ? 128 : 32;
  const prefix = bitsText === undefined ? width : /^\d{1,3}$/.test(bitsText) ? Number(bitsText) : NaN;
  if (base === undefined || rest.length > 0 || !(prefix <= width)) {
    throw new AppError(
      "invalid",
      `Cannot read the address block ${JSON.stringify(text)}: expected an address or CIDR such as 10.0.0.0/8`,
    );
  }
  return { base, bits: prefix + 128 - width };
}

function contains({ base, bits }: Block, address: IpAddress): boolean {
  if (bits < mappedBits && isIpv4(address)) return false;
  return base.every((group, index) => {
    const ofGroup = Math.min(Math.max(bits - index * 16, 0), 16);
    return (group ^ (address[index] ?? 0)) >> (16 - ofGroup) === 0;
  });
}
