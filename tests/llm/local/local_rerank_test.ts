import assert from "node:assert/strict";
import fc from "fast-check";
import { anyText } from "../../support/any_text.ts";
import { localRerank } from "../../../src/llm/local/local_rerank.ts";

const { signal } = new AbortController();

async function order(query: string, documents: readonly string[], topK?: number): Promise<number[]> {
  const request = { query, documents, signal };
  const { results } = await localRerank().rerank(topK === undefined ? request : { ...request, topK });
  return results.map(({ index }) => index);
}

Deno.test("localRerank() is called local/bm25 and answers a ping", async () => {
  assert.equal(localRerank().name, "local/bm25");
  await localRerank().ping(signal);
});

Deno.test("localRerank() prefers the rarer word, then what covers more of the query", async () => {
  const documents = [
    "The leave policy of the company",
    "Days off work",
    "Parental leave is 14 weeks",
    "Annual leave and sick leave",
  ];
  assert.deepEqual(await order("parental leave", documents), [2, 3, 0, 1]);
});

Deno.test("localRerank() knows a word's inflections", async () => {
  assert.deepEqual(
    await order("carrying over holidays", ["Nothing", "Each holiday may be carried over"], 1),
    [1],
  );
});

Deno.test("localRerank() prefers words that stand together", async () => {
  const documents = [
    "boundary one two three four five six seven eight layer",
    "boundary layer one two three four five six seven eight",
  ];
  assert.deepEqual(await order("boundary layer", documents), [1, 0]);
});

Deno.test("localRerank() keeps the order of equals and gives 0 to what has nothing of the query", async () => {
  const { results, usage } = await localRerank().rerank({
    query: "leave",
    documents: ["none here", "some leave", "some leave", "none here"],
    signal,
  });
  assert.deepEqual(results.map(({ index }) => index), [1, 2, 0, 3]);
  assert.equal(results[3]?.score, 0);
  assert.equal(results[0]?.score, results[1]?.score);
  assert.deepEqual(usage, {
    promptTokens: 9,
    completionTokens: 0,
    cacheCreationInputTokens: 0,
    cacheReadInputTokens: 0,
  });
});

Deno.test("localRerank() of no documents is empty, and of more than there are all", async () => {
  assert.deepEqual(await order("leave", []), []);
  assert.deepEqual(await order("leave", ["leave"], 5), [0]);
  assert.deepEqual(await order("leave", ["leave"], 0), []);
});

Deno.test("localRerank() gives each document of any text a score from 0 to 1, best first, the same each time", async () => {
  await fc.assert(
    fc.asyncProperty(anyText(), fc.array(anyText(), { maxLength: 6 }), async (query, documents) => {
      const request = { query, documents, signal };
      const { results } = await localRerank().rerank(request);
      assert.deepEqual(
        results.map(({ index }) => index).toSorted((a, b) => a - b),
        documents.map((_, at) => at),
      );
      for (const [at, { score }] of results.entries()) {
        assert.ok(score >= 0 && score <= 1 && score <= (results[at - 1]?.score ?? 1));
      }
      assert.deepEqual((await localRerank().rerank(request)).results, results);
    }),
  );
});

Deno.test("localRerank() stops with the signal's reason", async () => {
  const controller = new AbortController();
  const documents = Array.from({ length: 1000 }, () => "leave ".repeat(1000));
  setTimeout(() => controller.abort(new Error("enough")), 0);
  const ranking = localRerank().rerank({ query: "leave", documents, signal: controller.signal });
  await assert.rejects(ranking, { message: "enough" });
});

for (
  const [pattern, distinct, length] of [["a..b..ab.c", 3, 4], ["abc", 3, 3], ["a.a.b...ba", 2, 2]] as const
) {
  Deno.test(`the stems of ${pattern} stand ${length} words apart at the nearest`, async () => {
    const names: Readonly<Record<string, string>> = { a: "walrus", b: "pigeon", c: "badger", ".": "filler" };
    const spell = (letters: string) => [...letters].map((letter) => names[letter]).join(" ");
    // the same words, with all that are asked for side by side
    const letters = [..."abc".slice(0, distinct)];
    const rest = letters.reduce((left, letter) => left.replace(letter, ""), pattern as string);
    const together = letters.join("") + rest;
    const { results } = await localRerank().rerank({
      query: spell(letters.join("")),
      documents: [spell(together), spell(pattern)],
      signal: new AbortController().signal,
    });
    const [near, given] = [0, 1].map((index) =>
      results.find((result) => result.index === index)?.score ?? NaN
    );
    // nearness is a twentieth of the score
    assert.ok(Math.abs((near ?? NaN) - (given ?? NaN) - 0.05 * (1 - distinct / length)) < 1e-9);
  });
}
