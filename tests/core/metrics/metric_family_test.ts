import assert from "node:assert/strict";
import { createCounters, createGauges, createHistograms } from "../../../src/core/metrics/metric_family.ts";

Deno.test("createCounters() keeps one counter for equal labels", () => {
  const { of, family } = createCounters("calls_total{tool}", "Calls.");
  of("a").add();
  of("a").add(2);
  of("b");
  assert.deepEqual(family.read(), [{ labels: ["a"], value: 3 }, { labels: ["b"], value: 0 }]);
});

Deno.test("createCounters() does not take labels for equal that only look so when joined", () => {
  const { of, family } = createCounters("calls_total{one, other}", "Calls.");
  of("a,b", "c").add();
  of("a", "b,c").add(2);
  assert.deepEqual(family.read().map(({ value }) => value), [1, 2]);
});

Deno.test("createHistograms() keeps one histogram for equal labels", () => {
  const { of, family } = createHistograms("wait_seconds{stage}", "Waits.");
  of("queue").observe(2);
  of("queue").observe(3);
  const [sample] = family.read();
  assert.ok(sample !== undefined && typeof sample.value !== "number");
  assert.equal(sample.value.cumulative.at(-1), 2);
  assert.equal(sample.value.sumSeconds, 0.005);
});

Deno.test("createGauges() asks its owners each time, adds what has the same labels, and forgets who has left", () => {
  const { collect, family } = createGauges("connections{state}", "Connections.");
  let open = 1;
  collect(() => [{ labels: ["idle"], value: open }]);
  const leave = collect(() => [{ labels: ["idle"], value: 10 }, { labels: ["stuck"], value: 1 }]);
  open = 2;
  assert.deepEqual(family.read(), [{ labels: ["idle"], value: 12 }, { labels: ["stuck"], value: 1 }]);
  leave();
  assert.deepEqual(family.read(), [{ labels: ["idle"], value: 2 }]);
});
