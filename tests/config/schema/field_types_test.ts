import assert from "node:assert/strict";
import { parseSize } from "../../../src/config/schema/field_types.ts";

Deno.test("parseSize() reads bytes with and without a unit", () => {
  const sizes: [string, number | undefined][] = [
    ["1048576", 1048576],
    ["1 MiB", 1048576],
    ["1MiB", 1048576],
    ["512 KiB", 524288],
    ["2GiB", 2147483648],
    ["10 MB", 10000000],
    ["8B", 8],
    ["1.5 MiB", undefined],
    ["-1", undefined],
    ["1  MiB", undefined],
    ["1 mib", undefined],
    ["MiB", undefined],
    ["", undefined],
  ];
  for (const [text, bytes] of sizes) assert.equal(parseSize(text), bytes, text);
});
