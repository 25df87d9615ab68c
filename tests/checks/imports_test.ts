import assert from "node:assert/strict";
import program from "../../deno.json" with { type: "json" };
import tests from "../deno.json" with { type: "json" };

Deno.test("the tests have the program's packages, and their own beside them, which the program never downloads", () => {
  const { imports, ...rest } = tests;
  for (const [name, specifier] of Object.entries(program.imports)) {
    assert.equal(new Map(Object.entries(imports)).get(name), specifier);
  }
  const { unstable, compilerOptions, fmt: { lineWidth } } = program;
  assert.deepEqual(rest, { unstable, compilerOptions, fmt: { lineWidth } });
});
