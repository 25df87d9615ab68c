import assert from "node:assert/strict";
import fc from "fast-check";
import { anyText } from "../support/any_text.ts";
import { foldText, words } from "../../src/text/words.ts";

Deno.test("words() folds case, diacritics and compatibility forms and keeps numbers whole", () => {
  assert.deepEqual(words("Crème BRÛLÉE costs 3.50, ﬁne Straße Łódź order_lines"), [
    "creme",
    "brulee",
    "costs",
    "3.50",
    "fine",
    "strasse",
    "lodz",
    "order",
    "lines",
  ]);
});

Deno.test("words() makes pairs of characters where a script has no spaces", () => {
  assert.deepEqual(words("PostgreSQL数据库 v2"), ["postgresql", "数据", "据库", "v2"]);
  assert.deepEqual(words("猫"), ["猫"]);
});

Deno.test("words() of no words is empty", () => {
  assert.deepEqual(words(" …!? 🎉"), []);
});

Deno.test("words() gives folded words of any text", () => {
  fc.assert(fc.property(anyText(), (text) => {
    for (const word of words(text)) {
      assert.notEqual(word, "");
      assert.equal(foldText(word), word);
    }
  }));
});

Deno.test("words() takes lone surrogates", () => {
  assert.deepEqual(words("a \ud800 b\udc00c"), ["a", "b", "c"]);
});
