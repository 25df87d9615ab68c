import assert from "node:assert/strict";
import { fuseTables } from "../../../src/rag_server/search/fusion.ts";
import { candidateOf, tableSearch } from "../fused_tables.ts";

Deno.test("reciprocal ranks give each search's weight over 60 and the rank", () => {
  const fused = fuseTables(
    [tableSearch([
      candidateOf({ id: "7", content: "both", nearestRank: 2, matchingRank: 1, similarity: 0.8 }),
      candidateOf({ id: "3", content: "near", nearestRank: 1, similarity: 0.9 }),
      candidateOf({ id: "9", content: "words", matchingRank: 2 }),
    ])],
    "rrf",
    0.4,
  );
  assert.deepEqual(fused, [
    { table: "docs", id: "7", content: "both", similarity: 0.8, score: 0.4 / 62 + 0.6 / 61 },
    { table: "docs", id: "9", content: "words", score: 0.6 / 62 },
    { table: "docs", id: "3", content: "near", similarity: 0.9, score: 0.4 / 61 },
  ]);
});

Deno.test("reciprocal ranks count what is nearer in other tables, and leave places by words alone", () => {
  const near = (table: string, similarities: readonly number[]) =>
    tableSearch(
      similarities.map((similarity, at) =>
        candidateOf({ id: `${at}`, content: `${table}${at}`, nearestRank: at + 1, similarity })
      ),
    );
  const fused = fuseTables([near("a", [0.5, 0.4]), near("b", [0.9, 0.8, 0.3])], "rrf", 1);
  assert.deepEqual(fused.map(({ content }) => content), ["b0", "b1", "a0", "a1", "b2"]);
  assert.deepEqual(fused.map(({ score }) => score), [1 / 61, 1 / 62, 1 / 63, 1 / 64, 1 / 65]);
  const words = ["b", "a"].map((content) =>
    tableSearch([candidateOf({ id: "1", content, matchingRank: 1 })])
  );
  assert.deepEqual(fuseTables(words, "rrf", 0).map(({ content, score }) => [content, score]), [
    ["b", 1 / 61],
    ["a", 1 / 61],
  ]);
});
