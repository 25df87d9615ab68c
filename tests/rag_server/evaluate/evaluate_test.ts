import assert from "node:assert/strict";
import { evaluate, type RetrievalArm } from "../../../src/rag_server/evaluate/evaluate.ts";

const { signal } = new AbortController();
const queries = [{ id: "1", text: "one" }, { id: "2", text: "two" }, { id: "3", text: "nobody judged" }];
const qrels = new Map([
  ["1", new Map([["a", 1], ["b", 1]])],
  ["2", new Map([["c", 2]])],
  ["9", new Map([["a", 1]])],
]);

function arm(name: RetrievalArm["name"], answers: Readonly<Record<string, readonly string[]>>): RetrievalArm {
  return { name, retrieve: (question, limit) => Promise.resolve((answers[question] ?? []).slice(0, limit)) };
}

const filler = Array.from({ length: 30 }, (_, n) => `x${n}`);

Deno.test("evaluate() gives means over the questions that have a relevant document", async () => {
  const progress: string[] = [];
  const evaluation = await evaluate({
    arms: [
      // the same row again, as of two tables, is not found twice
      arm("vector", { one: ["a", "a", "b"], two: ["x", "c"] }),
      arm("keyword", { one: [...filler, "a"], two: ["c"] }),
      arm("hybrid", { one: ["a", "b"], two: ["c"] }),
    ],
    vectorWeight: 0.5,
    queries,
    qrels,
    signal,
    onProgress: (done, total) => progress.push(`${done}/${total}`),
  });
  assert.deepEqual([evaluation.queries, evaluation.unjudgedQueries, progress], [2, 1, ["1/2", "2/2"]]);
  const figures = evaluation.arms.map(({ latencyMs: _, ...rest }) => rest);
  const second = 1 / Math.log2(3);
  assert.deepEqual(figures, [
    { arm: "vector", ndcgAt10: (1 + second) / 2, recallAt10: 1, recallAt100: 1, mrr: 0.75 },
    { arm: "keyword", ndcgAt10: 0.5, recallAt10: 0.5, recallAt100: 0.75, mrr: 0.5 },
    { arm: "hybrid", ndcgAt10: 1, recallAt10: 1, recallAt100: 1, mrr: 1 },
  ]);
  const { arm: name, against, mean, interval } = evaluation.difference ?? {};
  assert.deepEqual([name, against, interval], ["hybrid", "vector", undefined]);
  assert.ok(Math.abs((mean ?? 0) - (1 - second) / 2) < 1e-12);
  // of one arm alone as that arm; half and half, "c" is in both lists and comes first
  const weighed = (weight: number) =>
    evaluation.weighed?.weights.find(({ vectorWeight }) => vectorWeight === weight)?.ndcgAt10;
  assert.deepEqual([weighed(1), weighed(0)], [(1 + second) / 2, 0.5]);
  assert.equal(evaluation.weighed?.weights.length, 21);
  assert.ok((weighed(0.5) ?? 0) > (1 + second) / 2);
});

Deno.test("evaluate() without a fusion has no difference", async () => {
  const { difference } = await evaluate({
    arms: [arm("vector", {})],
    vectorWeight: 1,
    queries,
    qrels,
    signal,
  });
  assert.equal(difference, undefined);
});

Deno.test("evaluate() refuses questions and judgements that have nothing to do with each other", async () => {
  for (const strange of [new Map([["q1", new Map([["a", 1]])]]), new Map([["1", new Map([["a", 0]])]])]) {
    await assert.rejects(
      evaluate({ arms: [arm("vector", {})], vectorWeight: 1, queries, qrels: strange, signal }),
      {
        code: "invalid",
        message:
          "Cannot evaluate: no question has a relevant document; the two files must call the questions by the same ids",
      },
    );
  }
});

Deno.test("evaluate() ends where it is told to, or an arm fails", async () => {
  const controller = new AbortController();
  const onProgress = () => controller.abort(new Error("enough"));
  const stopped = evaluate({
    arms: [arm("vector", {})],
    vectorWeight: 1,
    queries,
    qrels,
    signal: controller.signal,
    onProgress,
  });
  await assert.rejects(stopped, { message: "enough" });
  const failing: RetrievalArm = { name: "vector", retrieve: () => Promise.reject(new Error("down")) };
  await assert.rejects(evaluate({ arms: [failing], vectorWeight: 1, queries, qrels, signal }), {
    message: "down",
  });
});
