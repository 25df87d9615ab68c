import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createLogger } from "../../../src/core/logger.ts";
import { type Principal, readerFor } from "../../../src/core/principal.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { renderSql } from "../../../src/postgres/sql_text.ts";
import { embeddingSql, vectorSearch, vectorSettings } from "../../../src/rag_server/search/vector_search.ts";
import { createRoles, testWithPgvector } from "../../support/database.ts";
import { createRetrieverFixture } from "../retriever_fixture.ts";

const suffix = randomBytes(4).toString("hex");
const [reader, roleB] = [`others_reader_${suffix}`, `others_b_${suffix}`];

/** Without a `tsvector` column. The texts of b differ from those of a by their numbers alone, and are farther away. */
const notes = `
CREATE TABLE notes (id int PRIMARY KEY, tenant text, body text, embedding vector(2));
CREATE INDEX ON notes USING hnsw (embedding vector_cosine_ops);
GRANT SELECT ON notes TO ${reader}, ${roleB};
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY by_claim ON notes TO ${reader} USING (tenant = current_setting('app.tenant', true));
CREATE POLICY of_b ON notes TO ${roleB} USING (tenant = 'b');`;
/** Many are equally near; the first stands last in the table where they are to be `DESC`. */
const rowsOf = (
  tenant: "a" | "b",
  from: number,
  count: number,
  distance: number,
  order: "ASC" | "DESC" = "ASC",
) => `
INSERT INTO notes SELECT n, '${tenant}', 'Expense ' || (CASE n % 3 WHEN 0 THEN 'report ' ELSE 'claim ' END)
    || repeat('laptop ', n % 5) || 'number ' || n,
  ('[1,' || ${distance} + n % 7 * 0.01 || ']')::vector FROM generate_series(${from}, ${
  from + count - 1
}) n ORDER BY n ${order};`;

const ways = {
  claims: { sessionSettings: { "app.tenant": "{claim:tenant}" } },
  role: { roleFromClaim: "role", allowedRoles: [roleB] },
} satisfies Readonly<Record<string, Partial<DatabaseOptions>>>;
const caller: Principal = {
  kind: "issuer",
  issuer: "https://login.example.com",
  subject: "bob",
  groups: [],
  claims: { tenant: "b", role: roleB },
};

const createTenantRoles = () =>
  createRoles(
    [reader, roleB],
    `CREATE ROLE ${reader} LOGIN NOINHERIT; CREATE ROLE ${roleB}; GRANT ${roleB} TO ${reader}`,
  );

testWithPgvector(
  "a caller's answers by words and vectors do not tell how many rows others have",
  async () => {
    await using _roles = await createTenantRoles();
    const ofB = notes + rowsOf("b", 50_001, 2_300, 0.5);
    for (const [way, settings] of Object.entries(ways)) {
      const changes = { user: reader, ...settings };
      await using alone = await createRetrieverFixture(ofB, changes);
      await using shared = await createRetrieverFixture(
        `${notes}${rowsOf("a", 1, 12_000, 0)}${rowsOf("b", 50_001, 2_300, 0.5, "DESC")} ANALYZE notes;`,
        changes,
      );
      for (const question of ["report number 50050", "expense claim laptop", "laptop 50100"]) {
        for (const search of [{}, { vectorWeight: 0 }, { minSimilarity: 0.89 }]) {
          const asked = { question, caller, limit: 20 };
          const one = await alone.retrieve(["notes"], search, asked);
          const other = await shared.retrieve(["notes"], search, asked);
          assert.deepEqual(other, one, `${way}: ${question} with ${JSON.stringify(search)}`);
          assert.equal(one.length, 20);
        }
      }
      const [first] = await shared.retrieve(["notes"], {}, { question: "report number 50050", caller });
      assert.equal(first?.id, "50050");
    }
  },
  "a large table",
);

testWithPgvector(
  "what a caller may see decides whether texts are read, and the log says what is missing",
  async () => {
    await using _roles = await createTenantRoles();
    await using fixture = await createRetrieverFixture(
      `${notes}${rowsOf("b", 50_001, 5_001, 0.5)} ANALYZE notes;`,
      { user: reader, ...ways.claims },
    );
    const log: string[] = [];
    const logger = createLogger({ format: "text", level: "warn", write: (line) => void log.push(line) });
    const best = async (changes = {}) => {
      const asked = { question: "number 50050", caller, ...changes };
      return (await fixture.retrieve(["notes"], {}, asked, logger))[0]?.id;
    };
    assert.notEqual(await best(), "50050");
    assert.match(
      log.splice(0).join("\n"),
      /WARN +Callers who may see more than 5,000 rows or 4 MiB.*-doctor has the SQL .*table=notes\n$/,
    );
    // the rows that pass a filter are few enough to read
    const filter = { conditions: [{ column: "id", operator: "<", value: 55_000 }] } as const;
    assert.equal(await best({ filter }), "50050");
    await fixture.admin.query("DELETE FROM notes WHERE id = 55001");
    assert.equal(await best(), "50050");
    // ten texts of half a MiB are too much to read, and few enough by their number
    await fixture.admin.query(`DELETE FROM notes WHERE id > 50100;
    UPDATE notes SET body = body || repeat(' ', 524288) WHERE id > 50090`);
    assert.notEqual(await best(), "50050");
    await fixture.admin.query(`UPDATE notes SET tenant = 'a' WHERE id > 50090`);
    assert.equal(await best(), "50050");

    await fixture.admin.query(`${rowsOf("b", 60_001, 12_000, 0.5)}
    ALTER TABLE notes ADD words tsvector GENERATED ALWAYS AS (to_tsvector('english', left(body, 100))) STORED;
    CREATE INDEX ON notes USING gin (words); ANALYZE notes`);
    log.length = 0;
    assert.equal(await best(), "50050");
    assert.deepEqual(log, []);

    // more than are ranked have the word; which of them are does not hang on where they stand
    const ranked = () =>
      fixture.retrieve(["notes"], { vectorWeight: 0 }, { question: "laptop number", caller });
    const before = await ranked();
    await fixture.admin.query(
      "CREATE INDEX backward ON notes ((-id)); CLUSTER notes USING backward; ANALYZE notes",
    );
    assert.deepEqual(await ranked(), before);
  },
  "a large table",
);

testWithPgvector(
  "where an HNSW index would be chosen and misses rows, a caller's are all compared",
  async () => {
    await using _roles = await createTenantRoles();
    // too many rows to compare where nobody has rows of their own, and a graph that loses its way
    await using fixture = await createRetrieverFixture(
      `${notes.replace(/CREATE INDEX .*/, "").replace("vector(2)", "vector(8)")} SELECT setseed(0.5);
    INSERT INTO notes SELECT n, CASE WHEN n % 2 = 0 THEN 'b' ELSE 'a' END, 'note ' || n,
      (SELECT array_agg(random() - 0.5) FROM generate_series(1, 8) WHERE n > 0)::float4[]::vector
    FROM generate_series(1, 6000) n;
    CREATE INDEX ON notes USING hnsw (embedding vector_cosine_ops) WITH (m = 2, ef_construction = 4); ANALYZE notes;`,
      { user: reader, ...ways.claims },
    );
    const embedding = Float32Array.of(1, 0.5, -0.5, 1, 0, 0.25, -1, 0);
    const limit = 100;
    const nearest = await fixture.admin.query(`SELECT id FROM notes WHERE tenant = 'b'
    ORDER BY (embedding <=> '[${embedding.join(",")}]') + 0 LIMIT ${limit}`);
    const found = await fixture.retrieve(["notes"], { vectorWeight: 1 }, { embedding, caller, limit });
    assert.deepEqual(found.map(({ id }) => id), nearest.flat());

    const [{ table: { isExact, ...asked } } = assert.fail()] = await fixture.open("notes");
    assert.equal(isExact, true);
    const byIndex = await fixture.database.read({
      principal: readerFor(caller),
      trusted: true,
      signal: new AbortController().signal,
      settings: vectorSettings({ table: asked, limit, filter: undefined }),
      ...renderSql(vectorSearch({
        table: asked,
        embedding: embeddingSql(asked, embedding),
        limit,
        filter: undefined,
      })),
    });
    const ids = byIndex.ok ? byIndex.rows.map(([id]) => id) : [];
    assert.equal(ids.length, limit);
    assert.notDeepEqual(ids.toSorted(), nearest.flat().toSorted(), "the index misses none here");
  },
);
