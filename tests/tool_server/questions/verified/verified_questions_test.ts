import assert from "node:assert/strict";
import type { Principal } from "../../../../src/core/principal.ts";
import { createStatementGuard } from "../../../../src/postgres/guard/statement_guard.ts";
import { readSections } from "../../../../src/tool_server/definitions/sections.ts";
import { readModels } from "../../../../src/tool_server/questions/models/read_models.ts";
import { readQuestions } from "../../../../src/tool_server/questions/verified/read_questions.ts";
import { createVerifiedQuestions } from "../../../../src/tool_server/questions/verified/verified_questions.ts";

const guard = await createStatementGuard();
const local = { kind: "local" } as const;
const token: Principal = { kind: "token", id: "a" };

async function questionsOf(yaml: string, modelsYaml = "  []\n", databases = ["shop", "crm"]) {
  const { sections } = await readSections(`questions:\n${yaml}models:\n${modelsYaml}`);
  assert.ok(sections);
  const checks = { guard, signal: new AbortController().signal, databases };
  const { questions, faults } = await readQuestions(sections.questions, checks);
  const { models, faults: modelFaults } = await readModels(sections.models, checks);
  assert.deepEqual([...faults, ...modelFaults], []);
  return createVerifiedQuestions(questions, models);
}

const question = (words: string, more = "", database = "shop") =>
  `  - {question: "${words}", database: ${database}, sql: 'SELECT 1${more.includes("$1") ? ", $1" : ""}'${
    more.replace(", $1", "")
  }}\n`;

Deno.test("a question is there for its database and for those who may ask it alone", async () => {
  const questions = await questionsOf(
    question("number of orders") + question("number of staff", ", available_to_users: [alice]") +
      question("number of leads", "", "crm"),
  );
  const asked = (text: string, database: string, principal: Principal) => [
    questions.match(text, database, principal)?.question.name,
    ...questions.nearest(text, database, principal, 3).map(({ name }) => name),
  ];
  assert.deepEqual(asked("how many orders?", "shop", token), ["number of orders", "number of orders"]);
  assert.deepEqual(asked("how many orders?", "crm", token), [undefined]);
  assert.deepEqual(asked("how many employees?", "shop", local), ["number of staff", "number of staff"]);
  assert.deepEqual(asked("how many employees?", "shop", token), [undefined]);
  assert.deepEqual(asked("how many leads?", "crm", token), ["number of leads", "number of leads"]);
  assert.deepEqual(asked("how many leads?", "none", token), [undefined]);
});

Deno.test("a question that names no database is there for each, and for the only one", async () => {
  const yaml = "  - { question: number of orders, sql: SELECT 1 }\n";
  const questions = await questionsOf(yaml + question("number of leads", "", "crm"));
  for (const database of ["shop", "crm"]) {
    assert.equal(questions.match("how many orders?", database, token)?.question.database, undefined);
    assert.ok(questions.match("how many orders?", database, token), database);
  }
  assert.equal(questions.match("how many leads?", "shop", token), undefined);
  const only = await questionsOf(yaml, undefined, ["shop"]);
  assert.equal(only.match("how many orders?", "shop", token)?.question.database, "shop");
  assert.equal(only.match("how many orders?", "crm", token), undefined);
  await assert.rejects(questionsOf(yaml + question("number of orders")), /asked the same way/);
});

Deno.test("a request that two questions fit is answered by the one with more words of its own, or by none", async () => {
  const of = (name: string, values: string) => `, $1, arguments: [{name: ${name}, values: [${values}]}]`;
  const questions = await questionsOf(
    question("orders in {place}", of("place", "Paris, transit, Rome")) +
      question("orders in transit") +
      question("orders in {city}", of("city", "Rome")),
  );
  const name = (text: string) => questions.match(text, "shop", local)?.question.name;
  assert.equal(name("orders in transit"), "orders in transit");
  assert.equal(name("orders in Paris"), "orders in {place}");
  assert.equal(name("orders in Rome"), undefined);
});

Deno.test("a model's other name for a thing asks the same, where it names one thing and no question has it itself", async () => {
  const model = (name: string, synonyms: string, more = "", database = "shop") =>
    `  - {name: ${name}, synonyms: [${synonyms}], database: ${database}, table: t${more}}\n`;
  const questions = await questionsOf(
    question("net sales per month") + question("top seller") + question("staff churn per week") +
      question("number of depots") + question("number of goods"),
    model(
      "sale",
      "deal",
      ", measures: [{name: net sales, sql: sum(x), synonyms: [take home, churn, staff churn]}]",
    ) +
      model("depot", "store, site") + model("shop", "store") + model("best man", "top seller") +
      model("goods", "wares", "", "crm"),
  );
  const name = (text: string) => questions.match(text, "shop", local)?.question.name;
  assert.equal(name("take home per month"), "net sales per month");
  assert.equal(name("monthly take home"), undefined);
  assert.equal(name("take per month"), undefined);
  assert.equal(name("staff churn per month"), "net sales per month");
  assert.equal(name("staff churn per week"), "staff churn per week");
  assert.equal(name("net sales per week"), "staff churn per week");
  assert.equal(name("how many sites"), "number of depots");
  assert.equal(name("how many stores"), undefined);
  assert.equal(name("best man"), "top seller");
  assert.equal(name("best men"), undefined);
  assert.equal(name("how many wares"), undefined);
});

Deno.test("how many are open is how many open ones, and in a country is of that country, where nothing else is said", async () => {
  const values = (name: string, list: string) => `, $1, arguments: [{name: ${name}, values: {${list}}}]`;
  const questions = await questionsOf(
    question("How many orders are {state}?", values("state", "new: fresh, sent: shipped")) +
      question("How many late trains do we have?") +
      question(
        "How many clients do we have in {country}?",
        values("country", "DE: [Germany, German], FR: [France]"),
      ) +
      question("How many trips are there in {month}?", ", $1, arguments: [{name: month, type: month}]") +
      question("How many members are present?") + question("How many of our seats are free?"),
  );
  const asked = (text: string) => {
    const found = questions.match(text, "shop", local);
    return found && [found.question.name, ...found.values].join("|");
  };
  const inCountry = "How many clients do we have in {country}?";
  assert.equal(asked("how many shipped orders"), "How many orders are {state}?|sent");
  assert.equal(asked("number of fresh orders, please"), "How many orders are {state}?|new");
  assert.equal(asked("how many trains are late?"), undefined);
  assert.equal(asked("how many free seats"), "How many of our seats are free?");
  assert.equal(asked("how many present members"), undefined);
  assert.equal(asked("how many german clients"), `${inCountry}|DE`);
  assert.equal(asked("How many France clients are there?"), `${inCountry}|FR`);
  assert.equal(asked("how many french clients"), undefined);
  assert.equal(asked("how many german clients are shipped"), undefined);
  assert.equal(asked("how many march 2026 trips"), undefined);
});

Deno.test("values are read by their type, and what does not fit it is no match", async () => {
  const argument = (type: string) => `, $1, arguments: [{name: x, ${type}}]`;
  const questions = await questionsOf(
    question("sales of day {x}", argument("type: date")) +
      question("sales of month {x}", argument("type: month")) +
      question("sales of year {x}", argument("type: year")) +
      question("sales above {x}", argument("type: number, max: 1000")) +
      question("sales of shop {x}", argument("type: integer")) +
      question("sales of agent {x}", argument("type: text")) +
      question("sales of item {x}", argument("pattern: '[A-Z]+-[0-9]+'")) +
      question("sales of brand {x}", argument("values: {AC: [Acme, Acme Inc], NO: Nordic Oak}")),
  );
  const value = (text: string) => questions.match(text, "shop", local)?.values[0];
  const cases: [string, string | undefined][] = [
    ["sales of day 2024-02-29", "2024-02-29"],
    ["sales of day 2023-02-29", undefined],
    ["sales of day 29 February 2024", "2024-02-29"],
    ["sales of day February 29th, 2024", "2024-02-29"],
    ["sales of day 29 February", undefined],
    ["sales of day 2024-02", undefined],
    ["sales of month 2024-02", "2024-02-01"],
    ["sales of month feb 2024", "2024-02-01"],
    ["sales of month 2024-14", undefined],
    ["sales of year 2024", "2024"],
    ["sales of year 24", undefined],
    ["sales above 1,000.00", "1000.00"],
    ["sales above 1000.5", undefined],
    ["sales above twelve", "12"],
    ["sales of shop 12", "12"],
    ["sales of shop 12.5", undefined],
    ["sales of shop twenty one", "21"],
    ["sales of agent Ana Silva", "Ana Silva"],
    ["sales of agent ana", undefined],
    ["sales of agent 'ana'", "ana"],
    ["sales of agent O'Neill", "O'Neill"],
    ["sales of item TNT-12", "TNT-12"],
    ["sales of item TNT", undefined],
    ["sales of item 'TNT-12'", "TNT-12"],
    ["sales of brand acme inc", "AC"],
    ["sales of brand NORDIC OAK", "NO"],
    ["sales of brand 'AC'", "AC"],
    ["sales of brand nordic", undefined],
  ];
  for (const [text, expected] of cases) assert.equal(value(text), expected, text);
});

Deno.test("a text of any length, sign or script is read without harm", async () => {
  const questions = await questionsOf(
    question("顧客は何人ですか") + question("Wie viele Kunden haben wir?") +
      question("orders of {x}", ", $1, arguments: [{name: x}]"),
  );
  const name = (text: string) => questions.match(text, "shop", local)?.question.name;
  assert.equal(name("顧客は何人ですか？"), "顧客は何人ですか");
  assert.equal(name("wie viele kunden haben wir"), "Wie viele Kunden haben wir?");
  assert.equal(name("Wie viele Kunden haben wir nicht?"), undefined);
  for (
    const text of [
      "",
      "?",
      "{x}",
      "'",
      "orders of '",
      "\0",
      "a ".repeat(100_000),
      "orders of ".repeat(50),
      "\ud800",
    ]
  ) {
    assert.equal(name(text), undefined);
  }
});
