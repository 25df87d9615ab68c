import assert from "node:assert/strict";
import { readCranfield } from "../../../bench/corpus.ts";
import { ndcg } from "../../../bench/ndcg.ts";
import { testWithPostgres } from "../../support/database.ts";
import { createKeywordFixture } from "./fixture.ts";

const folder = Deno.env.get("CRANFIELD");

// the collection is not a part of the project
const test = folder === undefined
  ? (name: string, fn: () => Promise<void>) =>
    Deno.test({ name: `${name} (needs CRANFIELD)`, ignore: true, fn })
  : testWithPostgres;

test("the keyword search reaches BM25's figure on the Cranfield collection", async () => {
  const { documents, questions, gains } = await readCranfield(folder ?? "");
  await using fixture = await createKeywordFixture("CREATE TABLE docs (id int PRIMARY KEY, body text)");
  const values = documents.map(({ id, text }) => `(${id}, '${text.replaceAll("'", "''")}')`);
  await fixture.query(`INSERT INTO docs VALUES ${values.join(",")}`);
  await fixture.build();
  const index = await fixture.find();
  // the usual constants are those that are best with vectors and over other collections; alone and here, others are
  const figures = [{ bm25: { k1: 2, b: 0.75 }, least: 0.3677 }, { bm25: undefined, least: 0.353 }];
  for (const { bm25, least } of figures) {
    let sum = 0;
    for (const { id, text } of questions) {
      const hits = await fixture.ask(index, text, { bm25 });
      sum += ndcg(hits.map((hit) => Number(hit.id)), gains.get(id) ?? new Map());
    }
    assert.ok(sum / questions.length >= least, `nDCG@10 is ${sum / questions.length}`);
  }
});
