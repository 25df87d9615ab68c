import assert from "node:assert/strict";
import { isAddressBlock } from "../../src/config/address_block.ts";

Deno.test("isAddressBlock() takes addresses and CIDR blocks of both families", () => {
  for (const text of ["10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "::1", "2001:db8::/32", "::/128"]) {
    assert.ok(isAddressBlock(text), text);
  }
  for (
    const text of [
      "",
      "10.0.0",
      "10.0.0.256",
      "10.0.0.0/33",
      "::/129",
      "10.0.0.0/8/8",
      "10.0.0.0/",
      "proxy",
      "1::2::3",
    ]
  ) {
    assert.ok(!isAddressBlock(text), text);
  }
});
