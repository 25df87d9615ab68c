import assert from "node:assert/strict";
import fc from "fast-check";
import { parseUnambiguous } from "../../src/core/claims.ts";

const isRefused = (text: string) => {
  try {
    return parseUnambiguous(text) === isRefused;
  } catch (error) {
    return error instanceof SyntaxError;
  }
};

Deno.test("parseUnambiguous() reads whatever JSON.stringify() writes", () => {
  fc.assert(fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t"), (value, space) => {
    const text = JSON.stringify(value, undefined, space);
    assert.deepEqual(parseUnambiguous(text), JSON.parse(text));
  }));
});

Deno.test("parseUnambiguous() refuses a name twice, wherever it stands and however it is written", () => {
  for (
    const text of [
      '{"a":1,"a":1}',
      '{"a":{"b":1},"c":{"b":1,"b":2}}',
      '[[{"a" : [] ,\n"a"\t:{}}]]',
      '{"__proto__":1,"__proto__":2}',
      '{"":1,"":2}',
      String.raw`{"a":1,"\u0061":2}`,
      String.raw`{"\"":1,"\u0022":2}`,
      String.raw`{"a":"}","a":"{"}`,
      String.raw`{"a":"\"","a":"\\"}`,
      "{",
      "",
    ]
  ) assert.ok(isRefused(text), text);
  for (
    const text of [
      '{"a":{"a":{"a":1}},"b":{"a":[{"a":1},{"a":1}]}}',
      '["a","a",{"a":"a"},"a"]',
      String.raw`{"a":"\",\"a\":","b":"{\"a\":1"}`,
      '{"a":1,"A":2,"a ":3}',
    ]
  ) assert.ok(!isRefused(text), text);
});

Deno.test("parseUnambiguous() finds the one name that is there twice among others", () => {
  const names = fc.uniqueArray(fc.string(), { minLength: 1 });
  fc.assert(fc.property(names, fc.nat(), (names, at) => {
    const twice = [...names, names[at % names.length]].map((name) => `${JSON.stringify(name)}:0`);
    assert.ok(isRefused(`[{"x":{${twice.join()}}}]`));
  }));
});
