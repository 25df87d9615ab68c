import assert from "node:assert/strict";
import { sameResult } from "./same_result.ts";

Deno.test("the order of rows counts only where it was asked for", () => {
  const gold = [["a", "1"], ["b", "2"]];
  const other = [["b", "2"], ["a", "1"]];
  assert.equal(sameResult(gold, other), true);
  assert.equal(sameResult(gold, other, { ordered: true }), false);
  assert.equal(sameResult(gold, gold, { ordered: true }), true);
});

Deno.test("rows that are there twice must be there twice", () => {
  assert.equal(sameResult([["a"], ["a"], ["b"]], [["a"], ["b"], ["b"]]), false);
  assert.equal(sameResult([["a"], ["a"]], [["a"]]), false);
  assert.equal(sameResult([["a"], ["b"], ["a"]], [["b"], ["a"], ["a"]]), true);
});

Deno.test("the order of columns does not count, but what belongs together in a row does", () => {
  assert.equal(sameResult([["a", "1"], ["b", "2"]], [["1", "a"], ["2", "b"]]), true);
  assert.equal(sameResult([["a", "1"], ["b", "2"]], [["2", "a"], ["1", "b"]]), false);
  const gold = [["1", "1", "2"], ["2", "1", "1"], ["1", "2", "1"]];
  const turned = gold.map(([one, two, three]) => [three, one, two]);
  assert.equal(sameResult(gold, turned), true);
  assert.equal(sameResult([["1", "2"], ["2", "2"]], [["1", "1"], ["2", "2"]]), false);
});

Deno.test("a column is given out once", () => {
  assert.equal(sameResult([["1", "1"], ["2", "2"]], [["1", "5"], ["2", "6"]]), false);
});

Deno.test("a column too few is wrong, one too many unless it is ignored", () => {
  assert.equal(sameResult([["a", "1"]], [["a"]]), false);
  assert.equal(sameResult([["a"]], [["7", "a"]]), false);
  assert.equal(sameResult([["a"], ["b"]], [["7", "b"], ["8", "a"]], { extraColumns: "ignored" }), true);
  assert.equal(sameResult([["a", "1"]], [["a"]], { extraColumns: "ignored" }), false);
});

Deno.test("a number equals what it was rounded to, with one place after the point at least", () => {
  assert.equal(sameResult([["12.3456"]], [["12.35"]]), true);
  assert.equal(sameResult([["12.3456"]], [[12.3]]), true);
  assert.equal(sameResult([["58.00"]], [["58.0041"]]), true);
  assert.equal(sameResult([["5.0000000000"]], [[5]]), true);
  assert.equal(sameResult([["12.3456"]], [["12"]]), false);
  assert.equal(sameResult([["12.3456"]], [["12.36"]]), false);
  assert.equal(sameResult([["58"]], [["58.0041"]]), false);
  assert.equal(sameResult([["1000000"]], [["1000001"]]), false);
  assert.equal(sameResult([[0.1 + 0.2]], [["0.3"]]), true);
});

Deno.test("rounding may change what sorts first", () => {
  const gold = [["12.34", "7"], ["12.31", "9"]];
  assert.equal(sameResult(gold, [["12.3", "7"], ["12.3", "9"]]), true);
  assert.equal(sameResult(gold, [["12.3", "7"], ["12.4", "9"]]), false);
});

Deno.test("large whole numbers and codes with leading zeros keep all their digits", () => {
  assert.equal(sameResult([["9007199254740993"]], [["9007199254740992"]]), false);
  assert.equal(sameResult([["0012"]], [["12"]]), false);
  assert.equal(sameResult([["0012"]], [["0012"]]), true);
});

Deno.test("NULL equals NULL alone", () => {
  assert.equal(sameResult([[null, "a"]], [["a", null]]), true);
  assert.equal(sameResult([[null]], [["0"]]), false);
  assert.equal(sameResult([[null]], [[""]]), false);
});

Deno.test("values of JavaScript equal the text that PostgreSQL writes for them", () => {
  const gold = [["t", "2025-03-01", "DE", "9007199254740993"]];
  assert.equal(sameResult(gold, [[true, new Date("2025-03-01T00:00:00Z"), "DE ", 9007199254740993n]]), true);
  assert.equal(sameResult([["2025-03-01"]], [["2025-03-01 00:00:00+00"]]), true);
  assert.equal(sameResult([["2025-03-01"]], [["2025-03-01 00:00:01+00"]]), false);
});

Deno.test("no rows equal no rows", () => {
  assert.equal(sameResult([], []), true);
  assert.equal(sameResult([], [["a"]]), false);
  assert.equal(sameResult([["a"]], []), false);
});

Deno.test("many equal columns do not multiply the work", () => {
  const rows = Array.from({ length: 1000 }, (_, index) => Array.from({ length: 12 }, () => index % 7));
  assert.equal(sameResult(rows, rows.toReversed()), true);
  const changed = rows.with(0, rows[0]?.with(11, 99) ?? []);
  assert.equal(sameResult(rows, changed), false);
});
