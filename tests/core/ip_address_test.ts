import assert from "node:assert/strict";
import fc from "fast-check";
import { canonicalIpAddress } from "../../src/core/ip_address.ts";

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
