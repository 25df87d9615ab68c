/**
 * Execution accuracy of requests in words: asks the provider that a configuration names the questions of tests/tool_server/questions/judged/,
 * and compares the rows of what it writes with those of statements made by hand: without definitions, then with the verified
 * questions and models of that folder. Needs TEST_DATABASE_URL.
 *
 *   deno task bench:questions config.yaml [shop|hospital|erp …]
 *
 * The figures are of the model and the prompt together; the provider is paid for about two hundred requests. Before that it
 * tells how verified questions take the requests that are judged for them, which needs neither.
 */
import { createFileWatch } from "../src/core/files/watch_files.ts";
import { openCompletion } from "../src/app/providers/open_providers.ts";
import { loadConfig, processEnvironment } from "../src/config/mod.ts";
import { createLogger } from "../src/core/logger.ts";
import type { CompletionProvider, Usage } from "../src/llm/provider.ts";
import type { Question, QuestionTag } from "../tests/tool_server/questions/judged/question.ts";
import {
  createQuestionFixture,
  type QuestionFixture,
} from "../tests/tool_server/questions/judged/question_fixture.ts";
import { judgedKnowledge } from "../tests/tool_server/questions/judged/judged_knowledge.ts";
import { questions } from "../tests/tool_server/questions/judged/question_set.ts";
import { sameResult } from "../tests/tool_server/questions/judged/same_result.ts";
import {
  hospitalNearMisses,
  hospitalParaphrases,
} from "../tests/tool_server/questions/judged/verified_hospital_requests.ts";
import { nearMisses, paraphrases } from "../tests/tool_server/questions/judged/verified_requests.ts";
import type { Knowledge } from "../src/tool_server/questions/prompt_knowledge.ts";
import { median, print } from "./measure.ts";
import { createUsageLedger } from "../src/llm/usage.ts";

const [configPath, ...schemas] = Deno.args;
const knowledge = await judgedKnowledge();
reportVerified("shop", paraphrases, nearMisses);
reportVerified("hospital", hospitalParaphrases, hospitalNearMisses);
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

for (const known of [undefined, knowledge]) {
  print(known === undefined ? "without definitions" : "with definitions", "");
  const before = counter.read();
  const results = await askAll(fixture, opened.completion, known);
  const after = counter.read();
  report(results, {
    promptTokens: after.promptTokens - before.promptTokens,
    completionTokens: after.completionTokens - before.completionTokens,
  }, opened.completion.name);
}

interface Result {
  readonly question: Question;
  readonly isRight: boolean;
  readonly elapsedMs: number;
  readonly what: string;
  readonly isVerified: boolean;
}

function reportVerified(
  database: "shop" | "hospital",
  asked: typeof paraphrases,
  misses: typeof nearMisses,
): void {
  const matchOf = (request: string) => knowledge.questions.match(request, database, { kind: "local" });
  const requests = asked.flatMap(({ requests, question }) =>
    requests.map(([request]) => ({ request, question }))
  );
  const found = requests.filter(({ request, question }) => matchOf(request)?.question.name === question);
  print(`verified questions, ${database}`, `${found.length} of ${requests.length} paraphrases find theirs`);
  print(
    "  near misses that find one",
    `${misses.filter((request) => matchOf(request)).length} of ${misses.length}`,
  );
}

async function askAll(
  fixture: QuestionFixture,
  completion: CompletionProvider,
  known: Knowledge | undefined,
): Promise<Result[]> {
  const answer = fixture.answerer({
    completion,
    schemas: fixture.schemas({ sampleValues: config.llm.sample_values }),
    schemaTokens: config.llm.schema_token_budget,
    ...(known === undefined ? {} : { knowledge: known }),
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
    const isVerified = answered.kind === "rows" && answered.verified !== undefined;
    results.push({ question, isRight, elapsedMs: performance.now() - startedAt, what, isVerified });
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

function report(
  results: readonly Result[],
  usage: Pick<Usage, "promptTokens" | "completionTokens">,
  model: string,
): void {
  print("model", model);
  const accuracy = (of: readonly Result[]) =>
    `${of.filter(({ isRight }) => isRight).length} of ${of.length} right`;
  print("execution accuracy", accuracy(results));
  print("  by verified questions", accuracy(results.filter(({ isVerified }) => isVerified)));
  for (const schema of ["shop", "hospital", "erp"] as const) {
    print(`  ${schema}`, accuracy(results.filter(({ question }) => question.schema === schema)));
  }
  const tags = new Set(results.flatMap(({ question }) => question.tags ?? []));
  const tagged = (tag: QuestionTag) => results.filter(({ question }) => question.tags?.includes(tag));
  for (const tag of tags) print(`  ${tag}`, accuracy(tagged(tag)));
  print("median time", `${Math.round(median(results.map(({ elapsedMs }) => elapsedMs)))} ms`);
  print("tokens, prompts and completions", `${usage.promptTokens} + ${usage.completionTokens}`);
}
