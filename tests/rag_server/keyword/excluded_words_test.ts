import assert from "node:assert/strict";
import { lackOfWords } from "../../../src/rag_server/keyword/keyword_search.ts";
import { testWithPostgres } from "../../support/database.ts";
import { createKeywordFixture } from "./fixture.ts";

testWithPostgres("excluded words are found in all their forms, with an index and without", async () => {
  await using fixture = await createKeywordFixture(`CREATE TABLE docs (id int PRIMARY KEY, body text);
    INSERT INTO docs VALUES (1, 'seen'), (2, 'seen with whales'), (3, 'seen in the café'), (4, 'seen input/output'),
      (5, 'seen 今日の東京は'), (6, 'seen state-of-the-art'), (7, 'seen art of state')`);
  const others = async (...words: string[]) => {
    const index = await fixture.find();
    const found = await fixture.ask(index, "seen", { filter: lackOfWords(index, words) });
    return found.map(({ id }) => Number(id)).toSorted();
  };
  for (const prepare of [() => Promise.resolve(), () => fixture.build()]) {
    await prepare();
    assert.deepEqual(await others("whale"), [1, 3, 4, 5, 6, 7]);
    assert.deepEqual(await others("CAFE", "output"), [1, 2, 5, 6, 7]);
    assert.deepEqual(await others("Café", "東京", "whale"), [1, 4, 6, 7]);
    assert.deepEqual(await others("東京"), [1, 2, 3, 4, 6, 7]);
    assert.deepEqual(await others("the"), [1, 2, 3, 4, 5, 6, 7]);
  }
});
testWithPostgres(
  "the texts of a table without an index are analysed once for all excluded words",
  async () => {
    await using fixture = await createKeywordFixture("CREATE TABLE docs (id int PRIMARY KEY, body text)");
    const index = await fixture.find();
    const analyses = (words: readonly string[]) =>
      lackOfWords(index, words).parts.join("").split("to_tsvector(").length - 1;
    assert.equal(analyses(["a", "b", "c", "東京"]), analyses(["a"]));
  },
);
