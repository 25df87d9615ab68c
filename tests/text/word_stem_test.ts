import assert from "node:assert/strict";
import { isPlural, wordStem } from "../../src/text/word_stem.ts";

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
