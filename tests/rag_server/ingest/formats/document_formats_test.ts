import assert from "node:assert/strict";
import {
  documentFormats,
  formatOf,
  suffixOf,
} from "../../../../src/rag_server/ingest/formats/document_formats.ts";

Deno.test("docs/rag.md lists the formats that are read", async () => {
  const page = await Deno.readTextFile(new URL("../../../../docs/rag.md", import.meta.url));
  const table = page.split("### What is read")[1]?.split("\n### ")[0] ?? "";
  const rows = [...table.matchAll(/^\| (\w[\w-]*) +\| ([^|]*?) +\|$/gm)].slice(1);
  assert.deepEqual(
    rows.map(([, format, suffixes]) => [format, suffixes]),
    Object.entries(documentFormats).map(([format, suffixes]) => {
      const list = suffixes.filter((suffix) => suffix !== "").map((suffix) => `\`.${suffix}\``).join(", ");
      return [format, suffixes.includes("") ? `${list}, and names without a suffix` : list];
    }),
  );
});

Deno.test("a suffix is what stands behind a name's last dot", () => {
  for (
    const [path, suffix] of [
      ["a.b/README", ""],
      [".hidden", ""],
      ["x.TAR.gz", "gz"],
      ["notes.md~", "md~"],
      ["notes.", ""],
      ["a/b.c.Md", "Md"],
    ] as const
  ) assert.equal(suffixOf(path), suffix);
  assert.equal(formatOf("a/B.MD"), "Markdown");
  assert.equal(formatOf("a/b.json5"), undefined);
});
