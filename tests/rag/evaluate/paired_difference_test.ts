import assert from "node:assert/strict";
import { pairedDifference } from "../../../src/rag/evaluate/paired_difference.ts";

Deno.test("pairedDifference() tells a difference of all questions from one of a few", async () => {
  const steady = Array.from({ length: 100 }, (_, n) => 0.05 + (n % 5) * 0.01);
  const clear = await pairedDifference(steady);
  assert.ok(Math.abs(clear.mean - 0.07) < 1e-12);
  // the standard error is 0.00141; 1.96 of them either way
  assert.ok(Math.abs(clear.low - 0.0672) < 0.0006 && Math.abs(clear.high - 0.0728) < 0.0006);
  const noisy = await pairedDifference([0.9, -0.8, 0.7, -0.6, 0.1, -0.1]);
  assert.ok(noisy.low < 0 && noisy.high > 0);
});

Deno.test("pairedDifference() of the same differences is the same, and none is none", async () => {
  const differences = [0.2, -0.1, 0, 0.4];
  assert.deepEqual(await pairedDifference(differences), await pairedDifference(differences));
  assert.deepEqual(await pairedDifference([]), { mean: 0, low: 0, high: 0 });
  assert.deepEqual(await pairedDifference([0.3]), { mean: 0.3, low: 0.3, high: 0.3 });
});
