import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { consoleFiles } from "../../tools/console_files.ts";

const committed: Readonly<Record<string, string>> = JSON.parse(
  await Deno.readTextFile(new URL("../../src/console/page_files.json", import.meta.url)),
);

Deno.test("the page that the server answers with is the one of console/ and docs/clients/", async () => {
  const built = await consoleFiles();
  const differing = Object.keys({ ...built, ...committed }).filter((name) => built[name] !== committed[name]);
  assert.deepEqual(differing, [], "run tools/build_console.ts");
});

Deno.test("the page takes at most 250 KB compressed, and 100 KB without the editor", () => {
  const sizes = Object.entries(committed).map(([name, text]) =>
    [name, gzipSync(text, { level: 9 }).length] as const
  );
  const sum = (of: typeof sizes) => of.reduce((total, [, size]) => total + size, 0);
  assert.ok(sum(sizes) <= 250_000, JSON.stringify(sizes));
  assert.ok(sum(sizes.filter(([name]) => !name.includes("editor"))) <= 100_000, JSON.stringify(sizes));
});
