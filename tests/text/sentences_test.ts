import assert from "node:assert/strict";
import fc from "fast-check";
import { anyText } from "../support/any_text.ts";
import { splitSentences } from "../../src/text/sentences.ts";

/** Each list is one text, its sentences joined by a blank. */
const oneLine: readonly (readonly string[])[] = [
  ["Dr. Smith paid 3.5 million.", "It was paid on Jan. 4 to Acme Inc. in London.", "Nobody knew."],
  ["He left the U.S. Army in 1990.", "She stayed in the U.S.", "They met at 8 p.m. on Monday."],
  ["J. R. R. Tolkien wrote it.", "See fig. 3, e.g. the U.K. one.", "Version 2.0.1 is out."],
  ["“Stop!” he said.", "“Why?” she asked.", "Wait... what is that?", "Well…", "Nothing."],
  ["Is it?!", "Yes!", "(It is.)", "He wrote “no.”", "Done."],
  ["Am 3. März 2024 war es z. B. kalt.", "Das kostet ca. 5 Euro.", "Prof. Weber kam, bzw. Frau Dr. Kurz."],
  [
    "It ended in 2024.",
    "The next year was better.",
    "Mail a@example.com or see https://example.com/a.b?c=d now.",
  ],
  ["यह पहला है।", "यह दूसरा है।"],
];

for (const sentences of oneLine) {
  Deno.test(`splitSentences() of: ${sentences[0]}`, () => {
    assert.deepEqual(splitSentences(sentences.join(" ")).map(({ text }) => text), sentences);
  });
}

Deno.test("splitSentences() needs no blank between sentences of Chinese and Japanese", () => {
  assert.deepEqual(
    splitSentences("今天天气很好。我们去公园吧!好的？「行く。」と言った。").map(({ text }) => text),
    [
      "今天天气很好。",
      "我们去公园吧!",
      "好的？",
      "「行く。」と言った。",
    ],
  );
});

Deno.test("splitSentences() ends headings, list items and table rows at their line's end and joins wrapped lines", () => {
  const text = `# Leave policy

Employees get 25 days of paid leave each year, which they may take in
Germany or elsewhere. More on request.
- first item
- second item
1. one
2. two

| Country | Days |
|---------|------|
| France | 25 |
Short title
The text begins.\r
\r
Last without a mark`;
  assert.deepEqual(splitSentences(text).map((sentence) => sentence.text), [
    "# Leave policy",
    "Employees get 25 days of paid leave each year, which they may take in\nGermany or elsewhere.",
    "More on request.",
    "- first item",
    "- second item",
    "1. one",
    "2. two",
    "| Country | Days |",
    "|---------|------|",
    "| France | 25 |",
    "Short title",
    "The text begins.",
    "Last without a mark",
  ]);
});

Deno.test("splitSentences() gives places in the text, in order, that leave out nothing but blanks", () => {
  fc.assert(fc.property(anyText(), (text) => {
    let end = 0;
    for (const sentence of splitSentences(text)) {
      assert.equal(sentence.text, text.slice(sentence.start, sentence.end));
      assert.equal(text.slice(end, sentence.start).trim(), "");
      assert.notEqual(sentence.text, "");
      end = sentence.end;
    }
    assert.equal(text.slice(end).trim(), "");
  }));
});

Deno.test("splitSentences() takes a long run of marks in its stride", () => {
  for (const piece of [".", "!", "\n", " ", "”", "a.", "\r", "1. "]) {
    assert.ok(splitSentences(piece.repeat(200_000)).length <= 200_000);
  }
});
