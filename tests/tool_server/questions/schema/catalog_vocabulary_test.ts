import assert from "node:assert/strict";
import { createVocabulary } from "../../../../src/tool_server/questions/schema/catalog_vocabulary.ts";

function meanings(word: string, terms: string, tableNames = ""): Map<string, number> {
  const vocabulary = createVocabulary();
  for (const term of terms.split(" ")) {
    vocabulary.add(term, { isTableName: tableNames.split(" ").includes(term) });
  }
  return new Map(vocabulary.candidates(word).map(({ term, quality }) => [term, quality]));
}

const found: readonly (readonly [word: string, term: string])[] = [
  ["customers", "customer"],
  ["customers", "cust"],
  ["clients", "customer"],
  ["clients", "cust"],
  ["quantity", "qty"],
  ["amt", "amount"],
  ["departments", "dept"],
  ["supplier", "spl"],
  ["salary", "slry"],
  ["shipped", "shipment"],
  ["insurance", "insurer"],
  ["sold", "sale"],
  ["admin", "administrator"],
  ["suplier", "supplier"],
];

for (const [word, term] of found) {
  Deno.test(`"${word}" may mean ${term}`, () => assert.ok(meanings(word, `${term} other`).has(term)));
}

const apart: readonly (readonly [word: string, term: string])[] = [
  ["older", "order"],
  ["failed", "field"],
  ["last", "list"],
  ["forklifts", "for"],
  ["in", "inventory"],
];

for (const [word, term] of apart) {
  Deno.test(`"${word}" does not mean ${term}`, () => assert.ok(!meanings(word, term).has(term)));
}

Deno.test("the word itself is the surest meaning, and others are less sure beside a table of that name", () => {
  const beside = meanings("client", "client customer", "client");
  const alone = meanings("client", "customer");
  assert.equal(beside.get("client"), 1);
  assert.ok((beside.get("customer") ?? 1) < (alone.get("customer") ?? 0));
});

Deno.test("several words in a row may be written as their initials", () => {
  const vocabulary = createVocabulary();
  vocabulary.add("gl", { isTableName: false });
  vocabulary.add("rma", { isTableName: false });
  assert.deepEqual(vocabulary.initials(["general", "ledger"]).map(({ term }) => term), ["gl"]);
  assert.deepEqual(vocabulary.initials(["return", "material", "authorization"]).map(({ term }) => term), [
    "rma",
  ]);
  assert.deepEqual(vocabulary.initials(["good", "luck"]), []);
});
