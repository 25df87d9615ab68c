import assert from "node:assert/strict";
import type { Candidate, TableSearch } from "../../../src/rag_server/search/candidate.ts";
import { depthOf, fuseTables } from "../../../src/rag_server/search/fusion.ts";
import { fusionKinds } from "../../../src/rag_server/search/fusion_kinds.ts";
import { candidateOf, tableSearch } from "../fused_tables.ts";

Deno.test("depthOf() is 100 at least for scores, 50 for ranks, and grows with what is asked for", () => {
  const limits = [1, 10, 25, 40, 100, 400];
  assert.deepEqual(limits.map((limit) => depthOf(limit, "zscore")), [100, 100, 100, 140, 200, 400]);
  assert.deepEqual(limits.map((limit) => depthOf(limit, "rrf")), [50, 50, 100, 140, 200, 400]);
});

for (const fusion of fusionKinds) {
  Deno.test(`fuseTables() with ${fusion} tells a text once, at its best place`, () => {
    const found = [
      { content: "same", nearestRank: 1, nearestScore: -0.1 },
      { content: " same\n", nearestRank: 2, nearestScore: -0.2 },
      { content: "other", nearestRank: 3, nearestScore: -0.3 },
    ].map((candidate) => candidateOf(candidate));
    const tables = [tableSearch(found), tableSearch([])];
    assert.deepEqual(fuseTables(tables, fusion, 1).map(({ content }) => content), ["same", "other"]);
    assert.deepEqual(fuseTables([tableSearch([]), tableSearch([])], fusion, 0.5), []);
    assert.deepEqual(fuseTables([], fusion, 0.5), []);
  });

  Deno.test(`fuseTables() with ${fusion} tells a text of several tables by a copy with an id, at the best copy's place`, () => {
    const tables = [
      tableSearch([candidateOf({ content: "same", nearestRank: 1, nearestScore: -0.1, similarity: 0.9 })]),
      tableSearch([
        candidateOf({ id: "4", content: "other", nearestRank: 1, nearestScore: -0.2, similarity: 0.8 }),
        candidateOf({ id: "7", content: "same ", nearestRank: 2, nearestScore: -0.3, similarity: 0.7 }),
        candidateOf({ id: "9", content: "same", nearestRank: 3, nearestScore: -0.4, similarity: 0.6 }),
      ]),
    ];
    const [first, second, ...rest] = fuseTables(tables, fusion, 1);
    assert.deepEqual([first?.id, first?.content, first?.similarity], ["7", "same ", 0.7]);
    assert.deepEqual([second?.id, rest], ["4", []]);
    assert.ok(first && second && first.score > second.score);
  });

  Deno.test(`fuseTables() with ${fusion} breaks ties by id, and then by the tables' order`, () => {
    const same = (...ids: string[]) =>
      tableSearch(
        ids.map((id) => candidateOf({ id, content: `${Math.random()}`, nearestRank: 1, nearestScore: -1 })),
      );
    const named = (tables: readonly TableSearch[]) =>
      fuseTables(
        tables.map((table, at) => ({
          ...table,
          candidates: table.candidates.map((one: Candidate) => ({ ...one, table: `${at}`, similarity: 1 })),
        })),
        fusion,
        1,
      ).map(({ table, id }) => `${id} of ${table}`);
    assert.deepEqual(named([same("b", "a"), same("10", "a", "9", "B")]), [
      "10 of 1",
      "9 of 1",
      "B of 1",
      "a of 0",
      "a of 1",
      "b of 0",
    ]);
  });
}
