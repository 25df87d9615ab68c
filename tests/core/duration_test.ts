import assert from "node:assert/strict";
import { parseDuration } from "../../src/core/text/units.ts";

const durations: [string, number | undefined][] = [
  ["250ms", 250],
  ["90s", 90_000],
  ["15m", 900_000],
  ["12h", 43_200_000],
  ["30d", 2_592_000_000],
  ["2w", 1_209_600_000],
  ["1y", 31_536_000_000],
  ["1h30m", 5_400_000],
  ["0s", 0],
  ["", undefined],
  ["30", undefined],
  ["30 d", undefined],
  ["-1d", undefined],
  ["1.5h", undefined],
  ["30D", undefined],
  ["never", undefined],
  ["101y", undefined],
  ["999999999999999y", undefined],
];

for (const [text, expected] of durations) {
  Deno.test(`parseDuration() reads ${JSON.stringify(text)} as ${expected} ms`, () => {
    assert.equal(parseDuration(text), expected);
  });
}
