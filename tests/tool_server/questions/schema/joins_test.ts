import assert from "node:assert/strict";
import { createJoinGraph, type Join } from "../../../../src/tool_server/questions/schema/joins.ts";

function join(from: number, to: number, column = "ref_id"): Join {
  return { from, to, fromColumns: [column], toColumns: ["id"], isDeclared: true };
}

const free = (count: number): number[] => Array.from({ length: count }, () => 0);

Deno.test("the tables between two are those on the shortest way", () => {
  const graph = createJoinGraph(free(5), [join(1, 0), join(1, 2), join(2, 3), join(3, 4), join(0, 0)]);
  assert.deepEqual(graph.between(new Set([0]), 2), [1]);
  assert.deepEqual(graph.between(new Set([0, 2]), 4), [3]);
  assert.deepEqual(graph.between(new Set([0]), 1), []);
});

Deno.test("tables without a way have none between them", () => {
  assert.equal(createJoinGraph(free(3), [join(0, 1)]).between(new Set([0]), 2), undefined);
  assert.equal(createJoinGraph(free(1), []).between(new Set(), 0), undefined);
});

Deno.test("a longer way is taken before one through who changed the row, or through a table with a toll", () => {
  const joins = [join(0, 1), join(1, 2), join(2, 3)];
  const audit = [join(0, 4, "created_by"), join(3, 4, "updated_by")];
  assert.deepEqual(createJoinGraph(free(5), [...joins, ...audit]).between(new Set([0]), 3), [1, 2]);
  const archive = [join(0, 4), join(3, 4)];
  assert.deepEqual(createJoinGraph(free(5), [...joins, ...archive]).between(new Set([0]), 3), [4]);
  assert.deepEqual(createJoinGraph([0, 0, 0, 0, 2], [...joins, ...archive]).between(new Set([0]), 3), [1, 2]);
});
