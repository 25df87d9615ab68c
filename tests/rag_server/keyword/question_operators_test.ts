import assert from "node:assert/strict";
import { readOperators } from "../../../src/rag_server/keyword/question_operators.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createRetrieverFixture } from "../retriever_fixture.ts";

Deno.test("readOperators() reads phrases in quotes of several languages, and excluded words", () => {
  for (
    const [question, phrases, excluded] of [
      ['jaguar -car "big cat"', ['"big cat"'], ["car"]],
      ['jaguar -"big cat"', [], ['"big cat"']],
      ["-AX-204-B offers", [], ["AX-204-B"]],
      ["books -C++", [], ["C++"]],
      ["C++ -C#", [], ["C#"]],
      ["„höhere Gewalt“ Klausel", ["„höhere Gewalt“"], []],
      ["clause «force majeure»", ["«force majeure»"], []],
      ["“smart quotes”", ["“smart quotes”"], []],
      ["駅「東京駅」の出口", ["「東京駅」"], []],
    ] as const
  ) {
    const read = readOperators(question);
    assert.deepEqual([read.phrases, read.excluded], [phrases, excluded], question);
  }
});

Deno.test("readOperators() leaves dashes, signs, flags, inches and apostrophes alone", () => {
  for (
    const question of [
      "state-of-the-art - a dash",
      "it is -5 degrees outside",
      "range 3-5 or –word",
      "server --verbose mode",
      "What does -doctor do?",
      "rock 'n' roll and 'quoted' words",
      "l'été d’Anna",
      'a 5" pipe and a 6" pipe',
      'he said "yes',
      'an empty "" and " "',
    ]
  ) {
    assert.deepEqual(readOperators(question), { text: question, phrases: [], excluded: [] }, question);
  }
});

const docs = `
  CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2));
  INSERT INTO docs VALUES
    (1, 'Majeure events and the force of habit', '[1,0]'), (2, 'A Force Majeure; the clause', '[0,1]'),
    (3, 'The clause of cars', '[1,0.1]'), (4, 'Jaguars are cats', '[0.9,0.1]'), (5, 'A jaguar is a car', '[1,0]'),
    (6, 'Fast cars', '[1,0.01]'), (7, 'Written in C++, not in C#', '[0,1]'), (8, 'Up to 90 °C; our C compiler', '[0,1]'),
    (9, 'C++: a reference', '[0,1]');
  CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops);`;

for (const vectorWeight of [0, 0.5]) {
  for (
    const column of [
      "",
      "ALTER TABLE docs ADD w tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED; CREATE INDEX ON docs USING gin (w)",
    ]
  ) {
    testWithPgvector(
      `phrases and excluded words hold with weight ${vectorWeight}, ${
        column === "" ? "by texts" : "by a column"
      }`,
      async () => {
        await using fixture = await createRetrieverFixture(docs + column);
        const ids = async (question: string) =>
          (await fixture.retrieve(["docs"], { vectorWeight }, { question })).map(({ id }) => Number(id));
        assert.deepEqual(await ids('clause "force majeure"'), [2]);
        assert.ok((await ids('clause "no such phrase"')).length >= 2, "without one, as if without quotes");
        // only the beginning of so long a question is looked up
        assert.deepEqual(await ids(`${"clause ".repeat(300)} "fast cars"`), [6]);
        assert.deepEqual((await ids('"C++"')).toSorted(), [7, 9]);
        assert.deepEqual(await ids('"c#" lessons'), [7]);
        assert.ok(!(await ids("C++ -C#")).includes(7));
        const without = await ids("jaguar -car");
        assert.ok(without.includes(4));
        assert.ok(without.every((id) => ![3, 5, 6].includes(id)), String(without));
      },
    );
  }
}
