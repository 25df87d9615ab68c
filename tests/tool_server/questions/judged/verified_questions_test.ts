import assert from "node:assert/strict";
import { judgedKnowledge } from "./judged_knowledge.ts";
import { hospitalNearMisses, hospitalParaphrases } from "./verified_hospital_requests.ts";
import { nearMisses, paraphrases } from "./verified_requests.ts";

const local = { kind: "local" } as const;

/**
 * The requests about each database, and the least share of the paraphrases that must find their question: what finds none
 * goes to the model. The rules were made with the shop's at hand.
 */
const sets = {
  shop: { paraphrases, nearMisses, leastRecall: 0.9 },
  hospital: { paraphrases: hospitalParaphrases, nearMisses: hospitalNearMisses, leastRecall: 0.75 },
} as const;

const { questions } = await judgedKnowledge();

for (const database of ["shop", "hospital"] as const) {
  const set = sets[database];

  Deno.test(`${database}: no near miss is answered by a verified question`, () => {
    const wrong = set.nearMisses.flatMap((request) => {
      const found = questions.match(request, database, local);
      return found === undefined ? [] : [`${request} -> ${found.question.name} ${found.values}`];
    });
    assert.deepEqual(wrong, []);
  });

  Deno.test(`${database}: paraphrases find their question with their values, or none`, () => {
    const missed: string[] = [];
    let count = 0;
    for (const { question, requests } of set.paraphrases) {
      for (const [request, ...values] of requests) {
        count++;
        const found = questions.match(request, database, local);
        if (found === undefined) missed.push(request);
        else assert.deepEqual([found.question.name, found.values], [question, values], request);
      }
    }
    const recall = 1 - missed.length / count;
    assert.ok(
      recall >= set.leastRecall,
      `${count - missed.length} of ${count} found, not: ${missed.join(" | ")}`,
    );
  });

  Deno.test(`${database}: the question that a request is near is among the three nearest`, () => {
    const near = set.paraphrases.flatMap(({ question, requests }) =>
      requests.map(([request]) =>
        questions.nearest(request, database, local, 3).some(({ name }) => name === question)
      )
    );
    assert.ok(near.filter(Boolean).length >= 0.9 * near.length);
  });
}
