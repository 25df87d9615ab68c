/**
 * Execution accuracy of requests in words: asks the provider that a configuration names the questions of tests/tool_server/questions/judged/,
 * and compares the rows of what it writes with those of statements made by hand. Needs TEST_DATABASE_URL.
 *
 *   deno task bench:questions config.yaml [shop|hospital|erp …]
 *
 * The figures are of the model and the prompt together; the provider is paid for about a hundred requests.
 */
import { createFileWatch } from "../src/core/files/watch_files.ts";
import { openCompletion } from "../src/app/open_completion.ts";
import { loadConfig, processEnvironment } from "../src/config/mod.ts";
import { createLogger } from "../src/core/logger.ts";
import type { CompletionProvider, Usage } from "../src/llm/provider.ts";
import { createUsageLedger } from "../src/llm/usage_ledger.ts";
import type { Question, QuestionTag } from "../tests/tool_server/questions/judged/question.ts";
import {
  createQuestionFixture,
  type QuestionFixture,
} from "../tests/tool_server/questions/judged/question_fixture.ts";
import { questions } from "../tests/tool_server/questions/judged/question_set.ts";
import { sameResult } from "../tests/tool_server/questions/judged/same_result.ts";
import { median, print } from "./measure.ts";

const [configPath, ...schemas] = Deno.args;
if (configPath === undefined) throw new Error("name a configuration file whose llm section has a provider");

const { config } = await loadConfig({
  ...processEnvironment(),
  flags: { configPath, settings: new Map(), allowInsecure: false },
});
const logger = createLogger({ level: "warn", format: "text" });
using files = createFileWatch();
const counter = createUsageLedger().counter("questions");
await using opened = await openCompletion({ config, files, onUsage: counter.add, logger });
if (opened === undefined) throw new Error(`${configPath} names no provider that is a model`);
await using fixture = await createQuestionFixture();

const results = await askAll(fixture, opened.completion);
report(results, counter.read(), opened.completion.name);

interface Result {
  readonly question: Question;
  readonly isRight: boolean;
  readonly elapsedMs: number;
  readonly what: string;
}

async function askAll(fixture: QuestionFixture, completion: CompletionProvider): Promise<Result[]> {
  const answer = fixture.answerer({
    completion,
    schemas: fixture.schemas({ sampleValues: config.llm.sample_values }),
    schemaTokens: config.llm.schema_token_budget,
  });
  const asked = questions.filter(({ schema }) => schemas.length === 0 || schemas.includes(schema));
  const results: Result[] = [];
  for (const question of asked) {
    const startedAt = performance.now();
    const answered = await answer(question.schema, question.question).catch((error: Error) => ({
      kind: "refused" as const,
      reason: error.message,
    }));
    const isRight = answered.kind === "rows"
      ? await hasGoldRows(fixture, question, answered.result.rows)
      : answered.kind === question.expects;
    const what = answered.kind === "rows" ? answered.sql : JSON.stringify(answered);
    results.push({ question, isRight, elapsedMs: performance.now() - startedAt, what });
    print(`${isRight ? "right" : "WRONG"} ${question.id}`, isRight ? "" : what.replaceAll(/\s+/g, " "));
  }
  return results;
}

async function hasGoldRows(
  fixture: QuestionFixture,
  question: Question,
  rows: readonly (readonly unknown[])[],
) {
  if (question.sql === undefined) return false;
  const gold = await fixture.databases[question.schema].read({
    principal: { kind: "local" },
    sql: question.sql,
    signal: new AbortController().signal,
  });
  return gold.ok &&
    sameResult(gold.rows, rows, { ordered: question.ordered ?? false, extraColumns: "ignored" });
}

function report(results: readonly Result[], usage: Usage, model: string): void {
  print("model", model);
  const accuracy = (of: readonly Result[]) =>
    `${of.filter(({ isRight }) => isRight).length} of ${of.length} right`;
  print("execution accuracy", accuracy(results));
  for (const schema of ["shop", "hospital", "erp"] as const) {
    print(`  ${schema}`, accuracy(results.filter(({ question }) => question.schema === schema)));
  }
  const tags = new Set(results.flatMap(({ question }) => question.tags ?? []));
  const tagged = (tag: QuestionTag) => results.filter(({ question }) => question.tags?.includes(tag));
  for (const tag of tags) print(`  ${tag}`, accuracy(tagged(tag)));
  print("median time", `${Math.round(median(results.map(({ elapsedMs }) => elapsedMs)))} ms`);
  print("tokens, prompts and completions", `${usage.promptTokens} + ${usage.completionTokens}`);
}
