/**
 * What Postern adds to a provider's own time, beside the bare request in the same run; the provider is a local server that
 * answers at once. And the prompt for a catalog of 2,000 tables, which needs TEST_DATABASE_URL.
 */
import { silentLogger } from "../src/core/logger.ts";
import { createCompletionProvider, createEmbeddingProvider } from "../src/llm/create_provider.ts";
import { withFallback } from "../src/llm/fallback.ts";
import type { ProviderOptions } from "../src/llm/provider.ts";
import { buildPrompt } from "../src/tool_server/questions/build_prompt.ts";
import { excerptSchema } from "../src/tool_server/questions/schema/schema_excerpt.ts";
import { createVendor } from "../tests/llm/wire/vendors/vendor.ts";
import { holdsTables } from "../tests/tool_server/questions/judged/holds_tables.ts";
import { createQuestionFixture } from "../tests/tool_server/questions/judged/question_fixture.ts";
import { questions } from "../tests/tool_server/questions/judged/question_set.ts";
import { median, print } from "./measure.ts";
import { createUsageLedger } from "../src/llm/usage.ts";

const rounds = 500;
const { signal } = new AbortController();

await using vendor = createVendor("openai");
const options: ProviderOptions = {
  kind: "openai",
  model: "model-1",
  baseUrl: vendor.url,
  apiKey: () => "key-of-the-bench",
  requestTimeoutMs: 10_000,
  perAttemptTimeoutMs: 10_000,
  logger: silentLogger,
};
// as the server puts them together
const completion = withFallback([
  createCompletionProvider({ ...options, onUsage: createUsageLedger().counter("bench").add }),
], silentLogger);
const asked = { system: "Be brief.", messages: [{ role: "user", content: "What is it?" }] as const, signal };

await compare("completion", bareCompletion, async () => void await completion.complete(asked));
await compare("first text of a stream", bareFirstText, firstText);
await embeddings();
await prompts();

/** The two in turn, so that what else the machine does falls on both. */
async function compare(what: string, bare: () => Promise<void>, ours: () => Promise<void>): Promise<void> {
  const times = { bare: [] as number[], ours: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    times.bare.push(await timed(bare));
    times.ours.push(await timed(ours));
  }
  // what comes before the code is compiled is no measure
  const [bareMs, oursMs] = [times.bare, times.ours].map((values) => median(values.slice(rounds / 5)));
  print(`${what}: bare request`, `${bareMs?.toFixed(2)} ms`);
  print(`${what}: Postern adds`, `${((oursMs ?? 0) - (bareMs ?? 0)).toFixed(2)} ms (aim: under 5)`);
}

async function timed(run: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}

function post(stream: boolean): Promise<Response> {
  return fetch(`${vendor.url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer key-of-the-bench" },
    body: JSON.stringify({
      model: "model-1",
      messages: [{ role: "system", content: asked.system }, ...asked.messages],
      ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    }),
  });
}

async function bareCompletion(): Promise<void> {
  await (await post(false)).json();
}

async function bareFirstText(): Promise<void> {
  const reader = (await post(true)).body?.getReader();
  await reader?.read();
  await reader?.cancel();
}

async function firstText(): Promise<void> {
  for await (const part of completion.stream(asked)) {
    if (part.type === "text") return;
  }
}

async function embeddings(): Promise<void> {
  const embedding = createEmbeddingProvider(options);
  const texts = Array.from({ length: 256 }, (_, at) => `text number ${at}`);
  const embed = (texts: readonly string[]) => embedding.embed({ texts, purpose: "document", signal });
  await embed(texts);
  const batchMs = await timed(async () => void await embed(texts));
  const singleMs = await timed(async () => {
    for (const text of texts) await embed([text]);
  });
  print("256 embeddings in batch against one by one", `${(batchMs / singleMs).toFixed(3)} of the time`);
}

async function prompts(): Promise<void> {
  await using fixture = await createQuestionFixture();
  const request = { principal: { kind: "local" } as const, signal };
  const index = await fixture.schemas({ sampleValues: false }).get(fixture.databases.erp, request);
  const ask = (question: string) => {
    const startedAt = performance.now();
    buildPrompt({
      question,
      excerpt: excerptSchema(index, { question, maxTokens: 8_000 }),
      history: [],
      database: "erp",
      now: new Date(),
      maxHistoryTokens: 2_000,
    });
    return performance.now() - startedAt;
  };
  const described = questions.filter(({ schema }) => schema === "erp").map((question) => {
    const sqlOf = (id: string) => questions.find((other) => other.id === id)?.sql ?? [];
    const recentStatements = (question.after ?? []).flatMap(sqlOf);
    const excerpt = excerptSchema(index, { question: question.question, recentStatements, maxTokens: 8_000 });
    return { isWhole: holdsTables(excerpt, question), tokens: excerpt.tokens };
  });
  const whole = described.filter(({ isWhole }) => isWhole).length;
  print("questions over 2,000 tables with all their tables shown", `${whole} of ${described.length}`);
  print("tokens of the tables shown, median", String(median(described.map(({ tokens }) => tokens))));
  const erp = questions.filter(({ schema }) => schema === "erp");
  for (const { question } of erp) ask(question);
  const times = Array.from({ length: 5 }).flatMap(() => erp.map(({ question }) => ask(question)));
  print("prompt from 2,000 tables, warm, median", `${median(times).toFixed(1)} ms (aim: under 20)`);
  print("prompt from 2,000 tables, warm, longest", `${Math.max(...times).toFixed(1)} ms`);
}
