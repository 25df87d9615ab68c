import assert from "node:assert/strict";
import { excerptSchema } from "../../../../src/tool_server/questions/schema/schema_excerpt.ts";
import { createSchemaIndex } from "../../../../src/tool_server/questions/schema/schema_index.ts";
import { buildCatalog } from "../build_catalog.ts";

const catalog = buildCatalog({
  patient: "id*, name text, ward_id > ward.id",
  ward: "id*, name text",
  ward_bed: "id*, ward_id > ward.id, price numeric",
});
const index = await createSchemaIndex({ catalog, samples: new Map() });

const length = 8_000;
const fill = (piece: string) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
const ordinary = fill("which ward had the most patients of each name in the beds by price and sum ");

/** Milliseconds that the fastest of some runs takes. */
function cost(question: string): number {
  const runs = Array.from({ length: 5 }, () => {
    const startedAt = performance.now();
    excerptSchema(index, { question, maxTokens: 2_000 });
    return performance.now() - startedAt;
  });
  return Math.min(...runs);
}

// what takes the square of a word's length takes many times as long as the same letters in short words
for (const piece of ["x", "ü", "wardward", "aB", "bcdfg", "ing", "1", "1.", "_"]) {
  Deno.test(`a word of ${length} letters costs no more than as many in short words: ${piece}…`, () => {
    const word = cost(fill(piece));
    const words = cost(ordinary);
    assert.ok(word < 3 * words, `${word.toFixed(1)} ms, and ${words.toFixed(1)} ms for words`);
  });
}

Deno.test("a request without blanks, in a script that needs none, is read at its start and its end", () => {
  const named = (question: string) => excerptSchema(index, { question, maxTokens: 60 }).tables[0]?.name;
  assert.equal(named(`ward ${"患者".repeat(3_000)}`), "ward");
  assert.equal(named(`${"患者".repeat(3_000)} ward`), "ward");
});

Deno.test("names in a request are found whole, beside other names and within quotes", () => {
  const found = (question: string) => excerptSchema(index, { question, maxTokens: 60 }).tables[0]?.name;
  assert.equal(found(`${"x".repeat(3_000)} ward_bed`), "ward_bed");
  assert.equal(found("(public.ward_bed)"), "ward_bed");
  assert.equal(found('rows of "public"."ward_bed"'), "ward_bed");
  assert.equal(found("=public.ward_bed.price"), "ward_bed");
});
