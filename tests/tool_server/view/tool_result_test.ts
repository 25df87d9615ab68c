import assert from "node:assert/strict";
import { visibleParts, wholeCharacters } from "../../../src/tool_server/view/page/shown_text.ts";
import { readToolResult } from "../../../src/tool_server/view/page/tool_result.ts";

const content = [{ type: "text", text: "as text" }];
const columns = [{ name: "n", type: "integer" }];
const asText = { kind: "text", text: "as text", isError: false };

Deno.test("readToolResult() reads rows", () => {
  const structuredContent = {
    data_notice: "…",
    database: "shop",
    sql: "SELECT 1",
    columns,
    rows: [[1]],
    row_count: 1,
    truncated: true,
    next_offset: 1,
  };
  assert.deepEqual(readToolResult({ content, structuredContent }), {
    kind: "rows",
    database: "shop",
    sql: "SELECT 1",
    columns,
    rows: [[1]],
    truncated: true,
    nextOffset: 1,
  });
});

Deno.test("readToolResult() reads an answer, and passes over what is no source", () => {
  const sources = [{ id: 7, content: "a", score: 0.5, more: {} }, 7, null, {
    content: "b",
    title: "B",
  }];
  assert.deepEqual(readToolResult({ content, structuredContent: { answer: "yes", sources } }), {
    kind: "answer",
    answer: "yes",
    sources: [
      { title: undefined, id: "7", content: "a", score: 0.5 },
      { title: "B", id: undefined, content: "b", score: undefined },
    ],
  });
});

for (
  const [name, structuredContent] of [
    ["no data", undefined],
    ["rows without columns", { rows: [[1]] }],
    ["rows that are too short", { columns, rows: [[1], []] }],
    ["rows that are no lists", { columns, rows: ["1"] }],
    ["columns without types", { columns: [{ name: "n" }], rows: [[1]] }],
    ["sources that are no list", { answer: "yes", sources: {} }],
    ["something else", { tables: [] }],
  ] as const
) {
  Deno.test(`a result with ${name} is shown as text`, () => {
    assert.deepEqual(readToolResult({ content, structuredContent }), asText);
  });
}

Deno.test("an error is shown as text, whatever data it has, and so is a question back", () => {
  const structuredContent = { columns, rows: [[1]] };
  assert.deepEqual(readToolResult({ isError: true, content, structuredContent }), {
    ...asText,
    isError: true,
  });
  assert.deepEqual(readToolResult({ content, structuredContent: { question: "Which year?" } }), {
    ...asText,
    text: "Which year?",
  });
  for (const nothing of [undefined, null, "text", [], {}, { content: [null, { type: "text" }] }]) {
    assert.deepEqual(readToolResult(nothing), { ...asText, text: "" });
  }
});

Deno.test("what would not be seen in a text is made visible, what scripts need stays", () => {
  assert.deepEqual(visibleParts("photo\u202egpj.exe\n\tא\u200f\0"), [
    { text: "photo", isMark: false },
    { text: "U+202E", isMark: true },
    { text: "gpj.exe\n\tא\u200f", isMark: false },
    { text: "U+0000", isMark: true },
  ]);
  assert.equal(wholeCharacters("ab😀", 3), "ab");
});
