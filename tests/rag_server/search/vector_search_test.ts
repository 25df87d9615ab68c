import assert from "node:assert/strict";
import type { DocumentTable } from "../../../src/rag_server/search/document_table.ts";
import { sql, type SqlText, verbatim } from "../../../src/postgres/sql_text.ts";
import { similaritySql, vectorSearch, vectorSettings } from "../../../src/rag_server/search/vector_search.ts";
import { createTestDatabase, testWithPgvector } from "../../support/database.ts";
import { clusteredDocuments } from "../clustered_documents.ts";
import { createSearchFixture } from "../search_fixture.ts";

const depth = 50;
const asked = [1, 77, 1234, 4321, 9999, 15_151];
/** For indexes where it matters only that they are taken; they are made in a fraction of the time. */
const coarse = "WITH (m = 4, ef_construction = 8)";

testWithPgvector("the vector search over 20,000 documents", async (t) => {
  // an index over them takes seconds to make
  await using documents = await createTestDatabase();
  await documents.query(`CREATE EXTENSION vector; ${clusteredDocuments}`);

  await t.step(
    "the vector search finds 19 of the 20 best that an exact scan finds, whatever the filter leaves",
    async () => {
      await using fixture = await createSearchFixture("", {}, documents);
      const filters: Record<string, string | undefined> = {
        "no filter": undefined,
        "half of the rows": "share = 'half'",
        "a twentieth": "share = 'twentieth'",
        "a thousandth": "share = 'thousandth'",
        "one cluster, far from the question": "cluster = 50",
        "no row": "share = 'none'",
        "a comment at the end": "share = 'half' -- and no more",
      };
      for (const vectorColumn of ["embedding", "half"]) {
        for (const [name, filter] of Object.entries(filters)) {
          const table = await fixture.readTable({
            table: "docs",
            vectorColumn,
            ...(filter !== undefined && { filter }),
          });
          assert.equal(table.vector.indexes[0]?.method, "hnsw");
          let found = 0;
          let wanted = 0;
          for (const id of asked) {
            const embedding = embeddingOf(table, id);
            const nearest = await idsOf(fixture, table, embedding);
            const exact = await exactIds(fixture, table, embedding);
            assert.equal(nearest.length, exact.length, `${vectorColumn}, ${name}`);
            found += exact.slice(0, 10).filter((id) => nearest.slice(0, 10).includes(id)).length;
            wanted += Math.min(exact.length, 10);
          }
          assert.ok(found >= 0.95 * wanted, `${vectorColumn}, ${name}: ${found} of ${wanted}`);
        }
      }
    },
  );

  await t.step("the vector search asks the index, but compares the few rows of a narrow filter", async () => {
    await using fixture = await createSearchFixture("", {}, documents);
    const plan = async (filter: string | undefined) => {
      const table = await fixture.readTable({ table: "docs", ...(filter !== undefined && { filter }) });
      const search = vectorSearch({
        table,
        embedding: embeddingOf(table, 1),
        limit: depth,
        filter: table.filter,
      });
      const rows = await fixture.rows(
        sql`EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ${search}`,
        vectorSettings({ table, limit: depth, filter: table.filter }),
      );
      return rows.map(([line]) => line).join("\n");
    };
    const compared = /CTE postern_compared[^]*?Seq Scan on docs \w+ \((never executed|actual)/;
    for (const filter of [undefined, "share = 'half'"]) {
      const broad = await plan(filter);
      assert.match(broad, /Index Scan using docs_embedding_idx on docs \w+ \(actual/);
      assert.equal(compared.exec(broad)?.[1], "never executed");
    }
    const narrow = await plan("share = 'thousandth'");
    assert.match(narrow, /CTE postern_indexed[^]*never executed[^]*CTE postern_compared/);
    assert.equal(compared.exec(narrow)?.[1], "never executed");
  });

  await t.step("an index that comes back short is made up for, by pgvector before 0.8 too", async () => {
    await using fixture = await createSearchFixture("", {}, documents);
    const table = await fixture.readTable({ table: "docs", filter: "cluster >= 50" });
    const before = { ...table, extension: { ...table.extension, isIterative: false } };
    for (const id of asked.filter((id) => id % 100 < 50)) {
      const embedding = embeddingOf(table, id);
      assert.deepEqual(await idsOf(fixture, before, embedding), await exactIds(fixture, table, embedding));
    }
  });

  await t.step("a row-level policy hides rows from the vector search without leaving it short", async () => {
    const role = `postern_reader_${crypto.randomUUID().slice(0, 8)}`;
    await using fixture = await createSearchFixture(
      `CREATE ROLE ${role} LOGIN; GRANT SELECT ON docs TO ${role};
      ALTER TABLE docs ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON docs USING (share = 'thousandth')`,
      { user: role },
      documents,
    );
    try {
      const table = await fixture.readTable({ table: "docs" });
      const rows = await fixture.admin.query(
        "SELECT FROM docs WHERE share = 'thousandth' AND embedding IS NOT NULL",
      );
      const ids = await idsOf(fixture, table, sql`${`[${Array(32).fill(0.1)}]`}::public.vector`);
      assert.equal(ids.length, Math.min(rows.length, depth));
    } finally {
      await fixture.admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });

  await t.step("an index that is made after the table was read is used", async () => {
    await using fixture = await createSearchFixture(
      "DROP INDEX docs_embedding_idx, docs_half_idx",
      {},
      documents,
    );
    const table = await fixture.readTable({ table: "docs" });
    assert.deepEqual(table.vector.indexes, []);
    await fixture.admin.query(`CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops) ${coarse}`);
    const search = vectorSearch({ table, embedding: embeddingOf(table, 1), limit: depth, filter: undefined });
    const plan = await fixture.rows(
      sql`EXPLAIN ${search}`,
      vectorSettings({ table, limit: depth, filter: table.filter }),
    );
    assert.match(plan.join("\n"), /Index Scan using docs_embedding_idx/);
  });

  await t.step(
    "an index is searched more widely where it is larger, and where a filter hides a part of what it visits",
    async () => {
      await using fixture = await createSearchFixture("", {}, documents);
      const table = await fixture.readTable({ table: "docs" });
      const breadth = (rows: number, limit: number, filter?: SqlText) => {
        return vectorSettings({ table: { ...table, largestRows: rows }, limit, filter })["hnsw.ef_search"];
      };
      const sizes = [0, 30_000, 30_001, 200_000, 200_001];
      assert.deepEqual(sizes.map((rows) => breadth(rows, 20)), ["400", "40", "80", "80", "400"]);
      assert.deepEqual(sizes.map((rows) => breadth(rows, 100)), ["400", "200", "300", "300", "400"]);
      assert.equal(breadth(30_000, 20, sql`true`), "80");
      assert.equal(breadth(30_000, 100, sql`true`), "400");
      assert.equal(breadth(30_000, 300), "600");
      // pgvector takes no more
      assert.equal(breadth(1_000_000, 600, sql`true`), "1000");
    },
  );
}, "a large table");

testWithPgvector("distance is the index's own, similarity the cosine, for every kind of vector", async () => {
  await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, plain vector(2), half halfvec(2), sparse sparsevec(2), long vector);
    INSERT INTO docs SELECT n, 'x', v, v::halfvec, v::sparsevec, v FROM (VALUES
      (1, '[1,0]'::vector), (2, '[3,3]'), (3, '[0,2]'), (4, NULL), (5, '[0,0]')) t(n, v);
    CREATE INDEX ON docs USING hnsw (plain vector_ip_ops);
    CREATE INDEX ON docs USING hnsw (half halfvec_l1_ops);
    CREATE INDEX ON docs USING hnsw (sparse sparsevec_l2_ops);
    CREATE INDEX ON docs USING ivfflat ((long::halfvec(2)) halfvec_cosine_ops) WITH (lists = 2)`);
  const expected: Record<string, readonly number[]> = {
    // the inner product likes long vectors; a vector without a direction is as near as a right angle
    plain: [2, 1, 3, 5],
    half: [1, 5, 3, 2],
    sparse: [1, 5, 3, 2],
    long: [1, 2, 3, 5],
  };
  for (const [vectorColumn, ids] of Object.entries(expected)) {
    const table = await fixture.readTable({ table: "docs", vectorColumn });
    const embedding = sql`'[1,0]'::public.vector::${verbatim(table.vector.type)}`;
    const found = await idsOf(fixture, table, embedding);
    assert.deepEqual(found.map(Number), ids, vectorColumn);
    const rows = await fixture.rows(
      sql`SELECT round(${similaritySql(table, embedding)}::numeric, 3) FROM docs ORDER BY id`,
    );
    assert.deepEqual(
      rows.map(([similarity]) => similarity),
      ["1.000", "0.707", "0.000", null, null],
      vectorColumn,
    );
  }
});

testWithPgvector("a column without a length is searched by vectors of the embedding's length", async () => {
  await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, plain vector, half halfvec, sparse sparsevec, model text);
    INSERT INTO docs SELECT n, 'x', v, v::halfvec, v::sparsevec, 'new' FROM (VALUES
      (1, '[0,1]'::vector), (2, '[1,0,0]'), (3, '[1,1]'), (4, NULL), (5, '[1]')) t(n, v)`);
  for (const vectorColumn of ["plain", "half", "sparse"]) {
    const filters = [{}, { filter: "model = 'new'" }];
    for (const settings of filters) {
      const table = await fixture.readTable({ table: "docs", vectorColumn, ...settings });
      const embedding = sql`'[1,0]'::public.vector::${verbatim(table.vector.type)}`;
      assert.deepEqual(await idsOf(fixture, table, embedding, 2), ["3", "1"], vectorColumn);
      const similarity = similaritySql(table, embedding, 2);
      const rows = await fixture.rows(sql`SELECT round(${similarity}::numeric, 2) FROM docs ORDER BY id`);
      assert.deepEqual(rows.map(([value]) => value), ["0.00", null, "0.71", null, null], vectorColumn);
    }
  }
});

testWithPgvector(
  "an index over the vectors of one length is used for embeddings of that length",
  async () => {
    await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector, half halfvec, model text);
    INSERT INTO docs SELECT n, repeat('x ', 200), format('[%s,1]', n)::vector, format('[%s,1]', n)::halfvec, 'new'
      FROM generate_series(1, 9000) n`);
    const plan = async (vectorColumn: string, dimensions: number, filter?: string) => {
      const table = await fixture.readTable({
        table: "docs",
        vectorColumn,
        ...(filter !== undefined && { filter }),
      });
      const embedding = sql`${`[${Array(dimensions).fill(1)}]`}::public.vector::${
        verbatim(table.vector.type)
      }`;
      const search = { table, embedding, dimensions, limit: depth, filter: table.filter };
      return (await fixture.rows(sql`EXPLAIN ${vectorSearch(search)}`, vectorSettings(search))).join("\n");
    };
    const cases = [
      ["embedding", "(embedding::vector(2)) vector_cosine_ops", "", undefined],
      ["embedding", "(embedding::vector(2)) vector_l2_ops", "WHERE vector_dims(embedding) = 2", undefined],
      ["embedding", "(embedding::halfvec(2)) halfvec_cosine_ops", "WHERE model = 'new'", "model = 'new'"],
      ["half", "(half::halfvec(2)) halfvec_cosine_ops", "WHERE vector_dims(half) = 2", undefined],
    ] as const;
    for (const [column, key, rows, filter] of cases) {
      await fixture.admin.query(
        `CREATE INDEX nearest ON docs USING hnsw (${key}) ${coarse} ${rows}; ANALYZE docs`,
      );
      if (rows.includes("vector_dims")) {
        await fixture.admin.query(`INSERT INTO docs VALUES (0, 'x', '[1,2,3]', '[1,2,3]')`);
      }
      assert.match(await plan(column, 2, filter), /Index Scan using nearest/, key);
      assert.doesNotMatch(await plan(column, 3, filter), /Index Scan using nearest/, key);
      await fixture.admin.query("DROP INDEX nearest; DELETE FROM docs WHERE id = 0");
    }
  },
);

testWithPgvector(
  "of indexes over vectors of several lengths, the one of the embedding's length is used",
  async () => {
    await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector);
    INSERT INTO docs SELECT n, repeat('x ', 200), format('[%s,1]', n)::vector FROM generate_series(1, 6000) n;
    INSERT INTO docs SELECT n, repeat('x ', 200), format('[%s,1,1]', n)::vector FROM generate_series(6001, 12000) n;
    CREATE INDEX of_two ON docs USING hnsw ((embedding::vector(2)) vector_l2_ops) ${coarse} WHERE vector_dims(embedding) = 2;
    CREATE INDEX of_three ON docs USING hnsw ((embedding::vector(3)) vector_cosine_ops)
      ${coarse} WHERE vector_dims(embedding) = 3;
    ANALYZE docs`);
    const table = await fixture.readTable({ table: "docs" });
    const cases = [[2, "of_two"], [3, "of_three"], [4, undefined]] as const;
    for (const [dimensions, name] of cases) {
      const embedding = sql`${`[${Array(dimensions).fill(1)}]`}::public.vector`;
      const search = { table, embedding, dimensions, limit: depth, filter: undefined };
      const plan = await fixture.rows(sql`EXPLAIN ${vectorSearch(search)}`, vectorSettings(search));
      assert.equal(/Index Scan using (of_\w+)/.exec(plan.join("\n"))?.[1], name);
      const found = await fixture.rows(vectorSearch(search), vectorSettings(search));
      assert.equal(found.length, name === undefined ? 0 : depth);
    }
  },
);

testWithPgvector("as many lists are read as suits the ivfflat index of the most", async () => {
  await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector);
    INSERT INTO docs VALUES (1, 'x', '[1,1]'), (2, 'x', '[1,1,1]');
    CREATE INDEX ON docs USING ivfflat ((embedding::vector(2)) vector_cosine_ops) WITH (lists = 4)
      WHERE vector_dims(embedding) = 2;
    CREATE INDEX ON docs USING ivfflat ((embedding::vector(3)) vector_cosine_ops) WITH (lists = 25)
      WHERE vector_dims(embedding) = 3`);
  const table = await fixture.readTable({ table: "docs" });
  const settings = vectorSettings({ table, limit: depth, filter: undefined });
  assert.deepEqual([settings["ivfflat.probes"], settings["ivfflat.iterative_scan"]], ["5", "relaxed_order"]);
  const without = { ...table, vector: { ...table.vector, indexes: [] } };
  const names = Object.keys(vectorSettings({ table: without, limit: depth, filter: undefined }));
  assert.deepEqual(names.filter((name) => name.startsWith("ivfflat.")), []);
});

type Fixture = Awaited<ReturnType<typeof createSearchFixture>>;

function embeddingOf({ vector }: DocumentTable, id: number): SqlText {
  return sql`(SELECT ${verbatim(vector.column)} FROM docs WHERE id = ${id}::int)`;
}

async function idsOf(
  fixture: Fixture,
  table: DocumentTable,
  embedding: SqlText,
  dimensions?: number,
): Promise<string[]> {
  const length = dimensions === undefined ? {} : { dimensions };
  const search = vectorSearch({ table, embedding, ...length, limit: depth, filter: table.filter });
  const rows = await fixture.rows(
    sql`SELECT id FROM (${search}) a ORDER BY distance, id`,
    vectorSettings({ table, limit: depth, filter: table.filter }),
  );
  return rows.map(([id]) => id ?? "");
}

async function exactIds(
  fixture: Fixture,
  { vector, filter }: DocumentTable,
  embedding: SqlText,
): Promise<string[]> {
  const column = verbatim(vector.column);
  const distance = sql`${column} ${
    verbatim(vector.indexes[0]?.distance === "l2" ? "<->" : "<=>")
  } ${embedding}`;
  const rows = await fixture.rows(
    sql`SELECT id FROM docs WHERE ${column} IS NOT NULL AND ${filter ?? sql`true`}
    ORDER BY (${distance}) + 0, id LIMIT ${depth}`,
  );
  return rows.map(([id]) => id ?? "");
}
