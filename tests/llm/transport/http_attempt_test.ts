import assert from "node:assert/strict";
import { askedDelay, askedDelayIn, mergeHeaders } from "../../../src/llm/transport/http_attempt.ts";

Deno.test("mergeHeaders() lets later levels win, names compared without case", () => {
  const merged = mergeHeaders({ "X-A": "1", "X-B": "1" }, undefined, { "x-a": "2" }, {
    "X-a": "3",
    "x-C": "3",
  });
  assert.deepEqual(merged, { "x-a": "3", "x-b": "1", "x-c": "3" });
  assert.deepEqual(mergeHeaders(), {});
});

Deno.test("mergeHeaders() takes any name as a header's", () => {
  assert.equal(Object.hasOwn(mergeHeaders(JSON.parse('{"__proto__":"x"}')), "__proto__"), true);
});

const now = Date.UTC(2026, 0, 1, 12);

for (
  const [headers, expected] of [
    [{ "retry-after": "2" }, 2000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after": "Thu, 01 Jan 2026 12:00:05 GMT" }, 5000],
    [{ "retry-after": "Thu, 01 Jan 2026 11:00:00 GMT" }, 0],
    [{ "retry-after-ms": "1500", "retry-after": "9" }, 1500],
    [{ "retry-after-ms": "soon", "retry-after": "9" }, 9000],
    [{ "retry-after": "-3 apples" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{}, undefined],
  ] as const
) {
  Deno.test(`askedDelay() reads ${JSON.stringify(headers)} as ${expected}`, () => {
    assert.equal(askedDelay(new Headers(headers), now), expected);
  });
}

Deno.test("askedDelayIn() reads Google's retryDelay and nothing else", () => {
  assert.equal(askedDelayIn('{"details":[{"retryDelay": "46s"}]}'), 46_000);
  assert.equal(askedDelayIn('{"details":[{"retryDelay":"0.5s"}]}'), 500);
  for (
    const body of ["", '{"retryDelay":"soon"}', '{"retryDelay":46}', String.raw`"a \"retryDelay\":\"46s\""`]
  ) {
    assert.equal(askedDelayIn(body), undefined, body);
  }
});
