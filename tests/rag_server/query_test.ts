import assert from "node:assert/strict";
import fc from "fast-check";
import { parseExactJson } from "../../src/rag_server/query.ts";

Deno.test("parseExactJson() keeps the digits that a number would lose", () => {
  const cases: [string, unknown][] = [
    ["9007199254740993", "9007199254740993"],
    ["[-9223372036854775808]", ["-9223372036854775808"]],
    ["12345678901234567.89e-3", "12345678901234567.89e-3"],
    ["0.1000000000000000055", "0.1000000000000000055"],
    ["1234567890123456", 1234567890123456],
    ["0.1234567890123456", 0.1234567890123456],
    ["1e400", Infinity],
    ['{"12345678901234567":"12345678901234567\\" 12345678901234567"}', {
      "12345678901234567": '12345678901234567" 12345678901234567',
    }],
  ];
  for (const [text, value] of cases) assert.deepEqual(parseExactJson(text), value);
});

Deno.test("parseExactJson() reads everything else as JSON.parse() does", () => {
  fc.assert(fc.property(fc.json(), (text) => {
    assert.deepEqual(parseExactJson(text), JSON.parse(text));
    assert.deepEqual(parseExactJson(`[${text},12345678901234567]`), [JSON.parse(text), "12345678901234567"]);
  }));
});

Deno.test("parseExactJson() refuses what is no JSON", () => {
  for (
    const text of ["", "01234567890123456", "12345678901234567.", "[12345678901234567", '"12345678901234567']
  ) {
    assert.throws(() => parseExactJson(text), SyntaxError);
  }
});
