import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import { type CompletionProvider, type EmbeddingProvider, noUsage } from "../../src/llm/provider.ts";
import { createPipeline } from "../../src/rag_server/create_pipeline.ts";
import type { PipelineQuery } from "../../src/rag_server/query.ts";
import { createRetriever, type SearchSettings } from "../../src/rag_server/search/retrieve.ts";
import { testWithPgvector } from "../support/database.ts";
import { createRetrieverFixture, type TableOption } from "./retriever_fixture.ts";

const docs = `
  CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), age interval);
  INSERT INTO docs VALUES (1, 'red fox', '[0,1]', '1 day'), (2, 'near', '[1,0]', '2 days');
  CREATE TABLE chunks (doc text, body text, embedding vector(2));
  INSERT INTO chunks VALUES ('a', 'far red', '[0,1]'), ('a', 'near', '[1,0]'), ('b', 'middle', '[1,1]')`;

const asked: PipelineQuery = {
  query: "red fox",
  includeSources: true,
  disableHybrid: false,
  messages: [],
  signal: new AbortController().signal,
};

/** A pipeline over tables, whose providers say what was asked of them: an embedding counts 7 tokens, an answer 5. */
async function createFixture() {
  const fixture = await createRetrieverFixture(docs);
  const embedded: string[] = [];
  const embedding: EmbeddingProvider = {
    name: "test/two",
    ping: () => Promise.resolve(),
    embed({ texts }) {
      embedded.push(...texts);
      const vectors = texts.map(() => Float32Array.of(1, 0));
      return Promise.resolve({ vectors, usage: { ...noUsage, promptTokens: 7 } });
    },
  };
  const completion: CompletionProvider = {
    name: "test/answer",
    ping: () => Promise.resolve(),
    complete: () =>
      Promise.resolve({ text: "yes", usage: { ...noUsage, completionTokens: 5 }, isCut: false }),
    stream: async function* () {
      await Promise.resolve();
      yield { type: "end", usage: { ...noUsage, completionTokens: 5 }, isCut: false };
    },
  };
  async function open(
    { search = {}, tables = [], allowsSources = true }: {
      search?: Partial<SearchSettings>;
      tables?: TableOption[];
      allowsSources?: boolean;
    },
  ) {
    embedded.splice(0);
    const retriever = createRetriever({
      database: fixture.database,
      tables: await fixture.open(...(tables.length === 0 ? ["docs"] : tables)),
      search: { hybridEnabled: true, vectorWeight: 0.5, ...search },
      logger: silentLogger,
    });
    return createPipeline({
      name: "docs",
      description: "",
      retriever: () => Promise.resolve(retriever),
      embedding,
      completion,
      topN: 10,
      tokenBudget: 1_000,
      allowsSources,
      logger: silentLogger,
    });
  }
  return {
    [Symbol.asyncDispose]: fixture[Symbol.asyncDispose],
    async ask(
      search: Partial<SearchSettings>,
      query: Partial<PipelineQuery> = {},
      ...tables: TableOption[]
    ) {
      const { sources = [], tokensUsed } = await (await open({ search, tables })).answer({
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
    sources: [["1", "red fox", 1 / 61]],
    tokensUsed: 5,
    embedded: [],
  });
  const nearest = {
    sources: [["2", "near", 1 / 61], ["1", "red fox", 1 / 62]],
    tokensUsed: 12,
    embedded: ["red fox"],
  };
  assert.deepEqual(await fixture.ask({ vectorWeight: 0 }, { disableHybrid: true }), nearest);
  assert.deepEqual(await fixture.ask({ vectorWeight: 0, hybridEnabled: false }), nearest);
  const similar = await fixture.ask({ vectorWeight: 0, minSimilarity: 0 });
  assert.deepEqual([similar.sources, similar.embedded], [[["1", "red fox", 1 / 61]], ["red fox"]]);
  const both = await fixture.ask({ vectorWeight: 0.5 });
  assert.deepEqual([both.tokensUsed, both.embedded.length], [12, 1]);
});

testWithPgvector("of several rows with one id the nearest is told, which takes an embedding", async () => {
  await using fixture = await createFixture();
  const chunks = { table: "chunks", idColumn: "doc" };
  assert.deepEqual(await fixture.ask({ vectorWeight: 0 }, { query: "red" }, chunks, "docs"), {
    sources: [["1", "red fox", 1 / 61], ["a", "near", 1 / 61]],
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
  "sources are told where the pipeline permits them and they are asked for, and nowhere else",
  async () => {
    await using fixture = await createFixture();
    for (const allowsSources of [true, false]) {
      const pipeline = await fixture.open({ allowsSources });
      for (const includeSources of [true, false]) {
        const query = { ...asked, includeSources };
        const { sources, tokensUsed } = await pipeline.answer(query);
        const events = await Array.fromAsync(pipeline.stream(query));
        const done = events.at(-1);
        assert.equal(done?.type, "done");
        assert.deepEqual([tokensUsed, done.tokensUsed], [12, 12]);
        const expected = allowsSources && includeSources ? ["1", "2"] : undefined;
        assert.deepEqual(sources?.map(({ id }) => id).toSorted(), expected);
        assert.deepEqual(done.sources?.map(({ id }) => id).toSorted(), expected);
      }
    }
  },
);
