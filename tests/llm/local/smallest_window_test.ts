import assert from "node:assert/strict";
import { smallestWindow } from "../../../src/llm/local/smallest_window.ts";

/** A dot is a word that no one looks for. */
function hits(words: string) {
  return [...words].map((stem, position) => ({ stem, position })).filter(({ stem }) => stem !== ".");
}

for (
  const [words, distinct, length] of [["a..b..ab.c", 3, 4], ["abc", 3, 3], ["a", 1, 1], [
    "a.a.b...ba",
    2,
    2,
  ]] as const
) {
  Deno.test(`smallestWindow() of ${words} is ${length} words`, () => {
    assert.equal(smallestWindow(hits(words), distinct), length);
  });
}
