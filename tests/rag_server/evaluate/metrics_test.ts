import assert from "node:assert/strict";
import fc from "fast-check";
import {
  mean,
  ndcgAt,
  pairedDifference,
  percentile,
  recallAt,
  reciprocalRank,
} from "../../../src/rag_server/evaluate/metrics.ts";

const judgements = new Map([["a", 3], ["b", 2], ["c", 1], ["d", 0], ["spam", -2]]);

function near(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) < 5e-5, `${actual} is not ${expected}`);
}

Deno.test("ndcgAt() has a linear gain, a discount of log2(rank + 1) and the ideal of all judgements", () => {
  // ideal: 3 + 2 / 1.58496 + 1 / 2 = 4.76186
  near(ndcgAt(10, ["a", "b", "c"], judgements), 1);
  // 1 + 0 + 3 / 2 = 2.5
  near(ndcgAt(10, ["c", "x", "a"], judgements), 0.525);
  // ideal of the first two: 3 + 2 / 1.58496 = 4.26186; found: 2 / 1.58496 = 1.26186
  near(ndcgAt(2, ["x", "b", "a"], judgements), 0.2961);
  near(ndcgAt(10, ["spam", "d"], judgements), 0);
  assert.equal(ndcgAt(10, ["a"], new Map([["a", 0]])), 0);
  assert.equal(ndcgAt(10, [], judgements), 0);
});

Deno.test("recallAt() is the share of the relevant documents among the first", () => {
  near(recallAt(2, ["x", "a", "b"], judgements), 1 / 3);
  assert.equal(recallAt(10, ["c", "b", "a"], judgements), 1);
  assert.equal(recallAt(10, ["d", "spam"], judgements), 0);
  assert.equal(recallAt(10, ["d"], new Map([["d", 0]])), 0);
});

Deno.test("reciprocalRank() is one over the place of the first relevant document", () => {
  assert.equal(reciprocalRank(["d", "x", "spam", "c"], judgements), 0.25);
  assert.equal(reciprocalRank(["a"], judgements), 1);
  assert.equal(reciprocalRank(["x"], judgements), 0);
});

Deno.test("percentile() is the least value that is not below so many percent of them", () => {
  assert.equal(percentile(50, [5, 1, 3, 2]), 2);
  assert.equal(percentile(99, [10, 1, 2]), 10);
  assert.equal(percentile(95, Array.from({ length: 100 }, (_, n) => n + 1)), 95);
  assert.equal(percentile(50, []), 0);
  assert.equal(mean([]), 0);
});

const ids = fc.uniqueArray(fc.integer({ min: 0, max: 30 }).map(String), { maxLength: 20 });
const gains = fc.dictionary(fc.integer({ min: 0, max: 30 }).map(String), fc.integer({ min: -1, max: 4 }));

Deno.test("metrics lie between 0 and 1, and a better document earlier never makes them worse", () => {
  fc.assert(fc.property(ids, gains, fc.integer({ min: 1, max: 12 }), (ranking, gains, depth) => {
    const judged = new Map(Object.entries(gains));
    const metrics = (list: readonly string[]) => [
      ndcgAt(depth, list, judged),
      recallAt(depth, list, judged),
      reciprocalRank(list, judged),
    ];
    const given = metrics(ranking);
    const worth = (id: string) => Math.max(0, judged.get(id) ?? 0);
    const sorted = metrics(ranking.toSorted((a, b) => worth(b) - worth(a)));
    given.forEach((value, at) => {
      assert.ok(value >= 0 && value <= 1 + 1e-12);
      assert.ok((sorted[at] ?? 0) >= value - 1e-12);
    });
  }));
});

Deno.test("pairedDifference() tells a difference of all questions from one of a few", async () => {
  const steady = Array.from({ length: 100 }, (_, n) => 0.05 + (n % 5) * 0.01);
  const clear = await pairedDifference(steady);
  assert.ok(Math.abs(clear.mean - 0.07) < 1e-12);
  // the standard error is 0.00141; 1.96 of them either way
  const { low = 0, high = 0 } = clear.interval ?? {};
  assert.ok(Math.abs(low - 0.0672) < 0.0006 && Math.abs(high - 0.0728) < 0.0006);
  const noisy = await pairedDifference(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? 0.9 : -0.8)));
  assert.ok(noisy.interval && noisy.interval.low < 0 && noisy.interval.high > 0);
});

Deno.test("pairedDifference() of fewer than 20 questions has no interval", async () => {
  assert.deepEqual(await pairedDifference([]), { mean: 0 });
  assert.deepEqual(await pairedDifference([0.3]), { mean: 0.3 });
  assert.equal((await pairedDifference(Array(19).fill(0.3))).interval, undefined);
  assert.deepEqual((await pairedDifference(Array(20).fill(0.5))).interval, { low: 0.5, high: 0.5 });
});

Deno.test("pairedDifference() of the same differences is the same", async () => {
  const differences = Array.from({ length: 40 }, (_, n) => (n % 7) / 10 - 0.2);
  assert.deepEqual(await pairedDifference(differences), await pairedDifference(differences));
});
