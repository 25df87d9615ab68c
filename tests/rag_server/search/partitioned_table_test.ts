import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { renderSql, verbatim } from "../../../src/postgres/sql_text.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { buildKeywordIndex } from "../../../src/rag_server/keyword/build_keyword_index.ts";
import { vectorSearch } from "../../../src/rag_server/search/vector_search.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createRetrieverFixture } from "../retriever_fixture.ts";

const words = ["loan", "card", "fee", "branch", "novel", "reader", "shelf", "return"];

/** The same rows in one table and in one that is partitioned by date, and by tenant below that. */
const setUp = `
  SELECT setseed(0.3);
  CREATE TABLE docs (id int, body text, embedding halfvec(8), day date, tenant text, PRIMARY KEY (id));
  INSERT INTO docs SELECT n,
      (SELECT string_agg((ARRAY['${words.join("','")}'])[1 + floor(random() * 8)::int], ' ') || ' ' || n
        FROM generate_series(1, 12) WHERE n > 0),
      (SELECT array_agg(random() - 0.5) FROM generate_series(1, 8) WHERE n > 0)::vector::halfvec,
      date '2026-01-01' + n % 90, CASE WHEN n % 3 = 0 THEN 'north' ELSE 'south' END
    FROM generate_series(1, 900) n;
  CREATE TABLE parted (id int, body text, embedding halfvec(8), day date, tenant text, PRIMARY KEY (id, day, tenant))
    PARTITION BY RANGE (day);
  CREATE TABLE parted_january PARTITION OF parted FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
  CREATE TABLE parted_later PARTITION OF parted FOR VALUES FROM ('2026-02-01') TO ('2027-01-01')
    PARTITION BY LIST (tenant);
  CREATE TABLE parted_north PARTITION OF parted_later FOR VALUES IN ('north');
  CREATE TABLE parted_south PARTITION OF parted_later FOR VALUES IN ('south');
  INSERT INTO parted SELECT * FROM docs;
  CREATE INDEX ON docs USING hnsw (embedding halfvec_cosine_ops);
  CREATE INDEX ON parted USING hnsw (embedding halfvec_cosine_ops);
  ANALYZE;`;

testWithPgvector(
  "a partitioned table finds what one table of the same rows finds, by both searches",
  async () => {
    await using fixture = await createRetrieverFixture(setUp);
    const { signal } = new AbortController();
    const connection = await connect(databaseOptions(fixture.admin.url), { signal, logger: silentLogger });
    for (const table of ["docs", "parted"]) {
      await buildKeywordIndex({ connection, signal, table, textColumn: "body", idColumn: "id" });
    }
    await connection.close();
    const filters = [
      undefined,
      { conditions: [{ column: "day", operator: ">=", value: "2026-02-15" }], logic: "AND" },
      { conditions: [{ column: "tenant", operator: "=", value: "north" }], logic: "AND" },
    ] as const;
    for (const vectorWeight of [0.5, 0, 1]) {
      const ask = await Promise.all(
        ["docs", "parted"].map((table) => fixture.prepare([{ table, idColumn: "id" }], { vectorWeight })),
      );
      for (const [at, filter] of filters.entries()) {
        const embedding = Float32Array.from({ length: 8 }, (_, place) => Math.sin(at + place));
        const request = { question: "late return of a novel", embedding, ...(filter && { filter }) };
        const [whole, parted] = await Promise.all(
          ask.map(async (retrieve) =>
            (await retrieve(request)).map(({ id, score }) => [id, score.toFixed(9)])
          ),
        );
        assert.equal(whole?.length, 10);
        assert.deepEqual(parted, whole, `weight ${vectorWeight}, filter ${at}`);
      }
    }
  },
);

testWithPgvector("a filter by what a table is partitioned by reads no other partition", async () => {
  await using fixture = await createRetrieverFixture(setUp);
  const table = await fixture.readTable({ table: "parted", idColumn: "id" });
  const plan = async (filter: string) => {
    const { sql, parameters } = renderSql(vectorSearch({
      table,
      embedding: verbatim("(SELECT '[1,0,0,0,0,0,0,0]'::halfvec(8))"),
      limit: 10,
      filter: verbatim(filter),
    }));
    const rows = await fixture.admin.query(
      `EXPLAIN ${sql.replaceAll(/\$(\d+)/g, (_, n) => String(parameters[n - 1]))}`,
    );
    return [...new Set(rows.flat().join("\n").match(/parted_\w+?(?=_embedding|\s)/g))].toSorted();
  };
  assert.deepEqual(await plan("true"), ["parted_january", "parted_north", "parted_south"]);
  assert.deepEqual(await plan("day < '2026-01-20'"), ["parted_january"]);
  assert.deepEqual(await plan("day > '2026-03-01' AND tenant = 'north'"), ["parted_north"]);
});
