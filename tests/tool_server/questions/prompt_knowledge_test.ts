import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { countTokens } from "../../../src/text/token_count.ts";
import { readSections } from "../../../src/tool_server/definitions/sections.ts";
import { readModels } from "../../../src/tool_server/questions/models/read_models.ts";
import { createSemanticModels } from "../../../src/tool_server/questions/models/semantic_models.ts";
import { type Knowledge, promptKnowledge } from "../../../src/tool_server/questions/prompt_knowledge.ts";
import { readQuestions } from "../../../src/tool_server/questions/verified/read_questions.ts";
import { createVerifiedQuestions } from "../../../src/tool_server/questions/verified/verified_questions.ts";
import { buildCatalog } from "./build_catalog.ts";

async function knowledgeOf(yaml: string): Promise<Knowledge> {
  const { sections } = await readSections(yaml);
  assert.ok(sections);
  const checks = {
    guard: await createStatementGuard(),
    signal: new AbortController().signal,
    databases: ["shop"],
  };
  const { questions, faults } = await readQuestions(sections.questions, checks);
  const read = await readModels(sections.models, checks);
  assert.deepEqual([...faults, ...read.faults], []);
  const verified = createVerifiedQuestions(questions);
  const models = createSemanticModels(read.models, { logger: silentLogger });
  return { questions: verified, models };
}

const { tables } = buildCatalog({
  clients: "id",
  orders: "id, total numeric",
  payroll: "id, amount numeric",
});
const database = { name: "shop", rightsKey: () => "" };

Deno.test("a prompt gets the models that a request names and the questions near it, within their shares of its tokens", async () => {
  const knowledge = await knowledgeOf(`
models:
  - name: order
    database: shop
    table: orders
    measures: [{name: revenue, synonyms: [turnover], sql: sum(total)}]
  - {name: client, database: shop, table: clients}
questions:
  - question: orders of {state}
    description: |
      Without
      drafts
    database: shop
    sql: SELECT id FROM orders WHERE state = $1
    arguments: [{name: state, description: where it is, values: [open, paid]}]
  - question: salaries
    database: shop
    sql: SELECT sum(amount) FROM payroll
    available_to_users: [alice]
`);
  const of = (text: string, maxTokens = 1_000, principal: Principal = { kind: "token", id: "a" }) =>
    promptKnowledge(knowledge, { text, database, principal }, { tables, maxTokens });
  const found = of("turnover of our orders by state");
  assert.deepEqual(found, {
    models: "order: rows of public.orders\n  measure revenue (also turnover) = sum(total)",
    examples: `\
orders of {state} (Without drafts)
-- $1: state, one of "open", "paid"; where it is
SELECT id FROM orders WHERE state = $1`,
    tables: [1],
    tokens: countTokens(found.models) + countTokens(found.examples),
  });
  const salaries = "what do we pay in salaries?";
  assert.deepEqual(of(salaries), { models: "", examples: "", tables: [], tokens: 0 });
  assert.equal(of(salaries, 1_000, { kind: "local" }).examples, "salaries\nSELECT sum(amount) FROM payroll");
  assert.deepEqual(of("turnover of our orders", 10), { models: "", examples: "", tables: [1], tokens: 0 });
});
