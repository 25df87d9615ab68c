import assert from "node:assert/strict";
import { createHistogram, durationBounds } from "../../../src/core/metrics/metric_family.ts";

Deno.test("createHistogram() counts each duration in all buckets that it fits in", () => {
  const histogram = createHistogram();
  for (const ms of [0, 0.1, 0.11, 1_000, 3_600_000]) histogram.observe(ms);
  const { cumulative, sumSeconds } = histogram.read();
  const within = (seconds: number) => cumulative[durationBounds.indexOf(seconds)];
  assert.equal(within(0.0001), 2, "a bound belongs to its bucket");
  assert.equal(within(0.00025), 3);
  assert.equal(within(0.5), 3);
  assert.equal(within(1), 4);
  assert.equal(within(60), 4);
  assert.equal(cumulative.at(-1), 5, "the last bucket has no bound");
  assert.ok(Math.abs(sumSeconds - 3_601.00021) < 1e-9);
});
