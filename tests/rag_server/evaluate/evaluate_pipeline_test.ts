import assert from "node:assert/strict";
import { createLogger, silentLogger } from "../../../src/core/logger.ts";
import { localEmbedding } from "../../../src/llm/local/local_embedding.ts";
import type { EmbeddingProvider } from "../../../src/llm/provider.ts";
import type { SearchByWords } from "../../../src/rag_server/keyword/keyword_search.ts";
import { evaluatePipeline } from "../../../src/rag_server/evaluate/evaluate_pipeline.ts";
import { openSearchedTable, type SearchedTable } from "../../../src/rag_server/search/searched_table.ts";
import { sql } from "../../../src/postgres/sql_text.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createSearchFixture } from "../search_fixture.ts";

const { signal } = new AbortController();
const texts = [
  "the boundary layer of a wing",
  "heat transfer of a blunt body",
  "supersonic flutter of panels",
];

/** Finds what holds the question's first word; not in the order of anything else. */
const firstWord: SearchByWords = ({ question, limit }) =>
  sql`SELECT id::text AS id, 1::float8 AS score FROM docs
    WHERE body LIKE ${`%${question.split(" ")[0]}%`} LIMIT ${limit}`;

async function createFixture() {
  const fixture = await createSearchFixture(
    "CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(256))",
  );
  const { vectors } = await localEmbedding().embed({ texts, purpose: "document", signal });
  for (const [at, text] of texts.entries()) {
    await fixture.admin.query(
      `INSERT INTO docs VALUES (${at + 1}, '${text}', '[${vectors[at]?.join(",")}]')`,
    );
  }
  const requests: number[] = [];
  const embedding: EmbeddingProvider = {
    ...localEmbedding(),
    embed(request) {
      requests.push(request.texts.length);
      return localEmbedding().embed(request);
    },
  };
  const table = await fixture.readTable({ table: "docs" });
  return { fixture, table, embedding, requests };
}

const queries = [{ id: "q1", text: "flutter panels" }, { id: "q2", text: "body of heat" }, {
  id: "q3",
  text: "flutter panels",
}];
const qrels = new Map([
  ["q1", new Map([["3", 1]])],
  ["q2", new Map([["2", 1]])],
  ["q3", new Map([["1", 1]])],
]);

testWithPgvector(
  "evaluatePipeline() asks by vector, by keyword and by both, and embeds the questions once",
  async () => {
    const { fixture, table, embedding, requests } = await createFixture();
    await using _ = fixture;
    const options = { database: fixture.database, embedding, queries, qrels, logger: silentLogger, signal };
    const search = { hybridEnabled: false, vectorWeight: 0.5 };
    const both = await evaluatePipeline({
      ...options,
      search,
      tables: [{ table, keywordSearch: firstWord }],
    });
    assert.deepEqual(requests, [2]);
    assert.deepEqual(both.arms.map(({ arm, recallAt10, mrr }) => [arm, recallAt10, mrr > 0.5]), [
      ["vector", 1, true],
      ["keyword", 2 / 3, true],
      ["hybrid", 1, true],
    ]);
    assert.equal(both.queries, 3);
    const words = await evaluatePipeline({
      ...options,
      search: { ...search, vectorWeight: 1 },
      tables: [{ table }],
    });
    assert.deepEqual(words.arms.map(({ arm }) => arm), ["vector"]);
    const extreme = {
      ...options,
      search: { ...search, vectorWeight: 1 },
      tables: [{ table, keywordSearch: firstWord }],
    };
    assert.deepEqual((await evaluatePipeline(extreme)).arms.map(({ arm }) => arm), ["vector", "keyword"]);
  },
);

testWithPgvector("evaluatePipeline() names tables whose words no index holds, once", async () => {
  const { fixture, table, embedding } = await createFixture();
  await using _ = fixture;
  const log: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => log.push(line.trim()) });
  const open = () =>
    openSearchedTable(
      fixture.database,
      { table: "docs", textColumn: "body", vectorColumn: "embedding" },
      signal,
    );
  const run = async (searched: SearchedTable) => {
    const search = { hybridEnabled: true, vectorWeight: 0.5 };
    const options = { database: fixture.database, embedding, queries, qrels, logger, signal, search };
    await evaluatePipeline({ ...options, tables: [searched] });
    return log.splice(0).join("\n");
  };
  assert.equal(await run(await open()), "");
  assert.match(
    await run({ table, needsKeywordIndex: true }),
    /^[^\n]*not measured[^\n]*-index-pipeline[^\n]*docs[^\n]*$/,
  );
  await fixture.admin.query(
    "INSERT INTO docs SELECT n, 'filler ' || n, array_fill(n, '{256}')::vector FROM generate_series(10, 1200) n; ANALYZE docs",
  );
  assert.match(await run(await open()), /^[^\n]*slow[^\n]*-index-pipeline[^\n]*docs[^\n]*$/);
  await fixture.admin.query("CREATE INDEX ON docs USING gin (to_tsvector('english', body))");
  assert.equal(await run(await open()), "");
});

testWithPgvector("evaluatePipeline() needs ids", async () => {
  const { fixture, embedding } = await createFixture();
  await using _ = fixture;
  await fixture.admin.query("ALTER TABLE docs DROP CONSTRAINT docs_pkey");
  const table = await fixture.readTable({ table: "docs" });
  const search = { hybridEnabled: true, vectorWeight: 0.5 };
  const evaluated = evaluatePipeline({
    database: fixture.database,
    tables: [{ table }],
    search,
    embedding,
    queries,
    qrels,
    logger: silentLogger,
    signal,
  });
  await assert.rejects(evaluated, {
    code: "invalid",
    message: 'Cannot evaluate: table "docs" has no id that judgements could name; set its id_column',
  });
});
