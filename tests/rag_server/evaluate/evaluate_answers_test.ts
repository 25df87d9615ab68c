import assert from "node:assert/strict";
import type { Principal } from "../../../src/core/principal.ts";
import { evaluateAnswers } from "../../../src/rag_server/evaluate/evaluate_answers.ts";
import type { PipelineAnswer } from "../../../src/rag_server/pipeline.ts";
import type { PipelineQuery } from "../../../src/rag_server/query.ts";

const sources = [
  { key: "1-a", id: "a", content: "Annual leave is 30 days.", score: 1 },
  { key: "1-b", id: "b", content: "Lunch is free on Fridays.", score: 0.5 },
];

/** By their questions. */
const recorded: Readonly<Record<string, PipelineAnswer>> = {
  leave: { answer: "Annual leave is 30 days [1]. Lunch costs 5 euros [2].", sources, tokensUsed: 1 },
  lunch: { answer: "I cannot say how lunch is paid.", sources, tokensUsed: 1 },
  cup: {
    answer: "The documents do not answer this question.",
    sources: [],
    tokensUsed: 1,
    isUnanswered: true,
  },
  wine: { answer: "Red wine goes with fish on Fridays [2].", sources, tokensUsed: 1 },
};

Deno.test("answers are judged by what they cite, what that bears out, and whether there should be one", async () => {
  const asked: PipelineQuery[] = [];
  const progress: string[] = [];
  const caller: Principal = { kind: "token", id: "t" };
  const figures = await evaluateAnswers({
    pipeline: {
      answer(query) {
        asked.push(query);
        return Promise.resolve(recorded[query.query] ?? assert.fail(query.query));
      },
    },
    queries: [
      { id: "1", text: "leave" },
      { id: "2", text: "lunch" },
      { id: "3", text: "cup", hasNoAnswer: true },
      { id: "4", text: "wine", hasNoAnswer: true },
      { id: "5", text: "nobody judged it" },
    ],
    qrels: new Map([["1", new Map([["a", 1], ["b", 0]])], ["2", new Map([["b", 1]])]]),
    caller,
    onProgress: (done, total) => progress.push(`${done}/${total}`),
    signal: new AbortController().signal,
  });
  assert.deepEqual(figures, {
    answered: { part: 1, whole: 2 },
    refused: { part: 1, whole: 2 },
    relevant: { part: 1, whole: 2 },
    verified: { part: 1, whole: 3 },
  });
  assert.deepEqual(progress, ["1/4", "2/4", "3/4", "4/4"]);
  assert.ok(asked.every((query) => query.caller === caller));
});
