import assert from "node:assert/strict";
import { readJson } from "../../../../src/rag_server/ingest/formats/read_json.ts";
import { shown } from "./shown_document.ts";

const read = (text: string) => shown(readJson(text, "file"));

Deno.test("readJson() makes a section of each object, with a line for each value", () => {
  const sections = ["file", ["Leave", "days: 30\ntags: a, b\nby.name: Ann\nparts.0.x: true"], [
    "Record 2",
    "text: one\ntwo",
  ]];
  const objects = [
    {
      days: 30,
      title: "Leave",
      tags: ["a", "b"],
      by: { name: "Ann", mail: null },
      parts: [{ x: true }],
      none: [],
      e: "",
    },
    { text: "one\ntwo" },
  ];
  assert.deepEqual(read(objects.map((object) => JSON.stringify(object)).join("\n\n") + "\n"), sections);
  assert.deepEqual(read(JSON.stringify(objects, undefined, 2)), sections);
  const long = "n".repeat(201);
  assert.deepEqual(read(JSON.stringify({ title: long, id: 7 })), ["file", [
    "Record 1",
    `title: ${long}\nid: 7`,
  ]]);
});

Deno.test("readJson() keeps numbers as they are written, within lists too", () => {
  const record =
    '{"id": 1780000000000000123, "price": 1.10, "of": [1e5, [-0, 12345678901234567890], {"a": 0.50}]}';
  const section = [
    "1780000000000000123",
    "price: 1.10\nof.0: 1e5\nof.1: -0, 12345678901234567890\nof.2.a: 0.50",
  ];
  assert.deepEqual(read(record), ["file", section]);
  assert.deepEqual(read(`[${record}]`), ["file", section]);
});

Deno.test("readJson() takes nothing of other JSON, and names a line that is broken", () => {
  for (const text of ['{\n  "a": 1\n}', "[1, 2]", '[{"a": 1}, 2]', "// no JSON", "7", ""]) {
    assert.deepEqual(read(text), ["file"]);
  }
  assert.throws(() => read('{"a": 1}\n{"a": '), { message: "line 2 is no JSON object" });
  assert.throws(() => read('{"a": 1}\n[1]'), { message: "line 2 is no JSON object" });
  assert.throws(() => read('[{"a": 1}'), SyntaxError);
  const deep = `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`;
  assert.deepEqual(read(deep), ["file"]);
});
