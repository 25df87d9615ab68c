import assert from "node:assert/strict";
import { whySlow } from "../../../src/tool_server/definitions/slow_pattern.ts";

Deno.test("whySlow() refuses patterns that a caller's text can hold up the server with", () => {
  for (
    const pattern of [
      "^(a+)+$",
      "^(a|a)*$",
      "^(a|ab)+$",
      "^(a?){30}$",
      "^(?:a{1,30}){30}$",
      "^(?<x>a+){2,}$",
      "^((ab*)c)*$",
      "^(-[a-z-]+)*$",
      "^(-?[a-z]+)*$",
      "^(.a+)*$",
      "^(\\d\\d+)*$",
      "^([a-z]+-)*$",
      "^a*a*a*a*b",
      "a*a*a*b",
      "^a|b*c*d*e",
      "(x+x+)+y",
      "^[)](a+)+",
      "^\\((a+)+",
      `^${"a?".repeat(30)}`,
    ]
  ) assert.notEqual(whySlow(pattern), undefined, pattern);
});

Deno.test("whySlow() takes what is usually asked of codes, dates and addresses", () => {
  for (
    const pattern of [
      "^[A-Z]{2}-\\d+$",
      "^[a-z0-9]+(?:-[a-z0-9]+)*$",
      "^\\d+(\\.\\d+)*$",
      "^\\d+(,\\d+)*$",
      "^[^@\\s]+@[^@\\s]+\\.[A-Za-z]{2,}$",
      "^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?Z?)?$",
      "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
      "^(open|closed)$",
      "^(?:open|closed)?$",
      "[A-Z]+",
      "^\\p{L}[\\p{L} '-]*$",
      "^[()\\[\\]]+$",
      "",
    ]
  ) assert.equal(whySlow(pattern), undefined, pattern);
  assert.equal(whySlow("^\\w+\\s\\w+$", 2), undefined);
  assert.notEqual(whySlow("^\\w+\\s\\w+$", 1), undefined);
});
