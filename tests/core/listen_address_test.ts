import assert from "node:assert/strict";
import { AppError } from "../../src/core/app_error.ts";
import { formatAddress, isLoopback, parseListenAddress } from "../../src/core/listen_address.ts";

Deno.test("parseListenAddress() reads hosts, IPv6 and a port alone", () => {
  assert.deepEqual(parseListenAddress(":8080"), { hostname: "0.0.0.0", port: 8080 });
  assert.deepEqual(parseListenAddress("127.0.0.1:0"), { hostname: "127.0.0.1", port: 0 });
  assert.deepEqual(parseListenAddress("[::1]:8443"), { hostname: "::1", port: 8443 });
  assert.equal(formatAddress({ hostname: "::1", port: 8443 }), "[::1]:8443");
});

for (const text of ["", "8080", "localhost", ":", ":70000", "a:b", "::1:8080", "host:80:90"]) {
  Deno.test(`parseListenAddress() refuses ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseListenAddress(text), AppError);
  });
}

Deno.test("isLoopback() knows the names and numbers that only this machine reaches", () => {
  for (const host of ["localhost", "LOCALHOST", "app.localhost", "127.0.0.1", "127.8.9.1", "::1", "[::1]"]) {
    assert.equal(isLoopback(host), true, host);
  }
  for (
    const host of [
      "0.0.0.0",
      "::",
      "10.0.0.1",
      "example.com",
      "localhost.example.com",
      "127.0.0.1.example.com",
    ]
  ) {
    assert.equal(isLoopback(host), false, host);
  }
});
