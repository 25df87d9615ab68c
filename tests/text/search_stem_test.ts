import assert from "node:assert/strict";
import { searchStem } from "../../src/text/search_stem.ts";

const families = [
  "carry carries carried carrying",
  "employee employees",
  "stop stops stopped stopping",
  "fill filled filling",
  "heat heats heated heating heater",
  "calculate calculates calculated calculation calculations calculating calculator",
  "organize organized organizing organisation organization",
  "slow slowly slowness",
  "aerodynamic aerodynamics aerodynamical",
  "leave leaves",
];

for (const family of families) {
  Deno.test(`searchStem() gives one stem for ${family}`, () => {
    assert.deepEqual(
      new Set(family.split(" ").map(searchStem)).size,
      1,
      family.split(" ").map(searchStem).join(),
    );
  });
}

Deno.test("searchStem() keeps different words apart", () => {
  const different = "policy police wing ring king string sing bed red need seed thing 2024 быстро".split(" ");
  assert.equal(new Set(different.map(searchStem)).size, different.length);
});
