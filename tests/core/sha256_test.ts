import assert from "node:assert/strict";
import { sha256, startSha256 } from "../../src/core/text/sha256.ts";

Deno.test("sha256() gives hex digits of bytes, of a text as UTF-8, and of pieces", () => {
  // FIPS 180-4's example, and what sha256sum prints of "grün"
  const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const green = "fe263064ba02eaeac482aaf1309553779bdb78e385cb1374654de293e191d785";
  assert.equal(sha256("abc"), abc);
  assert.equal(sha256(new Uint8Array([97, 98, 99])), abc);
  assert.equal(startSha256().update("a").update("bc").digest("hex"), abc);
  assert.equal(sha256("grün"), green);
});
