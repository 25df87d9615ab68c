import assert from "node:assert/strict";
import type { EmbeddingProvider } from "../../../src/llm/provider.ts";
import type { SearchByWords } from "../../../src/rag_server/keyword/keyword_search.ts";
import { createLogger, silentLogger } from "../../../src/core/logger.ts";
import { createSearchFixture } from "../search_fixture.ts";
import { localEmbedding } from "../../../src/llm/local/local_embedding.ts";
import { openSearchedTable, type SearchedTable } from "../../../src/rag_server/search/searched_table.ts";
import { sql } from "../../../src/postgres/sql_text.ts";
import { testWithPgvector } from "../../support/database.ts";
import {
  evaluate,
  evaluatePipeline,
  type MeasuredSearch,
} from "../../../src/rag_server/evaluate/evaluate.ts";

const { signal } = new AbortController();
const queries = [{ id: "1", text: "one" }, { id: "2", text: "two" }, { id: "3", text: "nobody judged" }];
const qrels = new Map([
  ["1", new Map([["a", 1], ["b", 1]])],
  ["2", new Map([["c", 2]])],
  ["9", new Map([["a", 1]])],
]);

function search(
  name: MeasuredSearch["name"],
  answers: Readonly<Record<string, readonly string[]>>,
): MeasuredSearch {
  return { name, retrieve: (question, limit) => Promise.resolve((answers[question] ?? []).slice(0, limit)) };
}

const filler = Array.from({ length: 30 }, (_, n) => `x${n}`);

Deno.test("evaluate() gives means over the questions that have a relevant document", async () => {
  const progress: string[] = [];
  const hybrid = search("hybrid", { one: ["a", "b"], two: ["c"] });
  const evaluation = await evaluate({
    searches: [
      // the same row again, as of two tables, is not found twice
      search("vector", { one: ["a", "a", "b"], two: ["x", "c"] }),
      search("keyword", { one: [...filler, "a"], two: ["c"] }),
      hybrid,
    ],
    fusions: [
      { vectorWeight: 0.3, search: search("hybrid", { one: ["x", "x", "a", "b"], two: ["c"] }) },
      { vectorWeight: 0.5, search: hybrid },
    ],
    vectorWeight: 0.5,
    limit: 10,
    queries,
    qrels,
    signal,
    onProgress: (done, total) => progress.push(`${done}/${total}`),
  });
  assert.deepEqual([evaluation.queries, evaluation.unjudgedQueries, progress], [2, 1, ["1/2", "2/2"]]);
  const figures = evaluation.searches.map(({ latencyMs: _, ...rest }) => rest);
  const second = 1 / Math.log2(3);
  assert.deepEqual(figures, [
    { search: "vector", ndcgAt10: (1 + second) / 2, recallAt10: 1, recallAt100: 1, mrr: 0.75 },
    { search: "keyword", ndcgAt10: 0.5, recallAt10: 0.5, recallAt100: 0.75, mrr: 0.5 },
    { search: "hybrid", ndcgAt10: 1, recallAt10: 1, recallAt100: 1, mrr: 1 },
  ]);
  const { search: name, against, mean, interval } = evaluation.difference ?? {};
  assert.deepEqual([name, against, interval], ["hybrid", "vector", undefined]);
  assert.ok(Math.abs((mean ?? 0) - (1 - second) / 2) < 1e-12);
  const ideal = 1 + second;
  assert.deepEqual(evaluation.weighed?.weights, [
    { vectorWeight: 0.3, ndcgAt10: ((second + 1 / Math.log2(4)) / ideal + 1) / 2 },
    { vectorWeight: 0.5, ndcgAt10: 1 },
  ]);
  assert.equal(evaluation.weighed?.best.vectorWeight, 0.5);
});

Deno.test("evaluate() asks for as many documents as the server does, and each search for an answer once", async () => {
  const asked: string[] = [];
  const counting = (name: MeasuredSearch["name"], label: string): MeasuredSearch => ({
    name,
    retrieve(_question, limit) {
      asked.push(`${label} ${limit}`);
      return Promise.resolve([]);
    },
  });
  const [vector, hybrid] = [counting("vector", "vector"), counting("hybrid", "0.5")];
  const fusions = [
    { vectorWeight: 0.5, search: hybrid },
    { vectorWeight: 0.7, search: counting("hybrid", "0.7") },
    { vectorWeight: 1, search: vector },
  ];
  const options = { searches: [vector, hybrid], fusions, vectorWeight: 0.5, queries, signal };
  const run = async (limit: number) => {
    await evaluate({ ...options, limit, qrels: new Map([["1", new Map([["a", 1]])]]) });
    return asked.splice(0);
  };
  assert.deepEqual(await run(40), ["vector 100", "vector 40", "0.5 100", "0.5 40", "0.7 40"]);
  // the figures are of ten documents
  assert.deepEqual(await run(3), ["vector 100", "vector 10", "0.5 100", "0.5 10", "0.7 10"]);
});

Deno.test("evaluate() without a fusion has no difference", async () => {
  const { difference } = await evaluate({
    searches: [search("vector", {})],
    vectorWeight: 1,
    limit: 10,
    queries,
    qrels,
    signal,
  });
  assert.equal(difference, undefined);
});

Deno.test("evaluate() refuses questions and judgements that have nothing to do with each other", async () => {
  for (const strange of [new Map([["q1", new Map([["a", 1]])]]), new Map([["1", new Map([["a", 0]])]])]) {
    await assert.rejects(
      evaluate({
        searches: [search("vector", {})],
        vectorWeight: 1,
        limit: 10,
        queries,
        qrels: strange,
        signal,
      }),
      {
        code: "invalid",
        message:
          "Cannot evaluate: no question has a relevant document; the two files must call the questions by the same ids",
      },
    );
  }
});

Deno.test("evaluate() ends where it is told to, or a search fails", async () => {
  const controller = new AbortController();
  const onProgress = () => controller.abort(new Error("enough"));
  const stopped = evaluate({
    searches: [search("vector", {})],
    vectorWeight: 1,
    limit: 10,
    queries,
    qrels,
    signal: controller.signal,
    onProgress,
  });
  await assert.rejects(stopped, { message: "enough" });
  const failing: MeasuredSearch = { name: "vector", retrieve: () => Promise.reject(new Error("down")) };
  await assert.rejects(
    evaluate({ searches: [failing], vectorWeight: 1, limit: 10, queries, qrels, signal }),
    {
      message: "down",
    },
  );
});

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

const asked = [{ id: "q1", text: "flutter panels" }, { id: "q2", text: "body of heat" }, {
  id: "q3",
  text: "flutter panels",
}];
const answers = new Map([
  ["q1", new Map([["3", 1]])],
  ["q2", new Map([["2", 1]])],
  ["q3", new Map([["1", 1]])],
]);

testWithPgvector(
  "evaluatePipeline() asks by vector, by keyword and by both, and embeds the questions once",
  async () => {
    const { fixture, table, embedding, requests } = await createFixture();
    await using _ = fixture;
    const options = {
      database: fixture.database,
      embedding,
      queries: asked,
      qrels: answers,
      limit: 10,
      logger: silentLogger,
      signal,
    };
    const search = { hybridEnabled: false, vectorWeight: 0.5 };
    const both = await evaluatePipeline({
      ...options,
      search,
      tables: [{ table, keywordSearch: firstWord }],
    });
    assert.deepEqual(requests, [2]);
    assert.deepEqual(both.searches.map(({ search, recallAt10, mrr }) => [search, recallAt10, mrr > 0.5]), [
      ["vector", 1, true],
      ["keyword", 2 / 3, true],
      ["hybrid", 1, true],
    ]);
    assert.equal(both.queries, 3);
    assert.deepEqual(both.missing, []);
    const words = await evaluatePipeline({
      ...options,
      search: { ...search, vectorWeight: 1 },
      tables: [{ table }],
    });
    assert.deepEqual(words.searches.map(({ search }) => search), ["vector"]);
    const extreme = {
      ...options,
      search: { ...search, vectorWeight: 1 },
      tables: [{ table, keywordSearch: firstWord }],
    };
    assert.deepEqual((await evaluatePipeline(extreme)).searches.map(({ search }) => search), [
      "vector",
      "keyword",
    ]);

    // ids that are no numbers too, and not those that are judged for questions of others
    const wrong = new Map([...answers, ["q2", new Map([["2", 1], ["doc-9", 1], ["03", 0]])], [
      "other",
      new Map([["77", 1]]),
    ]]);
    const table2 = { ...table, filter: sql`source.id <> 1` };
    for (const tables of [[{ table: table2, keywordSearch: firstWord }], [{ table: table2 }]]) {
      const { missing } = await evaluatePipeline({ ...options, search, tables, qrels: wrong });
      assert.deepEqual(missing?.toSorted(), ["03", "1", "doc-9"]);
    }
    const two = [{ table: table2 }, { table }];
    const { missing } = await evaluatePipeline({ ...options, search, tables: two, qrels: wrong });
    assert.deepEqual(missing?.toSorted(), ["03", "doc-9"]);
  },
);

testWithPgvector(
  "evaluatePipeline() foretells by the configured weight what both searches give, and by another what they would",
  async () => {
    const { fixture, embedding } = await createFixture();
    await using _ = fixture;
    // more rows than a list holds, and texts that several of them have
    await fixture.admin.query(`
      INSERT INTO docs SELECT 100 + n, (ARRAY['flutter of a panel ', 'heat of a body ', 'flow over a wing '])[n % 3 + 1] ||
          repeat('body heat ', n % 7) || CASE WHEN n % 4 = 0 THEN '' ELSE (n / 3)::text END,
        (SELECT array_agg(sin(n * k) + CASE WHEN k = n % 3 THEN 3 ELSE 0 END) FROM generate_series(1, 256) k)::vector
      FROM generate_series(1, 300) n; ANALYZE docs`);
    const settings = { table: "docs", textColumn: "body", vectorColumn: "embedding" };
    const tables = [await openSearchedTable(fixture.database, settings, signal)];
    const wide = new Map(asked.map(({ id }, place) => [
      id,
      new Map(Array.from({ length: 150 }, (_, n) => [`${101 + place + 4 * n}`, 1 + n % 3])),
    ]));
    const options = {
      database: fixture.database,
      tables,
      embedding,
      queries: asked,
      qrels: wide,
      limit: 10,
      logger: silentLogger,
      signal,
    };
    const seen: number[] = [];
    const run = async (vectorWeight: number) => {
      const search = { hybridEnabled: true, vectorWeight };
      const { searches, weighed } = await evaluatePipeline({ ...options, search });
      return {
        measured: new Map(searches.map(({ search, ndcgAt10 }) => [search, ndcgAt10])),
        foretold: new Map(weighed?.weights.map((one) => [one.vectorWeight, one.ndcgAt10])),
      };
    };
    const [low, even] = [await run(0.15), await run(0.5)];
    for (const { foretold } of [low, even]) {
      const expected = [low.measured.get("hybrid"), even.measured.get("hybrid")];
      assert.deepEqual([foretold.get(0.15), foretold.get(0.5)], expected);
      assert.deepEqual([foretold.get(0), foretold.get(1)], [
        even.measured.get("keyword"),
        even.measured.get("vector"),
      ]);
      seen.push(...foretold.values());
    }
    assert.ok(new Set(seen).size > 5 && !seen.includes(0));
  },
);

testWithPgvector("evaluatePipeline() names tables whose words no index holds, once", async () => {
  const { fixture, embedding } = await createFixture();
  await using _ = fixture;
  const log: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => log.push(line.trim()) });
  const columns = { textColumn: "body", vectorColumn: "embedding" };
  const open = () => openSearchedTable(fixture.database, { ...columns, table: "docs" }, signal);
  const run = async (searched: SearchedTable) => {
    const search = { hybridEnabled: true, vectorWeight: 0.5 };
    const options = {
      database: fixture.database,
      embedding,
      queries: asked,
      qrels: answers,
      limit: 10,
      logger,
      signal,
      search,
    };
    await evaluatePipeline({ ...options, tables: [searched] });
    return log.splice(0).join("\n");
  };
  assert.equal(await run(await open()), "");
  await fixture.admin.query(
    "INSERT INTO docs SELECT n, 'filler ' || n, array_fill(n, '{256}')::vector FROM generate_series(10, 1200) n; ANALYZE docs",
  );
  assert.match(await run(await open()), /^[^\n]*slow[^\n]*-index-pipeline[^\n]*docs[^\n]*$/);
  await fixture.admin.query(
    "INSERT INTO docs SELECT n, 'filler ' || n, array_fill(n, '{256}')::vector FROM generate_series(2000, 7000) n; ANALYZE docs",
  );
  assert.match(await run(await open()), /^[^\n]*too large[^\n]*-index-pipeline[^\n]*docs[^\n]*$/);
  await fixture.admin.query("CREATE VIEW seen AS SELECT * FROM docs; GRANT SELECT ON seen TO PUBLIC");
  const ofCallers = { ...fixture.database, rightsKey: () => "a caller's" };
  const { lackText = "" } = await openSearchedTable(
    ofCallers,
    { ...columns, table: "seen", idColumn: "id" },
    signal,
  );
  assert.match(
    await run({ ...await open(), lackText }),
    /^[^\n]*by meaning alone[^\n]*tsvector column[^\n]*docs[^\n]*$/,
  );
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
    queries: asked,
    qrels: answers,
    limit: 10,
    logger: silentLogger,
    signal,
  });
  await assert.rejects(evaluated, {
    code: "invalid",
    message: 'Cannot evaluate: table "docs" has no id for judgements to name; set its id_column',
  });
});
