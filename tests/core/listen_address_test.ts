import assert from "node:assert/strict";
import {
  addressesCollide,
  formatListenAddress,
  isLoopback,
  parseListenAddress,
} from "../../src/core/listen_address.ts";

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
