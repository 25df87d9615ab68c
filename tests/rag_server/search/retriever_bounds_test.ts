import assert from "node:assert/strict";
import { createLogger } from "../../../src/core/logger.ts";
import { createRetriever, type RetrieveRequest } from "../../../src/rag_server/search/retriever.ts";
import type { SearchedTable } from "../../../src/rag_server/search/searched_table.ts";
import { sql } from "../../../src/postgres/sql_text.ts";
import { testWithPgvector, testWithPgvectorServer } from "../../support/database.ts";
import { createRetrieverFixture } from "../retriever_fixture.ts";

testWithPgvector("repeats of a text leave room for the others, however many there are", async () => {
  await using fixture = await createRetrieverFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO docs SELECT n, repeat(' ', n % 3) || 'Copyright fox', '[1,0]' FROM generate_series(1, 160) n;
    INSERT INTO docs SELECT 200 + n, 'fox ' || n, ('[1,' || n || ']')::vector FROM generate_series(1, 5) n;
    CREATE TABLE varied (id int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO varied SELECT n, 'fox ' || n % 40, ('[1,' || n || ']')::vector FROM generate_series(1, 80) n`);
  for (const index of ["", "CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops)"]) {
    await fixture.admin.query(index);
    for (const search of [{}, { vectorWeight: 1 }, { minSimilarity: -1 }]) {
      const found = await fixture.retrieve(["docs"], search, { limit: 5 });
      const expected = ["Copyright fox", "fox 1", "fox 2", "fox 3", "fox 4"];
      assert.deepEqual(found.map(({ content }) => content.trim()).toSorted(), expected);
      assert.equal(fixture.reads(), 2);
    }
  }
  // a second search is for an answer that would be short
  assert.equal((await fixture.retrieve(["varied"], {}, { limit: 5 })).length, 5);
  assert.equal(fixture.reads(), 1);
});

testWithPgvector("rows without a text are no documents", async () => {
  await using fixture = await createRetrieverFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), lang text);
    INSERT INTO docs SELECT n, (ARRAY['', NULL, E' \\n\\t'])[n % 3 + 1], '[1,0]', 'en' FROM generate_series(1, 300) n;
    INSERT INTO docs VALUES (500, repeat(' ', 3000), '[1,0]', 'en'), (501, 'fox', '[0,1]', 'en'),
      (502, repeat(' ', 3000) || 'red fox', '[-1,0.1]', 'en')`);
  const filter = { conditions: [{ column: "lang", operator: "=", value: "en" }], logic: "AND" } as const;
  for (const index of ["", "CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops)"]) {
    await fixture.admin.query(index);
    for (const request of [{}, { filter }, { hybrid: false }]) {
      const found = await fixture.retrieve(["docs"], {}, { limit: 2, ...request });
      assert.deepEqual(found.map(({ id }) => id), ["501", "502"]);
    }
  }
});

testWithPgvector("of a long text the beginning is read, and it is known by all of it", async () => {
  const filler = "é".repeat(64_000 - "fox één".length);
  await using fixture = await createRetrieverFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO docs SELECT id, begin || repeat('é', ${filler.length}) || rest, embedding::vector FROM (VALUES
      (1, '', 'fox één', '[1,0]'), (2, '', 'fox één and two', '[1,1]'), (3, ' ', 'fox één and two', '[0,1]'))
      v(id, begin, rest, embedding);
    INSERT INTO docs VALUES (4, repeat('word ', 20000), '[-1,0]');
    CREATE VIEW seen AS SELECT body, embedding FROM docs;`);
  const ids = { docs: ["1", "2", "4"], seen: [undefined, undefined, undefined] };
  for (const [table, expected] of Object.entries(ids)) {
    const found = await fixture.retrieve([table], { vectorWeight: 1 }, {});
    assert.deepEqual(found.map(({ id }) => id), expected);
    const [first, second, last] = found.map(({ content }) => content);
    assert.ok(first === `${filler}fox één` && second === first);
    assert.equal(last, "word ".repeat(12_800));
  }
});

testWithPgvector("words that no index holds are searched in a small table only", async () => {
  const log: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => log.push(line) });
  await using fixture = await createRetrieverFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO docs SELECT n, 'fox ' || n, ('[1,' || n || ']')::vector FROM generate_series(1, 5001) n;
    CREATE VIEW seen AS SELECT * FROM docs; ANALYZE docs`);
  const ask = { question: "4999", limit: 2 };
  for (const table of ["docs", "seen"]) {
    for (const vectorWeight of [0, 0.5]) {
      const search = await fixture.prepare([table], { vectorWeight }, logger);
      const found = await search(ask);
      assert.deepEqual(found.map(({ content }) => content), ["fox 1", "fox 2"]);
      await search(ask);
      assert.match(
        log.splice(0).join("\n").trim(),
        new RegExp(`^[^\n]*-index-pipeline[^\n]*${table}[^\n]*$`),
      );
    }
    await fixture.prepare([table], { hybridEnabled: false }, logger);
  }
  // few rows with much text, and then with long vectors, which nobody analyses
  await fixture.admin.query(`DELETE FROM docs WHERE id = 1; ANALYZE docs;
    UPDATE docs SET body = body || repeat(' ', 524288) WHERE id > 4992`);
  await fixture.prepare(["docs"], {}, logger);
  assert.match(log.splice(0).join("\n"), /-index-pipeline/);
  await fixture.admin.query(
    `UPDATE docs SET body = trim(body) WHERE id > 4992; ALTER TABLE docs ADD long vector;
    UPDATE docs SET long = (SELECT array_agg(random()) FROM generate_series(1, 1536) WHERE id > 0)::float4[]::vector
    WHERE id > 4000; ANALYZE docs`,
  );
  assert.equal(
    (await fixture.retrieve(["docs"], { vectorWeight: 0.3 }, ask, logger))[0]?.content,
    "fox 4999",
  );
  await fixture.admin.query("INSERT INTO docs VALUES (1, 'fox 1', '[1,1]'); ANALYZE docs");
  await fixture.admin.query("CREATE INDEX ON docs USING gin (to_tsvector('english', body))");
  assert.equal(
    (await fixture.retrieve(["docs"], { vectorWeight: 0.3 }, ask, logger))[0]?.content,
    "fox 4999",
  );
  assert.deepEqual(log, []);
}, "a large table");

testWithPgvectorServer("a search by words that takes too long does not cost the answer", async () => {
  const log: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => log.push(line) });
  await using fixture = await createRetrieverFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO docs VALUES (1, 'fox', '[0,1]'), (2, 'near', '[1,0]')`);
  const [opened] = await fixture.open("docs");
  assert.ok(opened);
  const slow: SearchedTable = {
    ...opened,
    keywordSearch: () => sql`SELECT '1' AS id, 1::float8 AS score FROM pg_sleep(10)`,
  };
  const request: RetrieveRequest = {
    question: `"fox" -near`,
    embedding: Float32Array.of(1, 0),
    limit: 2,
    hybrid: true,
    signal: new AbortController().signal,
  };
  for (
    const [vectorWeight, statementTimeoutMs, bounds] of [
      [0, 1_000, [200, 800]],
      [0.5, 1_000, [200, 800]],
      [0.5, 300, [150, 150]],
    ] as const
  ) {
    const asked: unknown[] = [];
    const retriever = createRetriever({
      database: {
        ...fixture.database,
        statementTimeoutMs,
        read: (request) => {
          asked.push(request.timeoutMs);
          return fixture.database.read(request);
        },
      },
      tables: [slow],
      search: { hybridEnabled: true, vectorWeight },
      hybridTimeoutMs: 200,
      logger,
    });
    const found = await retriever.retrieve(request);
    assert.deepEqual(found.map(({ id, score }) => [id, score]), [["2", 0.75], ["1", 0.25]]);
    // both searches together keep to the time of a statement
    assert.deepEqual(asked, bounds);
    assert.match(
      log.splice(0).join("\n").trim(),
      /^[^\n]*the answer uses the vector search only, and not the question's quotes and exclusions[^\n]*$/,
    );
  }
});

testWithPgvector("quotes and exclusions are those of the caller's own words", async () => {
  await using fixture = await createRetrieverFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2));
    INSERT INTO docs VALUES (1, 'fox', '[0,1]'), (2, 'red fox', '[1,0]'), (3, 'near', '[1,0]')`);
  const search = await fixture.prepare(["docs"], { vectorWeight: 0.5 });
  const idsOf = async (question: string, asked?: string) =>
    (await search({ question, ...(asked !== undefined && { asked }) })).map(({ id }) => id).toSorted();
  assert.deepEqual(await idsOf(`a fox -near`), ["1", "2"]);
  assert.deepEqual(await idsOf(`a fox -near "red fox"`, "a fox"), ["1", "2", "3"]);
  assert.deepEqual(await idsOf("a fox that is red", "a fox -near"), ["1", "2"]);
});
