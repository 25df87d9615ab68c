import assert from "node:assert/strict";
import { jsonRpcRows, providerRows, ragRows, statusRows } from "../../tools/errors_page.ts";

Deno.test("docs/errors.md has every error", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/errors.md", import.meta.url));
  const rows = page.split("\n").filter((line) => line.startsWith("| `")).map((line) =>
    line.slice(1, -1).split("|").map((cell) => cell.trim())
  );
  assert.deepEqual(
    rows,
    [...jsonRpcRows(), ...statusRows(), ...ragRows(), ...providerRows()],
    "run: deno run -A tools/build_errors_page.ts && deno fmt docs",
  );
});
