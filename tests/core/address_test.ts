import assert from "node:assert/strict";
import fc from "fast-check";
import {
  addressesCollide,
  canonicalIpAddress,
  formatListenAddress,
  isInBlocks,
  isLoopback,
  parseAddressBlock,
  parseListenAddress,
} from "../../src/core/address.ts";

const canonical: Record<string, string> = {
  "192.0.2.1": "192.0.2.1",
  "0.0.0.0": "0.0.0.0",
  "255.255.255.255": "255.255.255.255",
  "::": "::",
  "::1": "::1",
  "1::": "1::",
  "2001:0DB8:0000:0000:0000:0000:0000:0001": "2001:db8::1",
  "2001:db8:0:1:1:1:1:1": "2001:db8:0:1:1:1:1:1",
  "2001:0:0:1:0:0:0:1": "2001:0:0:1::1",
  "2001:db8:0:0:1:0:0:1": "2001:db8::1:0:0:1",
  "1:2:3:4:5:6:7::": "1:2:3:4:5:6:7:0",
  "::2:3:4:5:6:7:8": "0:2:3:4:5:6:7:8",
  "::ffff:192.0.2.1": "192.0.2.1",
  "::FFFF:c000:0201": "192.0.2.1",
  "0:0:0:0:0:ffff:192.0.2.1": "192.0.2.1",
  "::192.0.2.1": "::c000:201",
  "64:ff9b::192.0.2.33": "64:ff9b::c000:221",
  "fe80::1%eth0": "fe80::1",
  "fe80::1%25en1": "fe80::1",
};
for (const [text, expected] of Object.entries(canonical)) {
  Deno.test(`${text} is ${expected}`, () => {
    assert.equal(canonicalIpAddress(text), expected);
  });
}

const noAddress = [
  ..."|1|1.2.3|1.2.3.4.5|1.2.3.256|1.2.3.-1|01.2.3.4|1.2.3.04|0x7f.0.0.1|1.2.3.4 | 1.2.3.4|1..2.3|1.2.3.4:80"
    .split("|"),
  ...":|:::|1:::2|1::2::3|:1|1:|1:2:3:4:5:6:7|1:2:3:4:5:6:7:8:9|1:2:3:4::5:6:7:8|12345::|g::|::1.2.3|::1.2.3.4:5"
    .split("|"),
  ..."1.2.3.4::|::1.2.3.4.5|::01.2.3.4|::256.0.0.1|[::1]|::1/64|fe80::1%|1.2.3.4%eth0|localhost|１.2.3.4|::१"
    .split("|"),
  `::${"0".repeat(1000)}`,
];
Deno.test("what is no address is none", () => {
  for (const text of noAddress) assert.equal(canonicalIpAddress(text), undefined, text);
});

Deno.test("property: the canonical text reads as the same address and is its own canonical text", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const canonical = canonicalIpAddress(text);
      assert.ok(canonical, text);
      assert.equal(canonicalIpAddress(canonical), canonical);
    }),
    { numRuns: 500 },
  );
});

Deno.test("property: no text makes it throw", () => {
  fc.assert(fc.property(fc.string(), (text) => void canonicalIpAddress(text)));
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."0f:.%[]") }), (text) => void canonicalIpAddress(text)),
    { numRuns: 1000 },
  );
});

const blocks: [block: string, address: string, inside: boolean][] = [
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
for (const [block, address, inside] of blocks) {
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

Deno.test("parseListenAddress() reads hosts, IPv6 and a port alone", () => {
  assert.deepEqual(parseListenAddress(":8080"), { host: "", port: 8080 });
  assert.deepEqual(parseListenAddress("127.0.0.1:0"), { host: "127.0.0.1", port: 0 });
  assert.deepEqual(parseListenAddress("[::1]:8443"), { host: "::1", port: 8443 });
  assert.equal(formatListenAddress({ host: "::1", port: 8443 }), "[::1]:8443");
  assert.equal(formatListenAddress({ host: "", port: 80 }), "0.0.0.0:80");
});

for (const text of ["", "8080", "localhost", ":", ":70000", "a:b", "::1:8080", "host:80:90", "[nope]:80"]) {
  Deno.test(`parseListenAddress() refuses ${JSON.stringify(text)}`, () => {
    assert.equal(parseListenAddress(text), undefined);
  });
}

Deno.test("isLoopback() knows the names and numbers that only this machine reaches", () => {
  for (
    const host of [
      "localhost",
      "LOCALHOST",
      "app.localhost",
      "127.0.0.1",
      "127.8.9.1",
      "::1",
      "0:0::1",
      "::ffff:127.0.0.1",
    ]
  ) {
    assert.equal(isLoopback(host), true, host);
  }
  for (
    const host of [
      "",
      "0.0.0.0",
      "::",
      "10.0.0.1",
      "example.com",
      "localhost.example.com",
      "127.0.0.1.a",
      "127.0.0.256",
      "127.1",
      "notlocalhost",
    ]
  ) {
    assert.equal(isLoopback(host), false, host);
  }
});

Deno.test("addressesCollide() sees every interface in one of them", () => {
  const at = (host: string, port = 80) => ({ host, port });
  assert.equal(addressesCollide(at("127.0.0.1"), at("")), true);
  assert.equal(addressesCollide(at("127.0.0.1"), at("127.0.0.2")), false);
  assert.equal(addressesCollide(at("::1"), at("0:0::1")), true);
  assert.equal(addressesCollide(at("0::0"), at("::1")), true);
  assert.equal(addressesCollide(at("a"), at("a", 81)), false);
  assert.equal(addressesCollide(at("", 0), at("", 0)), false);
});
