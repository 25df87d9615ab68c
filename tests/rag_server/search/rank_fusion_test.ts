import assert from "node:assert/strict";
import { fuseRankings, type Ranking } from "../../../src/rag_server/search/rank_fusion.ts";

Deno.test("fuseRankings() gives each ranking's weight over 60 and the rank", () => {
  const fused = fuseRankings([ranking(0.7, ["a", "b"]), ranking(0.3, ["b", "c"])]);
  assert.deepEqual(fused, [
    { key: "b", score: 0.7 / 62 + 0.3 / 61 },
    { key: "a", score: 0.7 / 61 },
    { key: "c", score: 0.3 / 62 },
  ]);
});

Deno.test("fuseRankings() breaks ties by key, whatever the order of the rankings", () => {
  const keys = ["b", "a", "B", "10", "9"];
  const rankings = keys.map((key) => ranking(1, [key]));
  for (const order of [rankings, rankings.toReversed()]) {
    assert.deepEqual(fuseRankings(order).map(({ key }) => key), ["10", "9", "B", "a", "b"]);
  }
  assert.deepEqual(fuseRankings([]), []);
});

Deno.test("fuseRankings() holds to its properties on a thousand random rankings", () => {
  const random = seeded(7);
  for (let round = 0; round < 1_000; round++) {
    const rankings = Array.from(
      { length: 1 + Math.floor(random() * 3) },
      () => ranking(random(), shuffled("abcdefgh".split(""), random).slice(0, Math.floor(random() * 9))),
    );
    const fused = fuseRankings(rankings);
    const keys = fused.map(({ key }) => key);
    assert.deepEqual(
      keys.toSorted(),
      [...new Set(rankings.flatMap(({ ranks }) => [...ranks.keys()]))].toSorted(),
    );
    fused.forEach(({ key, score }, at) => {
      const next = fused[at + 1];
      assert.ok(next === undefined || score > next.score || (score === next.score && key < next.key));
      const best = rankings.reduce((sum, { weight }) => sum + weight / 61, 0);
      assert.ok(score >= 0 && score <= best + 1e-12);
    });
    // what is better or equal everywhere, and present wherever the other is, is not behind
    for (const { key: one } of fused) {
      for (const { key: other } of fused) {
        const dominates = rankings.every(({ ranks }) => (ranks.get(one) ?? 1e9) < (ranks.get(other) ?? 1e10));
        if (dominates) assert.ok(keys.indexOf(one) <= keys.indexOf(other));
      }
    }
  }
});

function ranking(weight: number, keys: readonly string[]): Ranking {
  return { weight, ranks: new Map(keys.map((key, at) => [key, at + 1])) };
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items.map((item) => ({ item, at: random() })).toSorted((a, b) => a.at - b.at).map(({ item }) =>
    item
  );
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
