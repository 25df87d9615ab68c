import assert from "node:assert/strict";
import { flagGroups } from "../../src/cli/flags.ts";
import { helpText } from "../../src/cli/help.ts";

Deno.test("helpText() lists every flag once, at most 100 columns wide", () => {
  const lines = helpText().split("\n");
  for (const { flag } of flagGroups.flatMap(({ flags }) => flags)) {
    const listed = lines.filter((line) => line.startsWith(`  -${flag} `) || line === `  -${flag}`);
    assert.equal(listed.length, 1, flag);
  }
  for (const line of lines) {
    assert.ok(line.length <= 100, line);
    assert.equal(line, line.trimEnd());
  }
});

Deno.test("helpText() groups flags by mode, with default and environment variable", () => {
  const text = helpText();
  const headings = [...text.matchAll(/^(\S.*):$/gm)].map(([, heading]) => heading);
  assert.deepEqual(headings, [
    "Usage",
    "The first step",
    "In every mode",
    "Tool server over HTTP",
    "RAG server",
    "First database",
    "PostgreSQL roles",
    "Credential files",
    "Administrator's operations",
    "About the program",
  ]);
  const flat = text.replaceAll(/\s+/g, " ");
  assert.match(flat, /-addr ADDRESS [^-]*\(default :8080, POSTERN_HTTP_ADDRESS\)/);
  assert.match(
    flat,
    /-db-sslmode MODE .*disable\|allow\|prefer\|require\|verify-ca\|verify-full, default prefer/,
  );
  assert.match(flat, /-http Run the tool server \(POSTERN_HTTP_ENABLED\)/);
  assert.ok(text.endsWith(".\n"));
});
