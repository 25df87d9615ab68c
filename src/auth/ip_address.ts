/** An IP address as eight groups of 16 bits; one of IPv4 in its IPv4-mapped form (RFC 4291, section 2.5.5.2). */
export type IpAddress = readonly number[];

/**
 * Reads an IPv4 or IPv6 address; undefined for other text. A zone id is dropped: it means nothing on another machine.
 * An octet with a leading zero is refused, since some programs read it as octal.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (text.length > longestAddress) return undefined;
  if (!text.includes(":")) {
    const pair = parseIpv4(text);
    return pair && [...mappedPrefix, ...pair];
  }
  return parseIpv6(text.replace(/%[\w.~%-]+$/, ""));
}

/** The one text of an address: dotted decimals for IPv4, mapped too, and RFC 5952 for IPv6. */
export function formatIpAddress(address: IpAddress): string {
  if (isIpv4(address)) {
    return address.slice(6).flatMap((group) => [group >> 8, group & 255]).join(".");
  }
  const zeros = longestZeros(address);
  const hex = (groups: IpAddress) => groups.map((group) => group.toString(16)).join(":");
  if (zeros.length < 2) return hex(address);
  return [hex(address.slice(0, zeros.start)), hex(address.slice(zeros.start + zeros.length))].join("::");
}

/** Whether an address is of IPv4, mapped or not. */
export function isIpv4(address: IpAddress): boolean {
  return mappedPrefix.every((group, index) => address[index] === group);
}

const mappedPrefix: IpAddress = [0, 0, 0, 0, 0, 0xffff];
const longestAddress = 100;

function parseIpv4(text: string): number[] | undefined {
  const octets = text.split(".");
  if (octets.length !== 4 || !octets.every((octet) => /^(0|[1-9]\d{0,2})$/.test(octet))) return undefined;
  const [a, b, c, d] = octets.map(Number) as [number, number, number, number];
  return Math.max(a, b, c, d) <= 255 ? [a * 256 + b, c * 256 + d] : undefined;
}

function parseIpv6(text: string): IpAddress | undefined {
  const [before = "", after, ...more] = text.split("::");
  if (more.length > 0) return undefined;
  const left = parseGroups(before, after === undefined);
  const right = parseGroups(after ?? "", true);
  if (left === undefined || right === undefined) return undefined;
  const missing = 8 - left.length - right.length;
  if (after === undefined ? missing !== 0 : missing < 1) return undefined;
  return [...left, ...Array<number>(missing).fill(0), ...right];
}

function parseGroups(text: string, endsAddress: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(parseInt(part, 16));
      continue;
    }
    const pair = endsAddress && index === parts.length - 1 ? parseIpv4(part) : undefined;
    if (pair === undefined) return undefined;
    groups.push(...pair);
  }
  return groups;
}

// the first of the longest, RFC 5952 section 4.2.3
function longestZeros(address: IpAddress): { start: number; length: number } {
  let longest = { start: 0, length: 0 };
  let start = 0;
  for (const [index, group] of address.entries()) {
    if (group !== 0) start = index + 1;
    else if (index + 1 - start > longest.length) longest = { start, length: index + 1 - start };
  }
  return longest;
}
