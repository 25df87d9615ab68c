import assert from "node:assert/strict";
import { fuseRankings, fuseTables, type Ranking } from "../../../src/rag_server/search/fusion.ts";

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

Deno.test("fuseTables() keeps the order and the scores of one table", () => {
  const fused = fuseTables([[
    {
      table: "a",
      id: "7",
      content: "both",
      digest: "both",
      nearestRank: 2,
      matchingRank: 1,
      similarity: 0.8,
    },
    { table: "a", id: "3", content: "near", digest: "near", nearestRank: 1, similarity: 0.9 },
    { table: "a", id: "9", content: "words", digest: "words", matchingRank: 2 },
  ]], 0.4);
  assert.deepEqual(fused, [
    { table: "a", id: "7", content: "both", similarity: 0.8, score: 0.4 / 62 + 0.6 / 61 },
    { table: "a", id: "9", content: "words", score: 0.6 / 62 },
    { table: "a", id: "3", content: "near", similarity: 0.9, score: 0.4 / 61 },
  ]);
});

Deno.test("fuseTables() counts what is nearer in other tables, and leaves places by words alone", () => {
  const near = (table: string, similarities: readonly number[]) =>
    similarities.map((similarity, at) => ({
      table,
      id: `${at}`,
      content: `${table}${at}`,
      digest: `${table}${at}`,
      nearestRank: at + 1,
      similarity,
    }));
  const fused = fuseTables([near("a", [0.5, 0.4]), near("b", [0.9, 0.8, 0.3])], 1);
  assert.deepEqual(fused.map(({ content }) => content), ["b0", "b1", "a0", "a1", "b2"]);
  assert.deepEqual(fused.map(({ score }) => score), [1 / 61, 1 / 62, 1 / 63, 1 / 64, 1 / 65]);
  const words = ["b", "a"].map((
    table,
  ) => [{ table, id: "1", content: table, digest: table, matchingRank: 1 }]);
  assert.deepEqual(fuseTables(words, 0).map(({ table, score }) => [table, score]), [["b", 1 / 61], [
    "a",
    1 / 61,
  ]]);
});

Deno.test("fuseTables() tells a text once, at its best place", () => {
  const fused = fuseTables([[
    { table: "bare", content: "same", digest: "same", nearestRank: 1 },
    { table: "bare", content: "same", digest: "same", nearestRank: 9, matchingRank: 1 },
    { table: "bare", content: " same\n", digest: "same", nearestRank: 2 },
    { table: "bare", content: "other", digest: "other", nearestRank: 3 },
  ], []], 0.5);
  assert.deepEqual(fused, [
    { table: "bare", content: "same", score: 0.5 / 61 + 0.5 / 61 },
    { table: "bare", content: "other", score: 0.5 / 63 },
  ]);
  assert.deepEqual(fuseTables([[], []], 0.5), []);
});

Deno.test("fuseTables() tells a text that several tables have by a copy with an id, at the best copy's place", () => {
  const fused = fuseTables([
    [{ table: "bare", content: "same", digest: "same", nearestRank: 1, similarity: 0.9 }],
    [
      { table: "named", id: "4", content: "other", digest: "other", nearestRank: 1, similarity: 0.8 },
      { table: "named", id: "7", content: "same ", digest: "same", nearestRank: 2, similarity: 0.7 },
      { table: "named", id: "9", content: "same", digest: "same", nearestRank: 3, similarity: 0.6 },
    ],
  ], 1);
  assert.deepEqual(fused, [
    { table: "named", id: "7", content: "same ", score: 1 / 61, similarity: 0.7 },
    { table: "named", id: "4", content: "other", score: 1 / 62, similarity: 0.8 },
  ]);
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
