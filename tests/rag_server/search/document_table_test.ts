import assert from "node:assert/strict";
import { testWithPgvector } from "../../support/database.ts";
import { createSearchFixture } from "../search_fixture.ts";
import { isIterative } from "../../../src/rag_server/search/document_table.ts";

const schema = `
  CREATE SCHEMA app;
  CREATE TYPE state AS ENUM ('new', 'done');
  CREATE DOMAIN price AS numeric(8, 2) CHECK (VALUE >= 0);
  CREATE TABLE app.docs (
    id bigint PRIMARY KEY, body text, embedding vector(3), state state, price price, tags varchar(5)[], meta jsonb,
    code char(3), gone int, states state[]);
  ALTER TABLE app.docs DROP COLUMN gone;
  CREATE INDEX ON app.docs USING hnsw (embedding vector_l2_ops);
  INSERT INTO app.docs SELECT n, 'text ' || n, format('[%s,1,0]', n)::vector FROM generate_series(1, 20) n;
  ANALYZE app.docs;
  CREATE VIEW recent AS SELECT id AS key, body, embedding FROM app.docs WHERE id > 5;
  CREATE TABLE "Odd ""Name" (body text, embedding halfvec, "Id" uuid);
  CREATE INDEX ON "Odd ""Name" USING ivfflat ((embedding::halfvec(3)) halfvec_ip_ops) WITH (lists = 4);
  CREATE TABLE "Cased" (body text, embedding vector(3));
  CREATE TABLE cased (other text);
  CREATE TABLE pairs (a int, b int, body text, embedding vector(2), PRIMARY KEY (a, b));
  CREATE TABLE parted (id int, body text, embedding vector(2)) PARTITION BY RANGE (id);
  CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
  CREATE INDEX ON parted_1 USING hnsw (embedding vector_cosine_ops);
  CREATE TABLE wide (id int PRIMARY KEY, body text, embedding vector);
  CREATE INDEX ON wide USING hnsw ((embedding::halfvec(4)) halfvec_cosine_ops);`;

testWithPgvector("readTable() reads columns, vector, index and id from the catalog", async () => {
  await using fixture = await createSearchFixture(schema);
  const { columns, requestColumns, rows, largestRows, encoding, ...docs } = await fixture.readTable({
    table: "app.docs",
  });
  assert.deepEqual([rows, largestRows], [20, 20]);
  assert.equal(encoding, "UTF8");
  assert.deepEqual(docs, {
    name: "app.docs",
    relation: "app.docs",
    textColumn: "body",
    vector: {
      column: "embedding",
      type: "public.vector",
      dimensions: 3,
      indexes: [{ name: "app.docs_embedding_idx", method: "hnsw", distance: "l2" }],
    },
    extension: { schema: "public", isIterative: true },
    key: { name: "id", type: "bigint", isId: true },
    mayHideRows: false,
    isOrdered: false,
  });
  assert.deepEqual(requestColumns, columns);
  assert.deepEqual(Object.fromEntries(columns), {
    id: { kind: "bigint", sqlType: "bigint" },
    body: { kind: "text", sqlType: "text" },
    embedding: { kind: "other", sqlType: "vector" },
    state: { kind: "enum", sqlType: "state", labels: ["new", "done"] },
    price: { kind: "numeric", sqlType: "numeric" },
    tags: {
      kind: "array",
      sqlType: "character varying[]",
      element: { kind: "text", sqlType: "character varying" },
    },
    meta: { kind: "json", sqlType: "jsonb" },
    code: { kind: "text", sqlType: "bpchar" },
    states: {
      kind: "array",
      sqlType: "state[]",
      element: { kind: "enum", sqlType: "state", labels: ["new", "done"] },
    },
  });
});

testWithPgvector(
  "readTable() finds names as they are written, quoted or not, and what lies below a view",
  async () => {
    await using fixture = await createSearchFixture(schema);
    const view = await fixture.readTable({ table: "recent", idColumn: "key" });
    assert.deepEqual([view.key.name, view.vector.indexes[0]?.distance], ["key", "l2"]);
    const odd = await fixture.readTable({ table: '"Odd ""Name"', idColumn: "Id" });
    assert.deepEqual([odd.relation, odd.key], ['public."Odd ""Name"', {
      name: "Id",
      type: "uuid",
      isId: true,
    }]);
    assert.deepEqual(odd.vector, {
      column: "embedding",
      type: "public.halfvec",
      indexes: [{
        name: 'public."Odd ""Name_embedding_idx"',
        method: "ivfflat",
        distance: "ip",
        castTo: "halfvec(3)",
        lists: 4,
      }],
    });
    assert.equal((await fixture.readTable({ table: "Cased" })).relation, 'public."Cased"');
    assert.equal((await fixture.readTable({ table: "PAIRS" })).relation, "public.pairs");
    assert.deepEqual((await fixture.readTable({ table: "pairs" })).key, {
      name: "ctid",
      type: "tid",
      isId: false,
    });
    const parted = await fixture.readTable({ table: "parted" });
    assert.deepEqual([parted.key.name, parted.vector.indexes[0]?.method], ["body", "hnsw"]);
    assert.equal((await fixture.readTable({ table: "wide" })).vector.indexes[0]?.castTo, "halfvec(4)");
  },
);

testWithPgvector("readTable() knows how many rows the largest partition has", async () => {
  await using fixture = await createSearchFixture(
    `${schema} CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (10) TO (100);
    INSERT INTO parted SELECT n, 'text', '[1,1]' FROM generate_series(0, 99) n; ANALYZE parted;`,
  );
  const { rows, largestRows } = await fixture.readTable({ table: "parted" });
  assert.deepEqual([rows, largestRows], [100, 90]);
});

testWithPgvector("readTable() finds the best of several indexes: cosine, then hnsw", async () => {
  await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(3));
    CREATE INDEX l2 ON docs USING hnsw (embedding vector_l2_ops);
    CREATE INDEX lists ON docs USING ivfflat (embedding vector_cosine_ops) WITH (lists = 2)`);
  const names = async () =>
    (await fixture.readTable({ table: "docs" })).vector.indexes.map(({ name }) => name);
  assert.deepEqual(await names(), ["public.lists"]);
  await fixture.admin.query("CREATE INDEX graph ON docs USING hnsw (embedding vector_cosine_ops)");
  assert.deepEqual(await names(), ["public.graph"]);
});

testWithPgvector("readTable() says what is wrong with a table, a column or a filter", async () => {
  await using fixture = await createSearchFixture(schema);
  const faults = [
    [{ table: "nothing" }, 'Cannot search table "nothing": there is no such table or view'],
    [
      { table: '"App"."Odd ""Name"' },
      'Cannot search table "App"."Odd ""Name": there is no such table or view',
    ],
    [{ table: "a.b.c.d" }, 'Cannot search table "a.b.c.d": there is no such table or view'],
    [{ table: "x; DROP TABLE y" }, 'Cannot search table "x; DROP TABLE y": there is no such table or view'],
    [{ table: "pairs", textColumn: "text" }, 'Cannot search table "pairs": it has no column "text"'],
    [
      { table: "pairs", textColumn: "a" },
      'Cannot search table "pairs": column "a" has type integer; expected text',
    ],
    [{ table: "pairs", idColumn: "id" }, 'Cannot search table "pairs": it has no column "id"'],
    [
      { table: "pairs", vectorColumn: "body" },
      'Cannot search table "pairs": column "body" has type text; expected vector, halfvec or sparsevec',
    ],
    [
      { table: "pairs", filter: "a = 1 AND nothing" },
      'Cannot search table "pairs": its filter fails: column "nothing" does not exist',
    ],
    [
      { table: "pairs", filter: "a = $1" },
      'Cannot search table "pairs": its filter fails: it has a parameter such as $1',
    ],
    [
      { table: "pairs", filter: "a = 1 /* open" },
      'Cannot search table "pairs": its filter fails: unterminated /* comment at or near "/* open\n)"',
    ],
    [
      { table: "pairs", filter: "true) OR (true" },
      'Cannot search table "pairs": its filter fails: syntax error at or near ")"',
    ],
    [
      { table: "pairs", filter: { conditions: [{ column: "c", operator: "=", value: 1 }], logic: "AND" } },
      'the filter of table "pairs".conditions[0].column: there is no column "c"',
    ],
  ] as const;
  for (const [settings, message] of faults) {
    await assert.rejects(fixture.readTable(settings), { name: "AppError", code: "invalid", message });
  }
  const commented = await fixture.readTable({ table: "pairs", filter: "a = 1 -- the first" });
  assert.deepEqual(commented.filter?.parts, ["(\na = 1 -- the first\n)"]);
  assert.equal((await fixture.readTable({ table: "pairs", filter: " " })).filter, undefined);
});

testWithPgvector("readTable() needs pgvector, in whatever schema it is", async () => {
  await using fixture = await createSearchFixture(
    "CREATE SCHEMA ext; ALTER EXTENSION vector SET SCHEMA ext; CREATE TABLE docs (id int PRIMARY KEY, body text, embedding ext.vector(2))",
  );
  const docs = await fixture.readTable({ table: "docs" });
  assert.deepEqual([docs.extension.schema, docs.vector.type], ["ext", "ext.vector"]);
  await fixture.admin.query("DROP EXTENSION vector CASCADE");
  await assert.rejects(fixture.readTable({ table: "docs", vectorColumn: "body" }), {
    message: 'Cannot search table "docs": the database does not have the extension vector',
  });
});

Deno.test("isIterative() holds for pgvector from 0.8 on", () => {
  const versions = ["0.5.1", "0.7.4", "0.8.0", "0.10.0", "1.0", "1.2.3"];
  assert.deepEqual(versions.map(isIterative), [false, false, true, true, true, true]);
});
