import assert from "node:assert/strict";
import plugin, { layerFault, mayImport } from "../../tools/lint_layers.ts";

Deno.test("a layer may import from those below it", () => {
  assert.equal(layerFault("/x/src/tool_server/tools/count_rows.ts", "../../postgres/database.ts"), undefined);
  assert.equal(layerFault("/x/src/identity/a.ts", "./b.ts"), undefined);
  assert.equal(layerFault("/x/src/tool_server/a.ts", "zod"), undefined);
  assert.equal(layerFault("/x/tests/tool_server/a_test.ts", "../../src/cli/flags.ts"), undefined);
});

Deno.test("a layer may not import from those above or beside it", () => {
  assert.equal(
    layerFault("/x/src/http/a.ts", "../postgres/database.ts"),
    'Layer "http" may not import from "postgres" (allowed: core)',
  );
  assert.equal(
    layerFault("/x/src/core/a.ts", "../text/tsv.ts"),
    'Layer "core" may not import from "text" (allowed: nothing)',
  );
  assert.match(layerFault("/x/src/postgres/guard/a.ts", "../../llm/b.ts") ?? "", /may not import from "llm"/);
});

Deno.test("a layer may not take types either from those above it", () => {
  const source = 'export const a: import("../text/tsv.ts").A = 1; export type { B } from "../text/tsv.ts";';
  const faults = Deno.lint.runPlugin(plugin, "/x/src/core/a.ts", source);
  assert.deepEqual(faults.map(({ id }) => id), ["postern/layers", "postern/layers"]);
});

Deno.test("a layer that the table does not know, and a way out of src, are faults", () => {
  assert.match(layerFault("/x/src/shared/a.ts", "./b.ts") ?? "", /not in the table/);
  assert.match(layerFault("/x/src/core/a.ts", "../../tools/lint_layers.ts") ?? "", /outside src/);
});

Deno.test("config may import files of kinds and limits from any layer, and nothing else of them", () => {
  const schema = "/x/src/config/schema/http.ts";
  assert.equal(layerFault(schema, "../../llm/provider_kinds.ts"), undefined);
  assert.equal(layerFault(schema, "../../rag/filter/query_limits.ts"), undefined);
  assert.match(layerFault(schema, "../../llm/provider.ts") ?? "", /may not import from "llm"/);
  assert.match(layerFault(schema, "../../llm/provider_kinds/read.ts") ?? "", /may not import from "llm"/);
  assert.match(layerFault(schema, "../../../tools/a_kinds.ts") ?? "", /outside src/);
  assert.match(layerFault("/x/src/core/a.ts", "../llm/provider_kinds.ts") ?? "", /may not import from "llm"/);
});

Deno.test("a file of kinds or limits imports nothing", () => {
  for (const specifier of ["./provider.ts", "../core/app_error.ts", "zod", "node:path"]) {
    assert.match(layerFault("/x/src/llm/provider_kinds.ts", specifier) ?? "", /imports nothing/);
    assert.match(layerFault("/x/src/rag/query_limits.ts", specifier) ?? "", /imports nothing/);
  }
  assert.equal(layerFault("/x/src/llm/provider_kind.ts", "zod"), undefined);
});

Deno.test("docs/architecture.md has the same table", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/architecture.md", import.meta.url));
  const rows = [...page.matchAll(/^\| `(?!src\/)(\w+)\/` +\|[^|]+\| ([^|]+?) +\|$/gm)].map((
    [, layer = "", allowed = ""],
  ) => [
    layer,
    allowed === "nothing"
      ? []
      : allowed.startsWith("all")
      ? Object.keys(mayImport).filter((other) => other !== "cli" && other !== layer)
      : allowed.split(", "),
  ]);
  assert.deepEqual(
    rows,
    Object.entries(mayImport).map(([layer, allowed]) => [layer, [...allowed]]),
  );
});

Deno.test("the layers that the table has are the folders of src", () => {
  const folders = [...Deno.readDirSync(new URL("../../src", import.meta.url))].map(({ name }) => name);
  assert.deepEqual(folders.toSorted(), Object.keys(mayImport).toSorted());
});
