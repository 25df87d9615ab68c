import assert from "node:assert/strict";
import { readCsv } from "../../../../src/rag_server/ingest/formats/read_csv.ts";
import { shown } from "./shown_document.ts";

const read = (text: string) => shown(readCsv(text, "file"));

Deno.test("readCsv() finds the delimiter, and a header that has no numbers", () => {
  const table = "| name | city |\n| --- | --- |\n| Ann | Ulm |\n| Bob | Bonn |";
  for (const delimiter of [",", ";", "\t", "|"]) {
    assert.deepEqual(read(["name,city", "Ann,Ulm", "", "Bob,Bonn"].join("\r\n").replaceAll(",", delimiter)), [
      "file",
      [
        "",
        table,
      ],
    ]);
  }
  assert.deepEqual(read("sep=#\nname#city\nAnn#Ulm\nBob#Bonn"), ["file", ["", table]]);
  assert.deepEqual(read("1,2\n3,4"), ["file", ["", "| 1 | 2 |\n| 3 | 4 |"]]);
  assert.deepEqual(read("a,b"), ["file", ["", "| a | b |"]]);
  assert.deepEqual(read(""), ["file"]);
});

Deno.test("readCsv() reads quoted values, and a quote that nothing ends", () => {
  assert.deepEqual(read('a,b\n"x, ""y""\nz",2'), ["file", [
    "",
    '| a | b |\n| --- | --- |\n| x, "y" z | 2 |',
  ]]);
  assert.deepEqual(read('a,b\n"5 inch,2\nc,3'), ["file", [
    "",
    '| a | b |\n| --- | --- |\n| "5 inch | 2 |\n| c | 3 |',
  ]]);
});
