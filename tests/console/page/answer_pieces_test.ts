import assert from "node:assert/strict";
import { answerPieces, citedWords, claimsOn, webAddress } from "../../../console/ask/answer_pieces.ts";
import type { Citation } from "../../../console/ask/documents_api.ts";

/** Pieces as one text: numbers in angle brackets, doubts in braces. */
function read(answer: string, citations: readonly Citation[] = []): string {
  const around = {
    text: ["", ""],
    source: ["<", ">"],
    doubt: ["{", "}"],
  } as const;
  return answerPieces(answer, citations).map(({ kind, text }) => around[kind].join(text)).join("");
}

Deno.test("marks of sources in an answer become numbers, lists and ranges too", () => {
  assert.equal(
    read("One [1]. Two [2, 4] and [1-3]; 三【2】"),
    "One <1>. Two <2><4> and <1><2><3>; 三<2>",
  );
  assert.equal(read("[1-900] [3-1]"), "<1><900> <3><1>");
  assert.equal(
    read("an array[i], [note], [1234], []"),
    "an array[i], [note], [1234], []",
  );
  assert.deepEqual(answerPieces("", []), []);
});

Deno.test("a doubt stands behind its claim, whose place counts whole characters", () => {
  const answer = "😀 It is so [1]. It is not. Yes [2].";
  const citations = [
    { start: 0, end: 15, cited: true, sources: [1], verified: false },
    { start: 16, end: 26, cited: false, sources: [], verified: false },
    { start: 27, end: 35, cited: true, sources: [2], verified: true },
  ];
  assert.equal(
    read(answer, citations),
    "😀 It is so <1>.{not verified} It is not.{names no source} Yes <2>.",
  );
  assert.deepEqual(claimsOn(2, answer, citations), ["Yes [2]."]);
});

Deno.test("of a source, the words of the claims that cite it are cited, and nothing is lost", () => {
  const text = "Everyone gets 28 days of leave each year.";
  const parts = citedWords(["You have 28 days of leave. [1]"], text);
  assert.deepEqual(
    parts.filter(({ isCited }) => isCited).map(({ text }) => text),
    ["28 days of leave"],
  );
  assert.equal(parts.map(({ text }) => text).join(""), text);
  assert.ok(citedWords([], text).every(({ isCited }) => !isCited));
});

Deno.test("only addresses of the web are followed", () => {
  assert.equal(
    webAddress("HTTPS://example.com/a b"),
    "https://example.com/a%20b",
  );
  for (
    const other of [
      "javascript:alert(1)",
      "data:text/html,x",
      " https://a.b",
      "//a.b",
      "http://",
      7,
      undefined,
    ]
  ) {
    assert.equal(webAddress(other), undefined, String(other));
  }
});
