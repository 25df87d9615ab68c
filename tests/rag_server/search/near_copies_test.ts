import assert from "node:assert/strict";
import type { RetrievedDocument } from "../../../src/rag_server/search/fusion.ts";
import { foldNearCopies } from "../../../src/rag_server/search/near_copies.ts";

const body = "Employees send travel costs to the office in the month after the journey. " +
  "The office pays them with the next salary, where receipts are attached and the manager has agreed. " +
  "Journeys by train count in second class, and hotels by the table that the office keeps for each city. " +
  "Whoever drives a car of their own is paid by distance, and names passengers.";

function fold(texts: readonly string[], question: string, similarities: readonly number[] = []) {
  const documents = texts.map((content, at): RetrievedDocument => ({
    table: "docs",
    id: String(at),
    content,
    score: 1 - at / 100,
    ...(similarities[at] !== undefined && { similarity: similarities[at] }),
  }));
  return foldNearCopies(documents, question).map(({ id, copies }) => [id, copies]);
}

Deno.test("foldNearCopies() keeps the best of texts that differ in a few words, and counts the others", () => {
  const texts = [
    `Travel (the old rules)\n\n${body}`,
    "Something else altogether that is in the table too.",
    `Travel (the new rules)\n\n${body}`,
    `Travel (all rules)\n\n${body}`,
  ];
  assert.deepEqual(fold(texts, "Who pays for hotels?"), [["0", 2], ["1", undefined]]);
  assert.deepEqual(fold(texts, "Who pays for hotels?", [0.7, 0.7, 0.7, 0.6]), [["0", 1], ["1", undefined], [
    "3",
    undefined,
  ]]);
});

Deno.test("foldNearCopies() leaves texts that differ in a number, a word of the question, or much", () => {
  const both = [["0", undefined], ["1", undefined]];
  const price = (volts: number) => `${body} The pump for ${volts} V is in stock.`;
  assert.deepEqual(fold([price(230), price(110)], "Which pumps are there?"), both);
  const office = (city: string) => `${city} ${body}`;
  assert.deepEqual(fold([office("Hamburg"), office("Berlin")], "What does Berlin's office pay?"), both);
  assert.deepEqual(fold([office("Hamburg"), office("Berlin")], "What does the office pay?"), [["0", 1]]);
  const dated = (day: string) => `Of ${day}\n\n${body}`;
  assert.deepEqual(fold([dated("2024-05-17"), dated("2025-05-17")], "When did the rules change?"), both);
  const other = body.replace("train", "ship").replace("car", "bicycle").replace("salary", "cheque");
  assert.deepEqual(fold([body, other], "Who pays?"), both);
  assert.deepEqual(
    fold(["Ask Maria Smith in the office.", "Ask Peter Jones in the office."], "Who helps?"),
    both,
  );
});
