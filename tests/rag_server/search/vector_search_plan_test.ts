import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import type { Filter } from "../../../src/rag_server/query.ts";
import { createRetriever } from "../../../src/rag_server/search/retriever.ts";
import { openSearchedTable } from "../../../src/rag_server/search/searched_table.ts";
import { vectorSearch, vectorSettings } from "../../../src/rag_server/search/vector_search.ts";
import { sql, type SqlText, verbatim } from "../../../src/postgres/sql_text.ts";
import { createTestDatabase, testWithPgvector } from "../../support/database.ts";
import { createSearchFixture } from "../search_fixture.ts";

const limit = 100;

/** Vectors that lie in TOAST, as they do beside texts of a usual length: 384 dimensions, and 1,536. */
const setUp = `
  CREATE EXTENSION vector;
  CREATE TABLE docs (id int PRIMARY KEY, body text NOT NULL, meta jsonb, embedding vector(384));
  SELECT setseed(0.5);
  INSERT INTO docs SELECT n, repeat(md5(n::text), 30), jsonb_build_object('share', n % 2),
      (SELECT array_agg(random() - 0.5) FROM generate_series(1, 384) WHERE n > 0)::vector
    FROM generate_series(1, 6000) n;
  CREATE TABLE long (id int PRIMARY KEY, body text NOT NULL, meta jsonb, embedding vector(1536));
  INSERT INTO long SELECT id, left(body, 200), meta,
      (SELECT array_agg(random() - 0.5) FROM generate_series(1, 1536) WHERE id > 0)::vector
    FROM docs WHERE id <= 2500;
  CREATE TABLE halved AS SELECT * FROM docs;
  CREATE TABLE any_length (LIKE docs);
  ALTER TABLE any_length ALTER COLUMN embedding TYPE vector;
  INSERT INTO any_length SELECT * FROM docs;
  CREATE TABLE listed AS SELECT * FROM docs;
  CREATE TABLE parted (LIKE docs) PARTITION BY RANGE (id);
  CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (2500);
  CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (2500) TO (10000);
  INSERT INTO parted SELECT * FROM docs;
  CREATE TABLE few AS SELECT * FROM long WHERE id <= 250;
  CREATE VIEW seen AS SELECT * FROM docs WHERE id > 10;
  SET maintenance_work_mem = '256MB';
  CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops) WITH (ef_construction = 32);
  CREATE INDEX ON long USING hnsw (embedding vector_cosine_ops) WITH (ef_construction = 32);
  CREATE INDEX ON halved USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (ef_construction = 32);
  CREATE INDEX ON any_length USING hnsw ((embedding::vector(384)) vector_cosine_ops) WITH (ef_construction = 32)
    WHERE vector_dims(embedding) = 384;
  CREATE INDEX ON listed USING ivfflat (embedding vector_cosine_ops) WITH (lists = 6);
  CREATE INDEX ON parted USING hnsw (embedding vector_cosine_ops) WITH (ef_construction = 32);
  CREATE INDEX ON few USING hnsw (embedding vector_cosine_ops);
  ANALYZE;
  CREATE TABLE never_analyzed (LIKE docs) WITH (autovacuum_enabled = false);
  INSERT INTO never_analyzed SELECT * FROM docs;
  CREATE INDEX ON never_analyzed USING hnsw (embedding vector_cosine_ops) WITH (ef_construction = 32);
  UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname = 'never_analyzed';`;

/** More than the few rows that are compared pass; of the last PostgreSQL guesses that almost none do. */
const filters: Readonly<Record<string, SqlText | undefined>> = {
  "no filter": undefined,
  "half of the rows": verbatim("id % 2 = 0"),
  "half of the rows by JSON": verbatim("meta->>'share' = '0'"),
};

type Fixture = Awaited<ReturnType<typeof createSearchFixture>>;

/** What PostgreSQL did for a search: whether it walked a vector index, and whether it compared rows one by one. */
async function searched(fixture: Fixture, name: string, filter?: SqlText) {
  const table = await fixture.readTable({ table: name, idColumn: "id" });
  const dimensions = name === "long" || name === "few" ? 1_536 : 384;
  const vector = Array.from({ length: dimensions }, (_, at) => Math.sin(at));
  const embedding = sql`${`[${vector}]`}::public.vector`;
  const search = { table, embedding, dimensions, limit, filter };
  const rows = await fixture.rows(
    sql`EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ${vectorSearch(search)}`,
    vectorSettings(search),
  );
  const plan = rows.map(([line]) => line).join("\n");
  const [asked = "", compared = ""] = plan.split("CTE postern_compared");
  return {
    plan,
    byIndex: /Index Scan using [^(]* \(actual [^\n]*\n +Order By/.test(asked),
    byComparing: / (Seq|Bitmap Heap|Index) Scan [^(]* \(actual/.test(compared) ||
      !plan.includes("postern_indexed"),
  };
}

testWithPgvector("the vector index is used on tables of some thousand rows", async (t) => {
  await using original = await createTestDatabase();
  await original.query(setUp);

  await t.step(
    "whatever the table is, whatever pages cost, and whatever is guessed of the filter",
    async () => {
      const sessionSettings = { random_page_cost: "10", seq_page_cost: "0.1" };
      await using fixture = await createSearchFixture("", { sessionSettings }, original);
      const tables = ["docs", "long", "halved", "any_length", "listed", "parted", "seen", "never_analyzed"];
      for (const table of tables) {
        for (const [name, filter] of Object.entries(filters)) {
          // half of them are few
          if (table === "long" && filter !== undefined) continue;
          const { byIndex, byComparing, plan } = await searched(fixture, table, filter);
          assert.ok(byIndex && !byComparing, `${table}, ${name}:\n${plan}`);
        }
      }
    },
  );

  await t.step("also by a plan that is kept for every question", async () => {
    // few enough to be searched by words without an index
    const few = "DELETE FROM docs WHERE id > 4000; ANALYZE docs";
    await using fixture = await createSearchFixture(few, { poolMaxConns: 1 }, original);
    const { signal } = new AbortController();
    for (const name of ["docs", "long", "halved", "any_length", "listed", "parted"]) {
      const settings = { table: name, textColumn: "body", vectorColumn: "embedding", idColumn: "id" };
      const searched = await openSearchedTable(fixture.database, settings, signal);
      const retriever = createRetriever({
        database: fixture.database,
        tables: [searched],
        search: { hybridEnabled: false, vectorWeight: 1 },
        logger: silentLogger,
      });
      const embedding = new Float32Array(name === "long" ? 1_536 : 384).map((_, at) => Math.sin(at));
      const found = await retriever.retrieve({ question: "", embedding, limit: 10, hybrid: false, signal });
      assert.equal(found.length, 10);
      const [[statement, types, generic] = []] = await fixture.rows(
        sql`SELECT name, cardinality(parameter_types), generic_plans FROM pg_prepared_statements
          WHERE statement LIKE ${`%"${name}"%`} OR statement LIKE ${`%.${name} %`} ORDER BY prepare_time DESC`,
      );
      assert.equal(generic, "1");
      const values = Array.from({ length: Number(types) - 1 }, () => ", '100'").join("");
      const plan = await fixture.rows(
        sql`${verbatim(`EXPLAIN EXECUTE ${statement}('[${embedding}]'${values})`)}`,
        {
          ...vectorSettings({ table: searched.table, limit, filter: undefined }),
          plan_cache_mode: "force_generic_plan",
        },
      );
      const text = plan.map(([line]) => line).join("\n").split("CTE postern_compared")[0] ?? "";
      assert.match(text, /Index Scan using [^\n]*\n +Order By/, `${name}:\n${text}`);
    }
  });

  await t.step("but no plan is kept where an extension ranks by words, or there is a filter", async () => {
    // few enough to be searched by words without an index
    const few = "DELETE FROM docs WHERE id > 4000; ANALYZE docs";
    await using fixture = await createSearchFixture(few, { poolMaxConns: 1 }, original);
    const { signal } = new AbortController();
    const settings = { table: "docs", textColumn: "body", vectorColumn: "embedding", idColumn: "id" };
    const searched = await openSearchedTable(fixture.database, settings, signal);
    assert.equal(searched.isPlannedAnew, undefined);
    const embedding = new Float32Array(384).fill(0.1);
    const keptFor = async (changes: Partial<typeof searched>, hybrid: boolean, filter?: Filter) => {
      const retriever = createRetriever({
        database: fixture.database,
        tables: [{ ...searched, ...changes }],
        search: { hybridEnabled: true, vectorWeight: 0.5 },
        logger: silentLogger,
      });
      await retriever.retrieve({
        question: "a",
        embedding,
        limit: 3,
        hybrid,
        signal,
        ...(filter && { filter }),
      });
      const [[kept] = []] = await fixture.rows(sql`SELECT count(*) FROM pg_prepared_statements`);
      return kept;
    };
    const filter: Filter = { logic: "AND", conditions: [{ column: "id", operator: ">", value: 3 }] };
    assert.equal(await keptFor({ isPlannedAnew: true }, true), "0");
    assert.equal(await keptFor({}, true, filter), "0");
    assert.equal(await keptFor({ isPlannedAnew: true }, false), "1");
    assert.equal(await keptFor({}, true), "2");
  });

  await t.step("but the rows of a small table are compared", async () => {
    await using fixture = await createSearchFixture("", {}, original);
    for (const filter of Object.values(filters)) {
      const { byIndex, byComparing, plan } = await searched(fixture, "few", filter);
      assert.ok(!byIndex && byComparing, plan);
    }
  });

  await t.step("and so are the few that a view or a row-level policy leaves", async () => {
    const role = `postern_reader_${crypto.randomUUID().slice(0, 8)}`;
    await using fixture = await createSearchFixture(
      `CREATE ROLE ${role} LOGIN; CREATE VIEW narrow AS SELECT * FROM docs WHERE id % 1000 = 0;
      GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role};
      ALTER TABLE parted ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON parted USING (id % 1000 = 0)`,
      { user: role },
      original,
    );
    try {
      for (const table of ["narrow", "parted"]) {
        const { byIndex, byComparing, plan } = await searched(fixture, table);
        assert.ok(!byIndex && !byComparing && plan.includes("postern_probe"), `${table}:\n${plan}`);
      }
    } finally {
      await fixture.admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });
}, "a large table");
