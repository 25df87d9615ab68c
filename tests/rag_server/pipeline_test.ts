import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import {
  type CompletionProvider,
  type EmbeddingProvider,
  type EmbeddingRequest,
  noUsage,
} from "../../src/llm/provider.ts";
import { ProviderError } from "../../src/llm/provider_error.ts";
import { createPipeline } from "../../src/rag_server/pipeline.ts";
import type { PipelineQuery } from "../../src/rag_server/query.ts";
import { createRetriever, type SearchSettings } from "../../src/rag_server/search/retriever.ts";
import { testWithPgvector } from "../support/database.ts";
import { createRetrieverFixture, type TableOption } from "./retriever_fixture.ts";
import { createUsageLedger } from "../../src/llm/usage.ts";

const docs = `
  CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), age interval);
  INSERT INTO docs VALUES (1, 'red fox', '[0,1]', '1 day'), (2, 'near', '[1,0]', '2 days');
  CREATE TABLE chunks (doc text, body text, embedding vector(2));
  INSERT INTO chunks VALUES ('a', 'far red', '[0,1]'), ('a', 'near', '[1,0]'), ('b', 'middle', '[1,1]')`;

const asked: PipelineQuery = {
  query: "red fox",
  disableHybrid: false,
  messages: [],
  signal: new AbortController().signal,
};

const completion: CompletionProvider = {
  name: "test/answer",
  ping: () => Promise.resolve(),
  complete: () => Promise.resolve({ text: "yes", usage: { ...noUsage, completionTokens: 5 }, isCut: false }),
  stream: async function* () {
    await Promise.resolve();
    yield { type: "end", usage: { ...noUsage, completionTokens: 5 }, isCut: false };
  },
};

const ledger = createUsageLedger();

/** All that a pipeline needs but tables: an embedding counts 7 tokens, an answer 5. */
const pipelineSettings = {
  availableToUsers: [],
  name: "docs",
  description: "",
  embedding: {
    name: "test/two",
    ping: () => Promise.resolve(),
    embed: ({ texts }: EmbeddingRequest) => {
      const vectors = texts.map(() => Float32Array.of(1, 0));
      return Promise.resolve({ vectors, usage: { ...noUsage, promptTokens: 7 } });
    },
  },
  completion,
  database: { ping: () => Promise.resolve(), rightsKey: () => "", checkCaller: () => {} },
  topN: 10,
  tokenBudget: 1_000,
  allowsSources: true,
  usage: { embedding: ledger.counter("embedding"), completion: ledger.counter("completion") },
  logger: silentLogger,
};

/** Pipelines over tables, and what their provider was to embed. */
async function createFixture() {
  const fixture = await createRetrieverFixture(docs);
  const embedded: string[] = [];
  const embedding: EmbeddingProvider = {
    ...pipelineSettings.embedding,
    embed(request) {
      embedded.push(...request.texts);
      return pipelineSettings.embedding.embed(request);
    },
  };
  async function open(
    { search = {}, tables = [] }: { search?: Partial<SearchSettings>; tables?: TableOption[] },
    changes: Partial<Parameters<typeof createPipeline>[0]> = {},
  ) {
    embedded.splice(0);
    const retriever = createRetriever({
      database: fixture.database,
      tables: await fixture.open(...(tables.length === 0 ? ["docs"] : tables)),
      search: { hybridEnabled: true, vectorWeight: 0.5, ...search },
      logger: silentLogger,
    });
    return createPipeline({
      ...pipelineSettings,
      retriever: () => Promise.resolve(retriever),
      embedding,
      ...changes,
    });
  }
  return {
    [Symbol.asyncDispose]: fixture[Symbol.asyncDispose],
    database: fixture.database,
    tables: fixture.open,
    async ask(
      search: Partial<SearchSettings>,
      query: Partial<PipelineQuery> = {},
      ...tables: TableOption[]
    ) {
      const { sources, tokensUsed } = await (await open({ search, tables })).answer({
        ...asked,
        ...query,
      });
      const told = sources.map(({ id, content, score }) => [id, content, score]);
      return { sources: told, tokensUsed, embedded: embedded.splice(0) };
    },
    open,
    embedded,
  };
}

testWithPgvector("a question is not embedded where only its words count", async () => {
  await using fixture = await createFixture();
  assert.deepEqual(await fixture.ask({ vectorWeight: 0 }), {
    sources: [["1", "red fox", 0.5]],
    tokensUsed: 5,
    embedded: [],
  });
  const nearest = {
    sources: [["2", "near", 0.75], ["1", "red fox", 0.25]],
    tokensUsed: 12,
    embedded: ["red fox"],
  };
  assert.deepEqual(await fixture.ask({ vectorWeight: 0 }, { disableHybrid: true }), nearest);
  assert.deepEqual(await fixture.ask({ vectorWeight: 0, hybridEnabled: false }), nearest);
  const similar = await fixture.ask({ vectorWeight: 0, minSimilarity: 0 });
  assert.deepEqual([similar.sources, similar.embedded], [[["1", "red fox", 0.5]], ["red fox"]]);
  const both = await fixture.ask({ vectorWeight: 0.5 });
  assert.deepEqual([both.tokensUsed, both.embedded.length], [12, 1]);
});

testWithPgvector("of several rows with one id the nearest is told, which takes an embedding", async () => {
  await using fixture = await createFixture();
  const chunks = { table: "chunks", idColumn: "doc" };
  assert.deepEqual(await fixture.ask({ vectorWeight: 0 }, { query: "red" }, chunks, "docs"), {
    sources: [["1", "red fox", 0.5], ["a", "near", 0.5]],
    tokensUsed: 12,
    embedded: ["red"],
  });
});

testWithPgvector(
  "a value that only the database can judge is refused before anything is embedded",
  async () => {
    await using fixture = await createFixture();
    const filter = (value: string) => ({
      filter: { conditions: [{ column: "age", operator: ">", value }], logic: "AND" } as const,
    });
    await assert.rejects(fixture.ask({}, filter("soon")), {
      code: "invalid",
      message: "filter.conditions[0]: the operator or the value does not fit the column's type",
    });
    assert.deepEqual(fixture.embedded, []);
    assert.deepEqual((await fixture.ask({}, filter("1 day"))).sources.map(([id]) => id), ["2"]);
  },
);

testWithPgvector(
  "where nothing is near enough no model is asked, and a search still tells what there is",
  async () => {
    await using fixture = await createFixture();
    const pipeline = await fixture.open({}, {
      isNearEnough: ({ documents, hasHistory }) => Promise.resolve(documents.length === 0 || hasHistory),
      completion: { ...completion, complete: () => assert.fail("asked"), stream: () => assert.fail("asked") },
    });
    const refused = { sources: [], tokensUsed: 7, completionTokens: 0, isUnanswered: true };
    const answer = "The documents do not answer this question.";
    assert.deepEqual(await pipeline.answer(asked), { answer, ...refused });
    assert.deepEqual(await Array.fromAsync(pipeline.stream(asked)), [
      { type: "chunk", content: answer },
      { type: "done", ...refused },
    ]);
    const { sources, tokensUsed } = await pipeline.findDocuments(asked);
    assert.deepEqual(
      sources.map(({ id, table, nearest, matching }) => [id, table, nearest?.rank, matching?.rank]),
      [
        ["1", "docs", 2, 1],
        ["2", "docs", 1, undefined],
      ],
    );
    assert.equal(tokensUsed, 7);
    const messages = [{ role: "user", content: "Hi" }] as const;
    await assert.rejects(pipeline.answer({ ...asked, messages }), { message: "asked" });
  },
);

testWithPgvector("sources have details where they are shown", async () => {
  await using fixture = await createFixture();
  const pipeline = await fixture.open({ tables: [{ table: "docs", metadataColumns: ["age"] }] });
  const told = async (query: PipelineQuery) =>
    (await pipeline.answer(query)).sources.map(({ columns }) => columns);
  assert.deepEqual(await told(asked), [undefined, undefined]);
  assert.deepEqual(await told({ ...asked, showsSources: true }), [{ age: "1 day" }, { age: "2 days" }]);
});

testWithPgvector("an answer has its sources and its tokens, at once and in parts", async () => {
  await using fixture = await createFixture();
  const pipeline = await fixture.open({});
  const { sources, tokensUsed } = await pipeline.answer(asked);
  const done = (await Array.fromAsync(pipeline.stream(asked))).at(-1);
  assert.equal(done?.type, "done");
  assert.deepEqual([tokensUsed, done.tokensUsed], [12, 12]);
  for (const told of [sources, done.sources]) {
    assert.deepEqual(told.map(({ id }) => id).toSorted(), ["1", "2"]);
  }
});

Deno.test("health() tells each provider's fault as its phrase, and anything else as an internal error", async () => {
  const cases: [thrown: Error | undefined, error?: string][] = [
    [undefined],
    [new ProviderError("unreachable", "10.0.0.1 refused"), "the provider could not be reached"],
    [new Error("secret detail"), "an internal error occurred"],
    [new DOMException("late", "TimeoutError"), "the request took too long"],
  ];
  for (const [thrown, error] of cases) {
    const pipeline = createPipeline({
      ...pipelineSettings,
      retriever: () => assert.fail("not asked"),
      completion: {
        ...completion,
        ping: () => thrown === undefined ? Promise.resolve() : Promise.reject(thrown),
      },
    });
    assert.deepEqual(await pipeline.health(), {
      name: "docs",
      embedding: { reachable: true },
      completion: error === undefined ? { reachable: true } : { reachable: false, error },
      database: { reachable: true },
    });
  }
});

Deno.test("health() tells of vectors of another model, though the provider answers", async () => {
  const settings = { ...pipelineSettings, retriever: () => assert.fail("not asked") };
  const ofModel = async (isOther: boolean) =>
    (await createPipeline({ ...settings, isOtherModel: () => isOther }).health()).embedding;
  assert.deepEqual(await ofModel(true), {
    reachable: true,
    error: "the vectors are of another model; the log says of which",
  });
  assert.deepEqual(await ofModel(false), { reachable: true });
});

testWithPgvector(
  "what a follow-up's rewriting used is told, and a search without an answer asks no model",
  async () => {
    await using fixture = await createFixture();
    const retriever = createRetriever({
      database: fixture.database,
      tables: await fixture.tables("docs"),
      search: { hybridEnabled: true, vectorWeight: 0.5 },
      logger: silentLogger,
    });
    const ofRewriting = { ...noUsage, promptTokens: 30, completionTokens: 4 };
    let rewritings = 0;
    const ownWords: unknown[] = [];
    const pipeline = createPipeline({
      ...pipelineSettings,
      retriever: () =>
        Promise.resolve({
          ...retriever,
          retrieve(request) {
            ownWords.push(request.asked);
            return retriever.retrieve(request);
          },
        }),
      rewriting: {
        ...completion,
        stream: async function* ({ onUsage }) {
          await Promise.resolve();
          rewritings++;
          yield { type: "text", text: "red fox" };
          onUsage?.(ofRewriting);
          yield { type: "end", usage: ofRewriting, isCut: false };
        },
      },
    });
    const followUp: PipelineQuery = {
      ...asked,
      query: "and it?",
      messages: [{ role: "user", content: "foxes" }],
    };
    await pipeline.findDocuments(followUp);
    assert.equal(rewritings, 0);
    const told: unknown[] = [];
    const answer = await pipeline.answer({ ...followUp, onUsage: (usage) => told.push(usage) });
    assert.deepEqual(told, [ofRewriting]);
    // 7 of the embedding, 5 of the answer
    assert.deepEqual([answer.searchQuery, answer.tokensUsed, answer.completionTokens], ["red fox", 46, 9]);
    assert.deepEqual(ownWords, ["and it?", "and it?"], "whose quotes and exclusions count");
  },
);

testWithPgvector(
  "health tells of tables and what waits for vectors, unless rows are its callers' own",
  async () => {
    await using fixture = await createFixture();
    const queue = { waiting: 3, oldestSeconds: 1, setAside: 0 };
    const unknown = { rows: undefined, ingested_at: undefined };
    const tables = [{ name: "docs", keyword_index: false, vector_index: "hnsw", ...unknown }] as const;
    const ofAll = { embedding_queue: { waiting: 3, oldest_seconds: 1, set_aside: 0 }, tables };
    for (const [key, told] of [["", ofAll], ["claims", {}]] as const) {
      const database = { ...pipelineSettings.database, rightsKey: () => key };
      const pipeline = await fixture.open({}, {
        database,
        queue: () => Promise.resolve(queue),
        tables: () => Promise.resolve(tables),
      });
      const { name: _name, embedding: _embedding, completion: _completion, database: _database, ...health } =
        await pipeline.health();
      assert.deepEqual(health, told);
    }
  },
);
