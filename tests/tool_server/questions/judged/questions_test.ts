import assert from "node:assert/strict";
import { silentLogger } from "../../../../src/core/logger.ts";
import { createCompletionProvider } from "../../../../src/llm/create_provider.ts";
import { excerptSchema } from "../../../../src/tool_server/questions/schema/schema_excerpt.ts";
import { createVendor } from "../../../llm/wire/vendors/vendor.ts";
import { testWithPostgres } from "../../../support/database.ts";
import { holdsTables } from "./holds_tables.ts";
import type { QuestionSchema } from "./question.ts";
import { createQuestionFixture, type QuestionFixture } from "./question_fixture.ts";
import { questions } from "./question_set.ts";
import { createSemanticModels } from "../../../../src/tool_server/questions/models/semantic_models.ts";
import { createVerifiedAnswers } from "../../../../src/tool_server/questions/answer.ts";
import { judgedKnowledge } from "./judged_knowledge.ts";
import { hospitalParaphrases } from "./verified_hospital_requests.ts";
import { paraphrases } from "./verified_requests.ts";
import { sameResult } from "./same_result.ts";

const schemaTokens = 8_000;

/** The least share of the questions whose tables must all be in the prompt. */
const leastRecall: Readonly<Record<QuestionSchema, number>> = { shop: 1, hospital: 1, erp: 0.9 };

async function tablesAreInThePrompt(t: Deno.TestContext, fixture: QuestionFixture): Promise<void> {
  const sqlOf = new Map(questions.map((question) => [question.id, question.sql]));
  const request = { principal: { kind: "local" } as const, signal: new AbortController().signal };
  for (const sampleValues of [false, true]) {
    const schemas = fixture.schemas({ sampleValues });
    for (const schema of ["shop", "hospital", "erp"] as const) {
      await t.step(`${schema}, ${sampleValues ? "with" : "without"} sample values`, async () => {
        const index = await schemas.get(fixture.databases[schema], request);
        const asked = questions.filter((question) => question.schema === schema);
        const missed: string[] = [];
        for (const question of asked) {
          const recentStatements = (question.after ?? []).flatMap((id) => sqlOf.get(id) ?? []);
          const excerpt = excerptSchema(index, {
            question: question.question,
            recentStatements,
            maxTokens: schemaTokens,
          });
          assert.ok(excerpt.tokens <= schemaTokens, question.id);
          if (!holdsTables(excerpt, question)) missed.push(question.id);
        }
        const recall = 1 - missed.length / asked.length;
        assert.ok(recall >= leastRecall[schema], `missed ${missed.join(", ")}`);
      });
    }
  }
}

const asking = "QUESTION: Which of the two do you mean?";

/**
 * The model of these tests knows every statement, and writes each second one wrong at first: what is tested is all that
 * stands between a request and its rows.
 */
function createModel() {
  const asked: string[] = [];
  return (prompt: { messages: readonly { content: string }[]; question: string }): string => {
    const said = prompt.messages.map(({ content }) => content).join("\n");
    // the request of a prompt stands at its end; a repair comes after it
    const found = questions.filter(({ question }) => said.includes(`The request:\n${question}`));
    const [question] = found.toSorted((one, other) => other.question.length - one.question.length);
    assert.ok(question, prompt.question);
    if (question.sql === undefined) return asking;
    const isRepair = prompt.question.includes("does not exist");
    asked.push(question.id);
    const sql = isRepair || asked.length % 2 === 0
      ? question.sql
      : question.sql.replace(/select/i, "SELECT no_such_column,");
    return `\`\`\`sql\n${sql}\n\`\`\``;
  };
}

async function answersAreRows(fixture: QuestionFixture): Promise<void> {
  await using vendor = createVendor("openai", { answer: createModel() });
  const completion = createCompletionProvider({
    kind: "openai",
    model: "scripted",
    baseUrl: vendor.url,
    apiKey: () => undefined,
    requestTimeoutMs: 10_000,
    perAttemptTimeoutMs: 10_000,
    logger: silentLogger,
  });
  const answer = fixture.answerer({
    completion,
    schemas: fixture.schemas({ sampleValues: false }),
    schemaTokens,
  });
  for (const asked of questions) {
    const { id, schema } = asked;
    const answered = await answer(schema, asked.question);
    if (asked.sql === undefined) {
      assert.deepEqual(answered, { kind: "question", text: "Which of the two do you mean?" }, id);
      continue;
    }
    assert.ok(answered.kind === "rows", `${id}: ${JSON.stringify(answered)}`);
    const gold = await fixture.databases[schema].read({
      principal: { kind: "local" },
      sql: asked.sql,
      signal: new AbortController().signal,
    });
    assert.ok(gold.ok, id);
    assert.ok(sameResult(gold.rows, answered.result.rows, { ordered: asked.ordered ?? false }), id);
  }
  assert.ok(vendor.requests.length > questions.length * 1.3, "no statement went back");
}

async function verifiedQuestionsRun(fixture: QuestionFixture): Promise<void> {
  const knowledge = await judgedKnowledge();
  const verified = createVerifiedAnswers({ knowledge: () => knowledge, now: Date.now });
  const question = {
    principal: { kind: "local" },
    maxRows: 10,
    offset: 0,
    signal: new AbortController().signal,
    logger: silentLogger,
  } as const;
  for (const [schema, asked] of [["shop", paraphrases], ["hospital", hospitalParaphrases]] as const) {
    const database = fixture.databases[schema];
    for (const text of asked.flatMap(({ requests }) => requests.map(([request]) => request))) {
      const answer = await verified.answer({ ...question, text, database });
      if (answer?.kind === "failed") assert.fail(`${text}: ${answer.error.message}`);
    }
    const request = { principal: question.principal, signal: question.signal };
    const { catalog: { tables } } = await fixture.schemas({ sampleValues: false }).get(database, request);
    const missing: string[] = [];
    const logger = { ...silentLogger, warn: (message: string) => void missing.push(message) };
    createSemanticModels(knowledge.models.all, { logger }).ofCatalog(database, question.principal, tables);
    assert.deepEqual(missing, []);
  }
}

testWithPostgres("questions in words", async (t) => {
  await using fixture = await createQuestionFixture();
  await t.step("the tables that answer a question are in its prompt, within the budget", (t) => {
    return tablesAreInThePrompt(t, fixture);
  });
  await t.step("every verified question runs with the values of the requests that ask it", () => {
    return verifiedQuestionsRun(fixture);
  });
  await t.step("every question comes back as the rows of its own statement, or as a question", () => {
    return answersAreRows(fixture);
  });
});
