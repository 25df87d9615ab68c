import assert from "node:assert/strict";
import fc from "fast-check";
import { anyText } from "../support/any_text.ts";
import { countTokens, cutToTokens, endOfTokens } from "../../src/text/token_count.ts";

Deno.test("cutToTokens() leaves a text that fits as it is", () => {
  assert.equal(cutToTokens("One. Two.  ", 10), "One. Two.  ");
  assert.equal(cutToTokens("", 0), "");
});

Deno.test("cutToTokens() ends with a sentence where one ends in the second half of what fits", () => {
  const text = "The first sentence is here. The second sentence is here. The third sentence is here.";
  assert.equal(cutToTokens(text, 15), "The first sentence is here. The second sentence is here.");
});

Deno.test("cutToTokens() ends with a word where no sentence ends", () => {
  assert.equal(cutToTokens("one two three four five six seven", 4), "one two three four");
  assert.equal(cutToTokens("Mr. Smith and Mrs. Jones and others", 5), "Mr. Smith and");
});

Deno.test("cutToTokens() never cuts through a character", () => {
  const family = "👩‍👩‍👧‍👦";
  for (let budget = 0; budget < 60; budget++) {
    assert.match(cutToTokens(family.repeat(5), budget), new RegExp(`^(?:${family})*$`, "u"));
  }
});

Deno.test("cutToTokens() cuts a word without end", () => {
  const cut = cutToTokens("a".repeat(1_000_000), 100);
  assert.ok(countTokens(cut) <= 100 && countTokens(cut) > 90);
});

Deno.test("cutToTokens() gives a beginning of any text that costs no more than the budget", () => {
  fc.assert(
    fc.property(anyText(), fc.nat(60), (text, budget) => {
      const cut = cutToTokens(text, budget);
      assert.ok(text.startsWith(cut));
      assert.ok(countTokens(cut) <= budget);
      assert.ok(endOfTokens(text, budget) >= cut.length || cut === text);
    }),
    { numRuns: 500 },
  );
});
