import assert from "node:assert/strict";
import fc from "fast-check";
import { stringify } from "yaml";
import { configSchema } from "../../../src/config/schema/config_schema.ts";
import { ConfigError, faultText, loadConfig } from "../../../src/config/mod.ts";
import { leafSchemas } from "../../../src/config/schema/schema_walk.ts";
import { optionsFor } from "../../config/load_options.ts";
import { readYamlDocument } from "../../../src/core/yaml/yaml_document.ts";

Deno.test("readYamlDocument() says where values and keys are written", () => {
  const { document } = readYamlDocument(
    "http:\n  tls:\n    enabled: true\nlist: [ a, { b: 0123 } ]\nnothing:\n",
  );
  assert.deepEqual(document?.place(["http", "tls", "enabled"]), { line: 3, column: 14 });
  assert.deepEqual(document?.place(["http", "tls", "enabled"], "key"), { line: 3, column: 5 });
  assert.deepEqual(document?.place(["http", "tls"]), { line: 2, column: 3 });
  assert.deepEqual(document?.place(["http", "tls", "missing", "further"]), { line: 2, column: 3 });
  assert.deepEqual(document?.place(["list", 1, "b"]), { line: 4, column: 17 });
  assert.deepEqual(document?.place(["list", 7]), { line: 4, column: 1 });
  assert.deepEqual(document?.place(["nothing"]), { line: 5, column: 1 });
  assert.equal(document?.place(["elsewhere"]), undefined);
  assert.equal(document?.sourceText(["list", 1, "b"]), "0123");
});

Deno.test("readYamlDocument() refuses what is no single, finite mapping", () => {
  const cases: [string, RegExp][] = [
    ["a: [1\nb: 2", /^line 2, column 1: /],
    ["a: 1\n---\nb: 2", /^line 2, column 1: a second document starts here; the file may hold only one$/],
    ["a: *missing", /Unresolved alias/],
    ["a: &a [x]\nb: { <<: *a }", /Merge sources must be maps/],
    [
      "a: 1\nb: &b [x, *b]",
      /^line 2, column 11: b\[1\]: the alias stands within what it names, which would never end$/,
    ],
    ["a: &a\n  b: { c: *a }", /^line 2, column 8: a\.b\.c: the alias stands within/],
    ["text", /^line 1, column 1: expected a mapping of settings$/],
  ];
  for (const [text, message] of cases) {
    const { document, faults } = readYamlDocument(text);
    assert.equal(document, undefined, text);
    assert.match(faultText(faults[0] ?? assert.fail(text)), message);
  }
});

Deno.test("readYamlDocument() gives up on absurd nesting with a few faults", () => {
  const { document, faults } = readYamlDocument("a: " + "[".repeat(100_000));
  assert.equal(document, undefined);
  assert.ok(faults.length >= 1 && faults.length <= 5, `${faults.length} faults`);
});

Deno.test("loadConfig() answers any file with a configuration or with faults", async () => {
  const names = new Set([...leafSchemas(configSchema)].flatMap(([path]) => path.map(String)));
  const scalar = fc.oneof(
    fc.constantFrom(null, true, 0, 1, -1, 1.5, "", "x", "1 MiB", "30s", ":80", "memory"),
    fc.string(),
  );
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      scalar,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names, "__proto__", "constructor"), tie("value"), { maxKeys: 6 }),
    ),
  })).value;
  await fc.assert(
    fc.asyncProperty(fc.oneof(value.map((tree) => stringify(tree)), fc.string()), async (text) => {
      try {
        await loadConfig(optionsFor(text, { env: { PGHOST: "db" } }));
      } catch (error) {
        assert.ok(error instanceof ConfigError, `${error}`);
        assert.notEqual(error.faults.length, 0);
      }
    }),
    { numRuns: 300 },
  );
});
