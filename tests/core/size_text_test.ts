import assert from "node:assert/strict";
import { sizeText } from "../../src/core/text/units.ts";

Deno.test("sizeText() gives sizes in the unit that people read", () => {
  const sizes: readonly (readonly [bytes: number, text: string])[] = [
    [0, "0 bytes"],
    [1, "1 byte"],
    [1023, "1023 bytes"],
    [1024, "1 KiB"],
    [1536, "1.5 KiB"],
    [3_000, "2.9 KiB"],
    [1024 ** 2 - 1, "1 MiB"],
    [1024 ** 2, "1 MiB"],
    [50 * 1024 ** 2, "50 MiB"],
    [2.25 * 1024 ** 3, "2.3 GiB"],
    [5_000 * 1024 ** 3, "5000 GiB"],
  ];
  for (const [bytes, text] of sizes) assert.equal(sizeText(bytes), text);
});
