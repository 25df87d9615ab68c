import { deepEqual, equal } from "node:assert/strict";
import { valueParts } from "../../../console/rows/unseen_values.ts";

/** As it is seen: marks in brackets. */
const seen = (text: string, hasLines = false) =>
  valueParts(text, hasLines).map(({ text, isMark }) => isMark ? `[${text}]` : text).join("");

Deno.test("valueParts() marks what tells a value from one that looks the same", () => {
  for (
    const [value, shown] of [
      ["a\u200bb", "a[U+200B]b"],
      ["a\u202eb", "a[U+202E]b"],
      ["a\u200fb\ufeff", "a[U+200F]b[U+FEFF]"],
      ["a\xa0b\xad", "a[U+00A0]b[U+00AD]"],
      ["\u{e0041}", "[U+E0041]"],
      ["a\u200db", "a[U+200D]b"],
      ["  a b ", "[··]a b[·]"],
      [" ", "[·]"],
      ["a\nb\tc\r\n", "a[↵]b[⇥]c[U+000D][↵]"],
    ] as const
  ) equal(seen(value), shown);
});

Deno.test("valueParts() leaves what scripts and emoji need, and what is seen by itself", () => {
  for (const value of ["می\u200cخواهم", "क्\u200dष", "👩\u200d💻", "東京\u3000都", "a  b", "", "Zürich"]) {
    equal(seen(value), value);
  }
});

Deno.test("valueParts() leaves lines where they are shown as they are", () => {
  equal(seen("a\n\tb \n ", true), "a\n\tb \n[·]");
});

Deno.test("valueParts() takes no longer than the text is long", () => {
  const text = `${" ".repeat(200_000)}a${" ".repeat(200_000)}b`;
  deepEqual(valueParts(text, true).map(({ text }) => text.length), [200_000, 200_002]);
});
