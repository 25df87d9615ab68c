import assert from "node:assert/strict";
import { searchText } from "../../src/rag_server/pipeline.ts";

const history = [
  { role: "user", content: "How many days of leave do employees get?" },
  { role: "assistant", content: "28 days." },
] as const;

Deno.test("searchText() is the question where it stands by itself", () => {
  const question = "Which expenses need the approval of a department head?";
  assert.equal(searchText(question, history), question);
  assert.equal(searchText("and contractors?", []), "and contractors?");
});

Deno.test("searchText() brings in the question before where one says little by itself", () => {
  assert.equal(
    searchText("and for contractors?", history),
    "How many days of leave do employees get?\nand for contractors?",
  );
});

Deno.test("searchText() is short whatever was said before", () => {
  const before = [{ role: "user", content: "word ".repeat(200_000) }] as const;
  assert.ok(searchText("and why?", before).length < 1_000);
  assert.ok(searchText("word ".repeat(200_000), []).length < 20_000);
});
