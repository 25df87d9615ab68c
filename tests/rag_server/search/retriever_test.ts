import assert from "node:assert/strict";
import { createLogger, silentLogger } from "../../../src/core/logger.ts";
import type { SearchedTableSettings } from "../../../src/rag_server/search/searched_table.ts";
import type { RetrieveRequest, SearchSettings } from "../../../src/rag_server/search/retriever.ts";
import { sql } from "../../../src/postgres/sql_text.ts";
import { vectorSearch } from "../../../src/rag_server/search/vector_search.ts";
import { fuseTables } from "../../../src/rag_server/search/fusion.ts";
import { testWithPgvector } from "../../support/database.ts";
import { candidateOf, tableSearch } from "../fused_tables.ts";
import { createRetrieverFixture } from "../retriever_fixture.ts";

const docs = `
  CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), lang text);
  INSERT INTO docs VALUES
    (1, 'The red fox jumps', '[1,0]', 'en'), (2, 'A red car', '[0.9,0.1]', 'en'), (3, 'Blue whales sing', '[0.8,0.3]', 'en'),
    (4, 'Red foxes and red cars', '[-1,0]', 'en'), (5, 'Foxglove', NULL, 'de'), (6, 'fox', NULL, 'de'),
    (7, 'Nothing alike', '[0,1]', 'de');
  CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops);`;

testWithPgvector("retrieve() fuses both searches in one statement as fuseTables() does", async () => {
  await using fixture = await createRetrieverFixture(docs);
  const [table] = await fixture.open({ table: "docs" });
  assert.ok(table?.keywordSearch);
  const embedding = sql`'[1,0]'::public.vector`;
  const near = vectorSearch({ table: table.table, embedding, limit: 100, filter: undefined });
  const worded = table.keywordSearch({ question: "red fox", limit: 100, filter: undefined });
  const nearest = listOf(await fixture.rows(near), -1);
  const matching = listOf(await fixture.rows(worded), 1);
  assert.deepEqual([nearest.size, matching.size], [5, 4]);
  for (const vectorWeight of [0, 0.3, 0.5, 0.9, 1]) {
    const searched = [vectorWeight > 0 ? nearest : new Map(), vectorWeight < 1 ? matching : new Map()];
    const candidates = [...new Set(searched.flatMap((list) => [...list.keys()]))].map((id) => {
      const [near, worded] = searched.map((list) => list.get(id));
      return candidateOf({
        id,
        ...(near && { nearestScore: near.score }),
        matchingScore: worded?.score ?? 0,
      });
    });
    const fused = fuseTables([tableSearch(candidates)], vectorWeight);
    const found = await fixture.retrieve(["docs"], { vectorWeight }, { question: "red fox" });
    const told = (list: typeof found) => list.map(({ id, score }) => ({ id, score: score.toFixed(9) }));
    assert.deepEqual(told(found), told(fused), `weight ${vectorWeight}`);
    assert.equal(fixture.reads(), 1);
  }
});

testWithPgvector("retrieve() finds what nearly says the same once, and says how often", async () => {
  const text =
    "Employees have thirty days of leave in each year, which they agree on with their manager in good time.";
  await using fixture = await createRetrieverFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO docs VALUES (1, 'Old: ${text}', '[1,0]'), (2, 'New: ${text}', '[0.99,0.1]'),
      (3, 'Something else', '[0.5,0.5]'), (4, 'Of May 6, 2026: ${text}', '[0.98,0.1]')`);
  const found = async (question: string, limit: number) =>
    (await fixture.retrieve(["docs"], { vectorWeight: 1 }, { question, limit })).map((
      { id, copies },
    ) => [id, copies]);
  assert.deepEqual(await found("How much leave?", 2), [["1", 1], ["4", undefined]]);
  assert.deepEqual(await found("How much leave is new?", 2), [["1", undefined], ["2", undefined]]);
});

const clusters = `
  CREATE TABLE docs (id text PRIMARY KEY, body text, embedding vector(3));
  INSERT INTO docs VALUES ('lone', 'Fox', '[0.72,0.694,0]');
  INSERT INTO docs SELECT 'near ' || n, 'The fox, number ' || n, ARRAY[0.7, 0, 0.71 + n / 1000.0]::vector
    FROM generate_series(10, 21) n;
  INSERT INTO docs SELECT 'far ' || n, 'Whales, number ' || n, ARRAY[0.2, 0.98, n / 1000.0]::vector
    FROM generate_series(10, 60) n;`;

testWithPgvector(
  "documents that are near each other lift each other, where both searches count",
  async () => {
    await using fixture = await createRetrieverFixture(clusters);
    const question = { question: "fox", embedding: Float32Array.of(1, 0, 0) };
    const first = async (search: Partial<SearchSettings>) =>
      (await fixture.retrieve(["docs"], search, question))[0]?.id ?? "";
    assert.match(await first({}), /^near /);
    // what is best in each search alone has neighbours that are good in neither
    assert.equal(await first({ vectorWeight: 1 }), "lone");
    assert.equal(await first({ vectorWeight: 0 }), "lone");
  },
);

testWithPgvector("how many documents are asked for does not change their order", async () => {
  await using fixture = await createRetrieverFixture(clusters);
  const ids = async (limit: number) =>
    (await fixture.retrieve(["docs"], {}, { question: "fox", embedding: Float32Array.of(1, 0, 0), limit }))
      .map(({ id }) => id);
  const all = await ids(100);
  assert.equal(all.length, 64);
  for (const limit of [1, 3, 10, 60]) assert.deepEqual(await ids(limit), all.slice(0, limit));
});

testWithPgvector("retrieve() weighs words by the constants of BM25 that it is given", async () => {
  await using fixture = await createRetrieverFixture(`
    CREATE TABLE docs (id text PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO docs VALUES ('short', 'fox', '[1,0]'), ('repeated', 'fox fox fox fox whale whale whale whale', '[1,0]');`);
  const first = async (k1: number, b: number) =>
    (await fixture.retrieve(["docs"], { vectorWeight: 0, bm25: { k1, b } }, { question: "fox" }))[0]?.id;
  assert.equal(await first(1.2, 0), "repeated");
  assert.equal(await first(1.2, 1), "short");
  assert.equal(await first(0, 0), "repeated", "a tie, which the ids break");
});

/** What a search found, by id. */
function listOf(rows: readonly (readonly (string | null)[])[], sign: 1 | -1) {
  return new Map(rows.map(([id, score]) => [id ?? "", { score: sign * Number(score) }]));
}

testWithPgvector("retrieve() tells table, id, text, score and similarity, the best first", async () => {
  await using fixture = await createRetrieverFixture(docs);
  const [first, second, ...rest] = await fixture.retrieve(["docs"], {}, { question: "red fox", limit: 2 });
  const { score = NaN, nearest, matching, ...document } = first ?? assert.fail("nothing was found");
  assert.deepEqual(document, { table: "docs", id: "1", content: "The red fox jumps", similarity: 1 });
  assert.equal(nearest?.rank, 1);
  assert.ok(matching && matching.score > 0);
  assert.ok(second && score > second.score && score < 1 && second.score > 0 && rest.length === 0);
  const found = await fixture.retrieve(["docs"], {}, { question: "foxglove" });
  const { score: _, matching: word, ...without } = found.find(({ id }) => id === "5") ?? {};
  assert.deepEqual(without, { table: "docs", id: "5", content: "Foxglove" });
  assert.equal(word?.rank, 1);
  assert.deepEqual(found.filter(({ id }) => id !== "5").map(({ matching }) => matching), [
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

testWithPgvector("a document has its place in each search over all tables", async () => {
  await using fixture = await createRetrieverFixture(`
    CREATE TABLE one (id int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO one VALUES (1, 'fox', '[1,0.5]'), (2, 'far', '[0,1]');
    CREATE TABLE two (id int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO two VALUES (3, 'near', '[1,0]'), (4, 'equal', '[0,2]'), (5, 'fox fox fox', NULL)`);
  const found = await fixture.retrieve(["one", "two"], {}, { question: "fox" });
  const ranks = found.map(({ id, nearest, matching }) => [id, nearest?.rank, matching?.rank]);
  assert.deepEqual(ranks.toSorted(), [
    ["1", 2, 2],
    ["2", 3, undefined],
    ["3", 1, undefined],
    ["4", 3, undefined],
    ["5", undefined, 1],
  ]);
});

testWithPgvector(
  "the keyword search is left out where the request, the settings or the weight say so",
  async () => {
    await using fixture = await createRetrieverFixture(docs);
    const without = ["1", "2", "3", "7", "4"];
    const ids = async (search: Partial<SearchSettings>, request: Partial<RetrieveRequest> = {}) =>
      (await fixture.retrieve(["docs"], search, { question: "foxglove", ...request })).map(({ id }) => id);
    assert.deepEqual(await ids({}, { hybrid: false }), without);
    assert.deepEqual(await ids({ hybridEnabled: false }), without);
    assert.deepEqual(await ids({ vectorWeight: 1 }), without);
    assert.deepEqual(await ids({ vectorWeight: 0 }), ["5"]);
    assert.deepEqual(await ids({ vectorWeight: 0 }, { hybrid: false }), without);
    assert.deepEqual(await ids({}, { question: "the and of" }), without);
  },
);

testWithPgvector("the least similarity holds for what either search found", async () => {
  await using fixture = await createRetrieverFixture(docs);
  const ids = async (minSimilarity: number, question = "red fox") =>
    (await fixture.retrieve(["docs"], { minSimilarity }, { question })).map(({ id }) => id);
  assert.deepEqual(await ids(0.9), ["1", "2", "3"]);
  // 4 matches best of all by its words, and 5 has no vector
  assert.deepEqual(await ids(0.9, "red cars"), ["2", "1", "3"]);
  assert.deepEqual(await ids(0.999, "foxglove"), ["1"]);
  assert.deepEqual(await ids(-1, "foxglove"), ["1", "2", "3", "7", "4"]);
  // a request's own holds in its place
  const asked = await fixture.retrieve(["docs"], { minSimilarity: 0 }, {
    question: "foxglove",
    minSimilarity: 0.999,
  });
  assert.deepEqual(asked.map(({ id }) => id), ["1"]);
});

testWithPgvector("a filter, the table's own and the request's, holds in both searches", async () => {
  await using fixture = await createRetrieverFixture(docs);
  const ids = async (settings: Partial<SearchedTableSettings>, request: Partial<RetrieveRequest>) =>
    (await fixture.retrieve([{ table: "docs", ...settings }], {}, { question: "red fox", ...request }))
      .map(({ id }) => id);
  const german = { conditions: [{ column: "lang", operator: "=", value: "de" }], logic: "AND" } as const;
  assert.deepEqual(await ids({}, { filter: german }), ["6", "7"]);
  assert.deepEqual(await ids({ filter: german }, {}), ["6", "7"]);
  assert.deepEqual(await ids({ filter: "lang = 'en' OR id = 6 -- no more" }, { filter: german }), ["6"]);
  assert.deepEqual(await ids({ filter: "source.lang = 'de'" }, {}), ["6", "7"]);
  const none = { conditions: [{ column: "lang", operator: "=", value: "fr" }], logic: "AND" } as const;
  assert.deepEqual(await ids({}, { filter: none }), []);
});

testWithPgvector("tables are searched at the same time, and fused by what can be compared", async () => {
  await using fixture = await createRetrieverFixture(`${docs}
    CREATE TABLE notes (key uuid PRIMARY KEY, text varchar(50), half halfvec(2));
    INSERT INTO notes VALUES ('00000000-0000-0000-0000-000000000001', 'Far off', '[-1,0.2]'),
      ('00000000-0000-0000-0000-000000000002', 'Near', '[1,0.01]'), ('00000000-0000-0000-0000-000000000003', 'A red fox', NULL);
    CREATE TABLE empty (id int PRIMARY KEY, body text, embedding vector(2));`);
  const notes = { table: "notes", textColumn: "text", vectorColumn: "half", filter: "key IS NOT NULL" };
  const vectors = await fixture.retrieve(["docs", notes, "empty"], { vectorWeight: 1 }, {
    question: "red fox",
  });
  assert.deepEqual(vectors.map(({ table, content }) => `${table}: ${content}`), [
    "docs: The red fox jumps",
    "notes: Near",
    "docs: A red car",
    "docs: Blue whales sing",
    "docs: Nothing alike",
    "notes: Far off",
    "docs: Red foxes and red cars",
  ]);
  assert.equal(fixture.reads(), 3);
  const words = await fixture.retrieve(["docs", notes, "empty"], { vectorWeight: 0 }, {
    question: "red fox",
  });
  assert.deepEqual(words.slice(0, 3).map(({ table, content }) => `${table}: ${content}`), [
    "docs: Red foxes and red cars",
    "docs: The red fox jumps",
    "notes: A red fox",
  ]);
  assert.deepEqual(await fixture.retrieve(["empty"], {}, {}), []);
});

testWithPgvector(
  "with weight 0 a table without words to search keeps its vectors' order, below the others",
  async () => {
    await using fixture = await createRetrieverFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO docs SELECT n, 'fox ' || n, '[1,1]' FROM generate_series(1, 3) n;
    CREATE TABLE big (id int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO big SELECT n, 'fox number ' || n, format('[1,%s]', 20 - n / 1000.0)::vector
      FROM generate_series(1, 12000) n;
    UPDATE big SET embedding = '[1,0]' WHERE id = 500;
    ANALYZE`);
    const retrieve = await fixture.prepare(["docs", "big"], { vectorWeight: 0 });
    const found = await retrieve({ limit: 5 });
    assert.deepEqual(found.map(({ table, id }) => `${table} ${id}`), [
      "docs 1",
      "docs 2",
      "docs 3",
      "big 500",
      "big 12000",
    ]);
  },
);

testWithPgvector("a filter's column must be there in every table", async () => {
  await using fixture = await createRetrieverFixture(`${docs}
    CREATE TABLE notes (id int PRIMARY KEY, body text, embedding vector(2));`);
  const filter = { conditions: [{ column: "lang", operator: "=", value: "de" }], logic: "AND" } as const;
  await assert.rejects(fixture.retrieve(["docs", "notes"], {}, { filter }), {
    code: "invalid",
    message: 'filter.conditions[0].column: there is no column "lang"',
  });
  assert.equal(fixture.reads(), 0);
});

testWithPgvector(
  "a vector of another length costs its row the vector search, and nobody the answer",
  async () => {
    await using fixture = await createRetrieverFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector);
    INSERT INTO docs VALUES (1, 'far', '[0,1]'), (2, 'near', '[1,0]'), (3, 'red fox', '[1,0,0]')`);
    const told = async (request: Partial<RetrieveRequest>, search: Partial<SearchSettings> = {}) =>
      (await fixture.retrieve(["docs"], search, request)).map(({ id, similarity }) => [id, similarity]);
    assert.deepEqual(await told({}), [["3", undefined], ["2", 1], ["1", 0]]);
    assert.deepEqual(await told({}, { minSimilarity: 0 }), [["2", 1], ["1", 0]]);
    assert.deepEqual(await told({ embedding: Float32Array.of(1, 0, 0), hybrid: false }), [["3", 1]]);
  },
);

testWithPgvector("rows at no finite distance come last, by whatever distance", async () => {
  const far = `'[3e38,3e38]'`;
  const distances = [["cosine", "'[0,0]'"], ["l2", far], ["l1", "'[-3e38,3e38]'"], ["ip", far]] as const;
  for (const [distance, strange] of distances) {
    await using fixture = await createRetrieverFixture(`
      CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2));
      INSERT INTO docs VALUES (1, 'near', '[2,0]'), (2, 'fox', '[1,1]'), (3, 'far fox', '[-1,0.5]'), (4, 'strange', ${strange})`);
    await fixture.admin.query(`CREATE INDEX ON docs USING hnsw (embedding vector_${distance}_ops)`);
    const ask = async (vectorWeight: number) =>
      await fixture.retrieve(["docs"], { vectorWeight }, { embedding: Float32Array.of(2, 2e5) });
    const found = await ask(1);
    assert.deepEqual([found.length, found.at(-1)?.id], [4, "4"], distance);
    const scores = found.map(({ score }) => score);
    assert.ok(scores.every((score) => score > 0 && score < 1), `${distance}: ${scores}`);
    assert.equal((await ask(0.5)).length, 4);
  }
});

testWithPgvector("a document without id is known by its text, which is told once", async () => {
  const rows = `('same', '[1,0]'::vector), ('same ', '[1,0]'), ('red other', '[0,1]')`;
  await using fixture = await createRetrieverFixture(`
    CREATE TABLE bare (body text, embedding vector(2)); INSERT INTO bare VALUES ${rows};
    CREATE VIEW seen AS SELECT * FROM bare;
    CREATE TABLE named (id int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO named SELECT row_number() OVER (), * FROM (VALUES ${rows}) v`);
  for (const table of ["bare", "seen"]) {
    const found = await fixture.retrieve([table], {}, { question: "red" });
    assert.deepEqual(found.map(({ id, content }) => [id, content]), [[undefined, "same"], [
      undefined,
      "red other",
    ]], table);
  }
  const found = await fixture.retrieve(["named", "bare"], { vectorWeight: 1 }, {});
  assert.deepEqual(found.map(({ table, content }) => [table, content]), [["named", "same"], [
    "named",
    "red other",
  ]]);
});

testWithPgvector("of several rows with one id the nearest is told", async () => {
  await using fixture = await createRetrieverFixture(`
    CREATE TABLE chunks (doc text, body text, embedding vector(2));
    INSERT INTO chunks VALUES ('a', 'far red', '[0,1]'), ('a', 'near', '[1,0]'), ('b', 'middle', '[1,1]')`);
  const found = await fixture.retrieve([{ table: "chunks", idColumn: "doc" }], {}, { question: "red" });
  assert.deepEqual(found.map(({ id, content }) => [id, content]), [["a", "near"], ["b", "middle"]]);
});

testWithPgvector("ids of every type find their rows again", async () => {
  for (const type of ["bigint", "text", "varchar(3)", "char(4)", "uuid", "numeric", "date"]) {
    const id = { uuid: "123e4567-e89b-12d3-a456-426614174000", date: "2026-01-31" }[type] ?? "12";
    await using fixture = await createRetrieverFixture(`
      CREATE TABLE docs (id ${type} PRIMARY KEY, body text, embedding vector(2)); INSERT INTO docs VALUES ('${id}', 'red', '[1,0]')`);
    const [found] = await fixture.retrieve(["docs"], {}, { question: "red" });
    assert.deepEqual([found?.id, found?.score], [id, 0.5], type);
  }
});

testWithPgvector("a failing statement is told in the log alone", async () => {
  await using fixture = await createRetrieverFixture(
    `${docs} ALTER TABLE docs ADD address cidr, ADD age interval, ADD words tsvector`,
  );
  const log: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => log.push(line) });
  const ask = (filter?: RetrieveRequest["filter"]) =>
    fixture.retrieve(["docs"], {}, filter === undefined ? {} : { filter }, logger);
  const condition = { column: "address", operator: "=", value: "not an address" } as const;
  await assert.rejects(
    ask({ conditions: [{ column: "id", operator: "=", value: 1 }, condition], logic: "AND" }),
    {
      code: "invalid",
      message: "filter.conditions[1]: the operator or the value does not fit the column's type",
    },
  );
  await assert.rejects(ask({ conditions: [condition, { ...condition, column: "age" }], logic: "OR" }), {
    message: "filter: the operator or the value does not fit the column's type",
  });
  await assert.rejects(
    ask({ conditions: [{ column: "words", operator: "=", value: "abc\\" }], logic: "AND" }),
    {
      code: "invalid",
      message: "filter.conditions[0]: the operator or the value does not fit the column's type",
    },
  );
  assert.deepEqual(log, []);
  await fixture.open({ table: "docs" });
  const search = await fixture.prepare(["docs"], {}, logger);
  await fixture.admin.query("ALTER TABLE docs RENAME body TO secret_text");
  await assert.rejects(search({}), {
    code: "upstream",
    message: "Cannot search the documents: the database reported an error",
  });
  assert.match(log.join(""), /search failed .*column .*body.* does not exist/);
});

testWithPgvector("a search ends with its time, its signal, or a vector of another length", async () => {
  await using fixture = await createRetrieverFixture(docs);
  await assert.rejects(fixture.retrieve(["docs"], {}, { embedding: new Float32Array(3) }), {
    code: "upstream",
    message: 'Cannot search table "docs": its vectors have 2 dimensions, but the provider\'s have 3',
  });
  const slow = [{ table: "docs", filter: "pg_sleep(10) IS NOT NULL" }];
  const search = await fixture.prepare(slow, {}, silentLogger);
  const signal = AbortSignal.timeout(50);
  await assert.rejects(search({ signal }), { name: "TimeoutError" });
  await using quick = await createRetrieverFixture(docs, { statementTimeoutMs: 300 });
  await assert.rejects(quick.retrieve(slow, { hybridEnabled: false }, {}), {
    code: "timeout",
    message: "Cannot search the documents: it took too long",
  });
});
