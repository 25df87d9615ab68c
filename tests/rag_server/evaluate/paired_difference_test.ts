import assert from "node:assert/strict";
import { pairedDifference } from "../../../src/rag_server/evaluate/paired_difference.ts";

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
