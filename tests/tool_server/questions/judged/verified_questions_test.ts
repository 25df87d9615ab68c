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

  const asked = set.paraphrases.flatMap(({ question, requests }) =>
    requests.map(([request]) => ({ question, request }))
  );

  Deno.test(`${database}: the question that a request is near is among the three nearest`, () => {
    const near = asked.filter(({ question, request }) =>
      questions.nearest(request, database, local, 3).some(({ name }) => name === question)
    );
    assert.ok(near.length >= 0.9 * asked.length);
  });

  Deno.test(`${database}: what a refusal names can be asked as it is, and has what the request asks among it`, () => {
    const now = Date.parse("2026-11-25T12:00:00Z");
    const named = (request: string) =>
      questions.askable(request, database, local, 3, now).map((text) => {
        assert.doesNotMatch(text, /[{}]/);
        const found = questions.match(text, database, local);
        assert.ok(found, `${request} -> ${text}`);
        return [found.question.name, ...found.values].join("|");
      });
    for (const request of set.nearMisses) assert.ok(named(request).length <= 3);
    const found = asked.filter(({ question, request }) =>
      named(request).some((each) => each.split("|")[0] === question)
    );
    assert.ok(found.length >= 0.9 * asked.length, `${found.length} of ${asked.length}`);
  });
}

Deno.test("a refusal names the nearest question with what the request says, or with what is like it", () => {
  const now = Date.parse("2026-11-25T12:00:00Z");
  const nearest = (request: string) => questions.askable(request, "shop", local, 1, now)[0];
  assert.equal(nearest("revenue in march"), "What was our revenue in March 2026?");
  assert.equal(nearest("revenue in december"), "What was our revenue in December 2025?");
  assert.equal(nearest("how many new german customers"), "How many customers do we have in Germany?");
  assert.equal(nearest("how many portugese customers"), "How many customers do we have in Portugal?");
  assert.equal(nearest("how many open orders last year"), "How many orders are open?");
  assert.equal(nearest("orders of smith"), 'all orders of "smith"');
  assert.equal(nearest("top 500 products by revenue"), "top 10 products by revenue");
  const ofNone = questions.askable("recipe for pancakes", "shop", local, 3, now);
  assert.equal(ofNone.length, 3);
  assert.deepEqual(questions.nearest("recipe for pancakes", "shop", local, 3), []);
});
