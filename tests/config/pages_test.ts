import assert from "node:assert/strict";
import { loadConfig } from "../../src/config/mod.ts";
import { optionsFor } from "./load_options.ts";

/** Pages whose YAML is configuration, and nothing else is. */
const pages = ["README.md", "docs/rag.md", "docs/operations.md", "docs/identity_provider.md"];

for (const page of pages) {
  const text = await Deno.readTextFile(new URL(`../../${page}`, import.meta.url));
  const blocks = [...text.matchAll(/^( *)```yaml\n(.*?)^ *```$/gms)];
  Deno.test(`each configuration of ${page} loads without a warning`, async () => {
    assert.ok(blocks.length > 0);
    for (const [, indent = "", block = ""] of blocks) {
      const yaml = block.replaceAll(new RegExp(`^${indent}`, "gm"), "");
      const { warnings } = await loadConfig(optionsFor(yaml));
      assert.deepEqual(warnings, [], yaml);
    }
  });
}
