import assert from "node:assert/strict";
import { formatTsv } from "../../src/text/tsv.ts";

Deno.test("formatTsv() keeps one row on one line whatever its values hold", () => {
  const text = formatTsv(["id", "note"], [["1", "a\tb\nc\r\\d"], ["2", null], ["3", ""]]);
  assert.equal(text, "id\tnote\n1\ta\\tb\\nc\\r\\\\d\n2\t\\N\n3\t");
});

Deno.test("formatTsv() of no rows is the header", () => {
  assert.equal(formatTsv(["id"], []), "id");
});
