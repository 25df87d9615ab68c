import assert from "node:assert/strict";
import { askedDelay, askedDelayIn, retryDelay } from "../../../src/llm/transport/retry_delay.ts";

const now = Date.UTC(2026, 0, 1, 12);

Deno.test("retryDelay() doubles from half a second to eight, with full jitter", () => {
  const longest = [1, 2, 3, 4, 5, 6, 2000].map((attempt) => retryDelay(attempt, undefined, () => 1));
  assert.deepEqual(longest, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
  assert.equal(retryDelay(3, undefined, () => 0), 0);
  assert.equal(retryDelay(3, undefined, () => 0.25), 500);
});

Deno.test("retryDelay() is no shorter than what was asked for", () => {
  assert.equal(retryDelay(1, 3000, () => 0.5), 3000);
  assert.equal(retryDelay(4, 100, () => 0.5), 2000);
});

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
