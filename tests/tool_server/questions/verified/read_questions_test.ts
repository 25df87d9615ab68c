import assert from "node:assert/strict";
import { createStatementGuard } from "../../../../src/postgres/guard/statement_guard.ts";
import { readSections } from "../../../../src/tool_server/definitions/sections.ts";
import { readModels } from "../../../../src/tool_server/questions/models/read_models.ts";
import { createVerifiedQuestions } from "../../../../src/tool_server/questions/verified/verified_questions.ts";
import { readQuestions } from "../../../../src/tool_server/questions/verified/read_questions.ts";

const checks = {
  guard: await createStatementGuard(),
  signal: new AbortController().signal,
  databases: ["shop"],
};

async function read(text: string) {
  const { sections, faults } = await readSections(text);
  assert.ok(sections && faults.length === 0);
  return await readQuestions(sections.questions, checks);
}

Deno.test("readQuestions() reads a question with its arguments and who may ask it", async () => {
  const { questions, faults } = await read(`
questions:
  - question: orders of {customer} since {day}
    phrasings: ["what did {customer} order since {day}?"]
    description: All of them, whatever their state.
    database: shop
    sql: SELECT * FROM orders WHERE customer = $1 AND placed_at >= $2::date;
    arguments:
      - {name: customer, values: {1: [Ana, Ana Silva], 2: Bo}}
      - {name: day, type: date, description: first day}
    available_to_users: [alice, "group:sales"]
`);
  assert.deepEqual(faults, []);
  const [question] = questions;
  assert.ok(question);
  const { phrasings, ...rest } = question;
  assert.equal(phrasings.length, 2);
  assert.deepEqual(rest, {
    kind: "question",
    name: "orders of {customer} since {day}",
    description: "All of them, whatever their state.",
    database: "shop",
    available_to_users: ["alice", "group:sales"],
    texts: ["orders of {customer} since {day}", "what did {customer} order since {day}?"],
    sql: "SELECT * FROM orders WHERE customer = $1 AND placed_at >= $2::date",
    arguments: [
      {
        name: "customer",
        type: "text",
        description: "",
        values: [
          { value: "1", label: "Ana", words: [["1"], ["ana"], ["ana", "silva"]] },
          { value: "2", label: "Bo", words: [["2"], ["bo"]] },
        ],
      },
      { name: "day", type: "date", description: "first day" },
    ],
  });
});

Deno.test("a question with a fault is left out with its place, and the others stay", async () => {
  const { questions, faults } = await read(`
questions:
  - question: how many orders are there?
    database: shop
    sql: DELETE FROM orders
  - question: how many lines are there?
    database: shop
    sql: |
      SELECT count(*)
      FRM order_lines
  - question: orders of {customer}
    database: shop
    sql: SELECT 1
    arguments: [{name: customer}]
  - question: orders in {city}
    database: shop
    sql: SELECT $1
    arguments: [{name: town, type: number, pattern: "("}]
  - question: "{any}"
    database: shop
    sql: SELECT $1::int
    arguments: [{name: any, type: integer}]
  - question: "orders {any}"
    database: shop
    sql: SELECT $1
    arguments: [{name: any}]
  - question: number of products
    database: shp
    sql: SELECT 1
  - question: number of customers
    database: shop
    sql: SELECT count(*) FROM customers
  - question: products
    phrasings: [how many customers?]
    database: shop
    sql: SELECT 1
    available_to: [alice]
  - question: How many customers are there?
    database: shop
    sql: SELECT 2
`);
  assert.deepEqual(questions.map(({ name }) => name), ["number of customers"]);
  assert.deepEqual(faults.map(({ line, path, message }) => `${line} ${path}: ${message}`).sort(), [
    "13 questions[2].sql: has no $1, which stands for customer: the arguments are bound in their order",
    "15 questions[3].question: there is no argument named city",
    "18 questions[3].arguments[0].pattern: expected a regular expression: Invalid regular expression: /(/u: Unterminated group",
    "18 questions[3].arguments[0].pattern: only a text without values has a pattern",
    "19 questions[4].question: needs a word beside its arguments",
    "23 questions[5].question: needs two words beside a text that may be anything",
    "28 questions[6].database: there is no database of that name in the configuration",
    "37 questions[8].available_to: unknown key",
    "38 questions[9].question: another question is asked the same way",
    "5 questions[0].sql: DELETE is not a read; only SELECT, VALUES, TABLE, WITH of those, EXPLAIN and SHOW run here",
    '8 questions[1].sql: syntax error at or near "order_lines" (line 2 of the statement, character 5)',
  ]);
});

Deno.test("the example of docs/definitions.md loads without a fault, and its questions are found", async () => {
  const page = await Deno.readTextFile(new URL("../../../../docs/definitions.md", import.meta.url));
  const example = /```yaml questions\n([^]*?)```/.exec(page)?.[1] ?? "";
  const { questions, faults } = await read(example);
  assert.deepEqual(faults, []);
  const { match } = createVerifiedQuestions(questions);
  const values = (text: string) => match(text, "shop", { kind: "local" })?.values;
  assert.deepEqual(values("how many clients do we have in france"), ["FR"]);
  assert.deepEqual(values("Show me the top products by revenue"), ["10"]);
  const { sections } = await readSections(example);
  assert.ok(sections);
  const { models, faults: modelFaults } = await readModels(sections.models, checks);
  assert.deepEqual([models.map(({ name }) => name), modelFaults], [["customer", "order"], []]);
});
