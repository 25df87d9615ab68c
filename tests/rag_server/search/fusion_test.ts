import assert from "node:assert/strict";
import {
  type Candidate,
  depthOf,
  fuseTables,
  type TableSearch,
} from "../../../src/rag_server/search/fusion.ts";
import { candidateOf, tableSearch } from "../fused_tables.ts";

Deno.test("depthOf() is 100, whatever is asked for up to that", () => {
  const limits = [1, 10, 25, 100, 120, 400, 500];
  assert.deepEqual(limits.map((limit) => depthOf(limit)), [100, 100, 100, 100, 120, 400, 400]);
});

Deno.test("fuseTables() tells a text once, at its best place", () => {
  const found = [
    { content: "same", nearestScore: -0.1 },
    { content: " same\n", nearestScore: -0.2 },
    { content: "other", nearestScore: -0.3 },
  ].map((candidate) => candidateOf(candidate));
  const tables = [tableSearch(found), tableSearch([])];
  assert.deepEqual(fuseTables(tables, 1).map(({ content }) => content), ["same", "other"]);
  assert.deepEqual(fuseTables([tableSearch([]), tableSearch([])], 0.5), []);
  assert.deepEqual(fuseTables([], 0.5), []);
});

Deno.test("fuseTables() tells a text of several tables by a copy with an id, at the best copy's place", () => {
  const tables = [
    tableSearch([candidateOf({ content: "same", nearestScore: -0.1, similarity: 0.9 })]),
    tableSearch([
      candidateOf({ id: "4", content: "other", nearestScore: -0.2, similarity: 0.8 }),
      candidateOf({ id: "7", content: "same ", nearestScore: -0.3, similarity: 0.7 }),
      candidateOf({ id: "9", content: "same", nearestScore: -0.4, similarity: 0.6 }),
    ]),
  ];
  const [first, second, ...rest] = fuseTables(tables, 1);
  assert.deepEqual([first?.id, first?.content, first?.similarity], ["7", "same ", 0.7]);
  assert.deepEqual([second?.id, rest], ["4", []]);
  assert.ok(first && second && first.score > second.score);
});

Deno.test("fuseTables() breaks ties by id, and then by the tables' order", () => {
  const same = (...ids: string[]) =>
    tableSearch(
      ids.map((id) => candidateOf({ id, content: `${Math.random()}`, nearestScore: -1 })),
    );
  const named = (tables: readonly TableSearch[]) =>
    fuseTables(
      tables.map((table, at) => ({
        ...table,
        candidates: table.candidates.map((one: Candidate) => ({ ...one, table: `${at}`, similarity: 1 })),
      })),
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
