import assert from "node:assert/strict";
import { readCode } from "../../../../src/rag_server/ingest/formats/read_code.ts";
import { shown } from "./shown_document.ts";

const read = (text: string) => shown(readCode(text, "src/shop.ts"));

Deno.test("readCode() keeps functions and classes whole, below the path", () => {
  const [first, second] = ["function a() {\n  x();\n\n  y();\n\n}", "  \t// indented\nfunction b() {}"];
  assert.deepEqual(read(`import c;\r\n\r\n${first}\n\n\n${second.trimStart()}`), ["src/shop.ts", [
    "",
    "import c;",
    first,
    second.trimStart(),
  ]]);
});

Deno.test("readCode() cuts a long class between its methods", () => {
  const method = (name: string, indent: string) =>
    `${indent}${name}() {\n${
      `${indent}${indent}work();\n`.repeat(80)
    }\n${indent}${indent}rest();\n${indent}}`;
  for (const indent of ["  ", "    ", "\t"]) {
    const [a, b] = [method("a", indent), method("b", indent)];
    assert.deepEqual(read(`class X {\n${a}\n\n${b}\n}`), ["src/shop.ts", ["", `class X {\n${a}`, `${b}\n}`]]);
  }
});

Deno.test("readCode() takes nothing of what was made small", () => {
  assert.deepEqual(read(`${"a=1;".repeat(200)}\nb`), ["src/shop.ts"]);
});
