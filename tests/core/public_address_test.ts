import assert from "node:assert/strict";
import { isPublicAddress } from "../../src/http/public_document.ts";

const cases: readonly (readonly [boolean, string])[] = [
  [true, "1.1.1.1"],
  [true, "172.32.0.1"],
  [true, "2606:4700:4700::1111"],
  [false, "127.0.0.1"],
  [false, "0.0.0.0"],
  [false, "10.1.2.3"],
  [false, "100.64.0.1"],
  [false, "169.254.169.254"],
  [false, "172.16.0.1"],
  [false, "192.168.1.1"],
  [false, "198.18.0.1"],
  [false, "224.0.0.1"],
  [false, "255.255.255.255"],
  [false, "::1"],
  [false, "::"],
  [false, "::ffff:127.0.0.1"],
  [false, "::ffff:10.0.0.1"],
  [false, "64:ff9b::a00:1"],
  [false, "2002:7f00:1::"],
  [false, "fc00::1"],
  [false, "fe80::1"],
  [false, "fe80::1%eth0"],
  [false, "ff02::1"],
  [false, "2001:db8::1"],
  [false, "192.0.0.1"],
  [false, "192.0.2.1"],
  [false, "192.31.196.1"],
  [false, "192.52.193.1"],
  [false, "192.88.99.1"],
  [false, "192.175.48.1"],
  [false, "198.51.100.1"],
  [false, "203.0.113.1"],
  [false, "240.0.0.1"],
  [false, "2001::1"],
  [false, "2620:4f:8000::1"],
  [false, "3fff::1"],
  [false, "4000::1"],
  [false, "1000::1"],
  [false, "localhost"],
];

for (const [isPublic, address] of cases) {
  Deno.test(`isPublicAddress() ${isPublic ? "takes" : "refuses"} ${address}`, () => {
    assert.equal(isPublicAddress(address), isPublic);
  });
}
