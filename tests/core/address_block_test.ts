import assert from "node:assert/strict";
import { canonicalIpAddress, isInBlocks, parseAddressBlock } from "../../src/core/ip_address.ts";

const rows: [block: string, address: string, inside: boolean][] = [
  ["10.0.0.0/8", "10.255.255.255", true],
  ["10.0.0.0/8", "11.0.0.0", false],
  ["10.1.2.3/8", "10.9.9.9", true],
  ["192.0.2.1", "192.0.2.1", true],
  ["192.0.2.1", "192.0.2.2", false],
  ["192.0.2.128/25", "192.0.2.127", false],
  ["192.0.2.128/25", "192.0.2.128", true],
  ["192.0.2.4/31", "192.0.2.5", true],
  ["192.0.2.4/31", "192.0.2.6", false],
  ["0.0.0.0/0", "203.0.113.1", true],
  ["0.0.0.0/0", "2001:db8::1", false],
  ["10.0.0.0/8", "::ffff:10.1.1.1", true],
  ["::ffff:10.0.0.0/104", "10.1.1.1", true],
  ["2001:db8::/32", "2001:db8:ffff::1", true],
  ["2001:db8::/32", "2001:db9::1", false],
  ["2001:db8::/33", "2001:db8:8000::", false],
  ["2001:db8::1", "2001:db8::1", true],
  ["2001:db8::1/127", "2001:db8::", true],
  ["::/0", "2001:db8::1", true],
  ["::/0", "192.0.2.1", false],
  ["::/64", "::ffff:192.0.2.1", false],
  ["::1", "127.0.0.1", false],
  ["fe80::/10", "febf::1%eth0", true],
];
for (const [block, address, inside] of rows) {
  Deno.test(`${block} ${inside ? "holds" : "does not hold"} ${address}`, () => {
    const [parsed, parsedBlock] = [canonicalIpAddress(address), parseAddressBlock(block)];
    assert.ok(parsed !== undefined && parsedBlock !== undefined);
    assert.equal(isInBlocks(parsed, [parsedBlock]), inside);
  });
}

for (
  const text of [
    ..."|proxy|10.0.0|10.0.0.256|10.0.0.0/33|::/129|10.0.0.0/|10.0.0.0/8/8|10.0.0.0/-1|10.0/8|/8|1::2::3"
      .split("|"),
    ..."01.2.3.4|10.0.0.08/8|0x7f.0.0.1|::1%eth0|fe80::1%eth0/64|::\n1| 10.0.0.0/8|[::1]".split("|"),
  ]
) {
  Deno.test(`${JSON.stringify(text)} is no block`, () => assert.equal(parseAddressBlock(text), undefined));
}
