import assert from "node:assert/strict";
import { triedWeights, weighFusion } from "../../../src/rag_server/evaluate/evaluate.ts";

Deno.test("triedWeights() are steps of 0.05 and the configured weight, in order", () => {
  assert.deepEqual(triedWeights(0.5).filter((_, at) => at % 5 === 0), [0, 0.25, 0.5, 0.75, 1]);
  assert.deepEqual(triedWeights(0.33).slice(6, 9), [0.3, 0.33, 0.35]);
  assert.deepEqual([triedWeights(1).length, triedWeights(0.01).length], [21, 22]);
});

Deno.test("weighFusion() compares the best weight with the configured one, question by question", async () => {
  const few = await weighFusion(new Map([[0, [0, 1]], [0.33, [0.5, 0.5]], [0.5, [1, 0.5]]]), 0.33);
  assert.deepEqual(few.weights, [
    { vectorWeight: 0, ndcgAt10: 0.5 },
    { vectorWeight: 0.33, ndcgAt10: 0.5 },
    { vectorWeight: 0.5, ndcgAt10: 0.75 },
  ]);
  assert.deepEqual(few.best, {
    vectorWeight: 0.5,
    ndcgAt10: 0.75,
    configured: 0.33,
    difference: { mean: 0.25 },
  });
  const better = Array.from({ length: 30 }, (_, at) => at % 3 / 2);
  const { best: { difference } } = await weighFusion(
    new Map([[0.33, better.map(() => 0)], [0.5, better]]),
    0.33,
  );
  assert.ok(difference.interval && difference.interval.low > 0);
  // no other does better
  const even = await weighFusion(new Map([[0, [1]], [0.7, [1]], [1, [1]]]), 0.7);
  assert.deepEqual([even.best.vectorWeight, even.best.difference.mean], [0.7, 0]);
});
