import assert from "node:assert/strict";
import { weighArms } from "../../../src/rag/evaluate/weigh_arms.ts";

Deno.test("weighArms() fuses the arms' lists with each weight, and an arm without weight finds nothing", async () => {
  const judgements = new Map([["good", 1]]);
  const weighed = await weighArms([
    { nearest: ["good", "x"], matching: ["x"], judgements },
    { nearest: ["x", "good"], matching: [], judgements },
  ]);
  assert.deepEqual(weighed.map(({ vectorWeight }) => vectorWeight).filter((_, at) => at % 10 === 0), [
    0,
    0.5,
    1,
  ]);
  const second = 1 / Math.log2(3);
  const found = (weight: number) => weighed.find(({ vectorWeight }) => vectorWeight === weight)?.ndcgAt10;
  assert.deepEqual([found(0), found(0.5), found(1)], [0, second, (1 + second) / 2]);
  assert.deepEqual(await weighArms([]).then((none) => none.every(({ ndcgAt10 }) => ndcgAt10 === 0)), true);
});
