import { deepEqual, equal } from "node:assert/strict";
import { errorPosition } from "../../../console/ask/error_position.ts";

const errorAt = (line: number, character: number, excerpt: string) =>
  `Cannot run the statement: syntax error\nSQLSTATE: 42601\nPosition: line ${line}, character ${character}\n  ${excerpt}\n   ^\nHint: look`;

function wordAt(error: string, text: string): string | undefined {
  const span = errorPosition(error, text);
  return span && text.slice(span.from, span.to);
}

Deno.test("errorPosition() finds the word on a later line, blanks before the text counted", () => {
  equal(
    wordAt(
      errorAt(2, 13, "FROM orders wher x"),
      "\n  SELECT *\nFROM orders wher x\n",
    ),
    "wher",
  );
});

Deno.test("errorPosition() counts characters, not UTF-16 units", () => {
  equal(
    wordAt(errorAt(1, 13, "SELECT '😀😀' nope"), "SELECT '😀😀' nope"),
    "nope",
  );
});

Deno.test("errorPosition() reads a tab as the server writes it, and a part of a long line", () => {
  equal(wordAt(errorAt(1, 8, "SELECT x"), "SELECT\tx, y"), "x");
});

Deno.test("errorPosition() takes one character where there is no word, and the last one at the end", () => {
  equal(wordAt(errorAt(1, 8, "SELECT )"), "SELECT )"), ")");
  deepEqual(errorPosition(errorAt(1, 7, "SELECT"), "SELECT"), {
    from: 5,
    to: 6,
  });
});

Deno.test("errorPosition() marks nothing where the error is about another statement, or names no place", () => {
  equal(
    errorPosition(errorAt(1, 8, "SELECT x FROM y"), "How many orders?"),
    undefined,
  );
  equal(errorPosition(errorAt(3, 1, "x"), "SELECT x"), undefined);
  equal(
    errorPosition("Cannot run the statement: permission denied", "SELECT x"),
    undefined,
  );
});
