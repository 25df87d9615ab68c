import assert from "node:assert/strict";
import { merged } from "../../../src/tool_server/view/page/answer_view.ts";
import { sharedWords } from "../../../src/tool_server/view/page/shared_words.ts";

function shared(answer: string, source: string): string[] {
  return sharedWords(answer, source).map(({ from, to }) => source.slice(from, to));
}

Deno.test("runs of words that a source and an answer share are found, whatever stands between them", () => {
  assert.deepEqual(
    shared(
      "You can return **unused items within 30 days**. The fee is 12.50 francs a parcel.",
      "Returns: Unused items (within 30 days) are taken back; the fee is 12.50 francs. The fee is 13.50 elsewhere.",
    ),
    ["Unused items (within 30 days", "the fee is 12.50 francs"],
  );
});

Deno.test("few words, or short ones, are not found", () => {
  assert.deepEqual(shared("it is a day of the week", "it is a way of the world, a day of rest"), []);
  assert.deepEqual(shared("", "some words of a source"), []);
});

Deno.test("words of any script are found", () => {
  assert.deepEqual(
    shared("Die Rücksendung ist kostenlos möglich.", "Für alle gilt: die Rücksendung ist kostenlos."),
    [
      "die Rücksendung ist kostenlos",
    ],
  );
});

Deno.test("texts that repeat themselves are compared too", () => {
  const text = "a ".repeat(50_000);
  assert.equal(shared(text, text).length, 1);
  assert.equal(shared("a b ".repeat(20_000), "a b c ".repeat(20_000)).length, 0);
});

Deno.test("merged() makes one of what overlaps", () => {
  assert.deepEqual(merged([{ from: 5, to: 9 }, { from: 0, to: 6 }, { from: 12, to: 13 }]), [
    { from: 0, to: 9 },
    { from: 12, to: 13 },
  ]);
});
