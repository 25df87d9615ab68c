import assert from "node:assert/strict";
import { isPlural, searchStem, wordStem } from "../../src/text/word_stem.ts";

Deno.test("a noun's singular and plural have one stem", () => {
  const pairs = [
    ["order", "orders"],
    ["category", "categories"],
    ["box", "boxes"],
    ["address", "addresses"],
    ["movie", "movies"],
    ["person", "people"],
    ["child", "children"],
  ] as const;
  for (const [singular, plural] of pairs) {
    assert.equal(wordStem(plural), wordStem(singular), plural);
    assert.equal(isPlural(singular), false, singular);
    assert.equal(isPlural(plural), true, plural);
  }
});

Deno.test("words that every object has a property of are words like others", () => {
  for (const word of ["constructor", "valueof", "__proto__", "hasOwnProperty", "toString"]) {
    assert.equal(wordStem(word), word);
    assert.equal(isPlural(word), false);
  }
});

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
