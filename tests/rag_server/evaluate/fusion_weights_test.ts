import assert from "node:assert/strict";
import { weighFusion } from "../../../src/rag_server/evaluate/fusion_weights.ts";

Deno.test("weighFusion() fuses both searches' lists with each weight, and a search without weight finds nothing", async () => {
  const judgements = new Map([["good", 1]]);
  const { weights } = await weighFusion([
    { nearest: ["good", "x"], matching: ["x"], judgements },
    { nearest: ["x", "good"], matching: [], judgements },
  ], 0.5);
  assert.deepEqual(weights.map(({ vectorWeight }) => vectorWeight).filter((_, at) => at % 10 === 0), [
    0,
    0.5,
    1,
  ]);
  const second = 1 / Math.log2(3);
  const found = (weight: number) => weights.find(({ vectorWeight }) => vectorWeight === weight)?.ndcgAt10;
  assert.deepEqual([found(0), found(0.5), found(1)], [0, second, (1 + second) / 2]);
  assert.ok((await weighFusion([], 0.5)).weights.every(({ ndcgAt10 }) => ndcgAt10 === 0));
});

Deno.test("weighFusion() compares the best weight with the configured one, question by question", async () => {
  const judgements = new Map([["good", 1]]);
  const byVector = { nearest: ["good"], matching: ["x"], judgements };
  const byWords = { nearest: ["x"], matching: ["good"], judgements };
  const second = 1 / Math.log2(3);
  const few = await weighFusion([byVector, byVector, byWords], 0.33);
  assert.deepEqual(few.weights.map(({ vectorWeight }) => vectorWeight).slice(6, 9), [0.3, 0.33, 0.35]);
  // half and half the two are even, and "good" comes before "x"
  const { vectorWeight, ndcgAt10, configured, difference } = few.best;
  assert.deepEqual([vectorWeight, configured, difference.interval], [0.5, 0.33, undefined]);
  assert.ok(Math.abs(ndcgAt10 - 1) < 1e-12);
  assert.ok(Math.abs(difference.mean - 2 * (1 - second) / 3) < 1e-12);
  const many = await weighFusion([...Array(30).fill(byVector), byWords], 0.33);
  assert.ok(many.best.difference.interval && many.best.difference.interval.low > 0);
  // no other does better
  assert.equal((await weighFusion(Array(30).fill(byVector), 0.7)).best.vectorWeight, 0.7);
});
