import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { testWithPgvector } from "../../support/database.ts";
import { assertFault, assertFine, createDoctorFixture, healthyTable } from "./fixture.ts";

testWithPgvector(
  "the doctor finds nothing wrong with a healthy pipeline but a superuser's role",
  async () => {
    await using fixture = await createDoctorFixture(healthyTable);
    const results = await fixture.examine();
    const remedy = assertFault(results, "warning", 'Role "postgres" of database "shop" is a superuser');
    assert.deepEqual(remedy.split("\n"), [
      "CREATE ROLE postern_reader LOGIN PASSWORD '…';",
      "GRANT USAGE ON SCHEMA public TO postern_reader;",
      "GRANT SELECT ON docs TO postern_reader;",
      "-- Then set it as the database's user. -ingest and -index-pipeline need a role that may write.",
    ]);
    const notes = results.map((result) => [result.check, result.ok ? result.note : "fault"]);
    assert.match(notes[2]?.[1] ?? "", /^PostgreSQL \d+.* answers (at 127\.0\.0\.1:\d+|over a local socket)$/);
    assert.match(notes[4]?.[1] ?? "", /^at most \d+; pool_max_conns is 4 for all of its callers together$/);
    assert.match(notes[6]?.[1] ?? "", /^pgvector 0\.\d+\.\d+$/);
    assert.deepEqual(notes.toSpliced(6, 1).toSpliced(4, 1).toSpliced(2, 1), [
      ["embedding by test/three", "3 dimensions"],
      ["completion by local/extractive", undefined],
      ["role", "fault"],
      ["TLS", "not encrypted, but it stays on this machine"],
      ["model", "test/three, in column embedding"],
      ["table docs", "about 20 rows"],
      ["dimensions of docs", "3 dimensions, as the provider's"],
      ["id of docs", "id, unique"],
      ["vectors of docs", "every row with a text that was read has one"],
      ["vector index of docs", "none; about 20 rows do not need one"],
      ["keyword index of docs", "none; about 20 rows do not need one"],
      ["language of docs", undefined],
      ["statistics of docs", undefined],
      ["search of docs", notes.at(-1)?.[1]],
    ]);
    assert.match(notes.at(-1)?.[1] ?? "", /^10 documents in \d+ ms$/);
  },
);

testWithPgvector("what a role needs is told of tables whatever their names", async () => {
  await using fixture = await createDoctorFixture("");
  const grants = async (table: string) =>
    assertFault(await fixture.look("role", { table }), "warning", /superuser/).split("\n").slice(1, -1);
  assert.deepEqual(await grants("App.docs"), [
    "GRANT USAGE ON SCHEMA App TO postern_reader;",
    "GRANT SELECT ON App.docs TO postern_reader;",
  ]);
  for (const table of ["My Schema.Odd.Table", 'My Schema."Odd"']) {
    assert.deepEqual(await grants(table), []);
  }
  for (const table of ["My Schema.Odd Table", '"My Schema"."Odd Table"']) {
    assert.deepEqual(await grants(table), [
      'GRANT USAGE ON SCHEMA "My Schema" TO postern_reader;',
      'GRANT SELECT ON "My Schema"."Odd Table" TO postern_reader;',
    ]);
  }
});

testWithPgvector("the doctor finds a database without pgvector", async () => {
  await using fixture = await createDoctorFixture("DROP EXTENSION vector");
  const results = await fixture.examine();
  assert.deepEqual(results.filter(({ check }) => check.startsWith("table")), []);
  const look = () => fixture.look("pgvector");
  await fixture.apply(assertFault(await look(), "error", "The database does not have the extension vector"));
  assertFine(await look());
});

testWithPgvector(
  "the doctor finds a table that is not there, and gives the statement that makes it",
  async () => {
    await using fixture = await createDoctorFixture("");
    const names = ["docs", '"Odd ""Name"', "odd name; --", "Order", "order", "new one.Table", 'app."Docs"'];
    for (const table of names) {
      const look = () => fixture.look(`table ${table}`, { table });
      await fixture.apply(
        assertFault(await look(), "error", `There is no table or view ${inMessage(table)}`),
      );
      assertFine(await look());
    }
    assert.deepEqual(
      assertFault(await fixture.look("vectors of docs"), "warning", "There are no documents yet"),
      "server -ingest handbook FOLDER",
    );
    for (const table of ['My Schema.Odd "Table"', "a.b.c", "a..b", '"open']) {
      const remedy = assertFault(
        await fixture.look(`table ${table}`, { table }),
        "error",
        `There is no table or view ${inMessage(table)}`,
      );
      assert.equal(
        remedy,
        `-- No table can have this name: write it as documents, app.documents, or quoted as in "App"."Odd ""Name"""`,
      );
    }
  },
);

testWithPgvector("the doctor finds columns that are missing or of another type", async () => {
  await using fixture = await createDoctorFixture(
    "CREATE TABLE docs (key text, meta jsonb, points float8[], words text); INSERT INTO docs VALUES ('a', '{}', '{1,2,3}', '[1,2,3]')",
  );
  const cases = [
    [{ textColumn: "text", vectorColumn: "v", idColumn: "no" }, [
      'public.docs has no column "text"',
      'public.docs has no column "v"',
      'public.docs has no column "no"',
    ]],
    [{ textColumn: "meta", vectorColumn: "points" }, [
      'Column "meta" of public.docs has type jsonb; expected text',
      'Column "points" of public.docs has type double precision[]; expected vector, halfvec or sparsevec',
    ]],
    [{ textColumn: "key", vectorColumn: "words" }, [
      'Column "words" of public.docs has type text; expected vector, halfvec or sparsevec',
    ]],
  ] as const;
  for (const [table, messages] of cases) {
    const look = () => fixture.look("table docs", table);
    const faults = (await look()).flatMap((result) => result.ok ? [] : [result]);
    assert.deepEqual(faults.map(({ message }) => message), messages);
    for (const { remedy } of faults) await fixture.apply(remedy);
    assertFine(await look());
  }
});

testWithPgvector("the doctor finds what the role may not read", async () => {
  // roles belong to the whole server
  const role = `postern_doctor_${randomBytes(6).toString("hex")}`;
  await using fixture = await createDoctorFixture(
    `CREATE SCHEMA app; CREATE TABLE app.docs (id int PRIMARY KEY, body text, embedding vector(3), kind text);
    CREATE ROLE ${role} LOGIN`,
    { user: role },
  );
  try {
    const look = () => fixture.look("table app.docs", { table: "app.docs", filter: "kind = 'a'" });
    const usage = assertFault(await look(), "error", `Role ${role} may not use schema app`);
    assert.equal(usage, `GRANT USAGE ON SCHEMA app TO ${role};`);
    await fixture.apply(usage);
    await fixture.apply(
      assertFault(await look(), "error", `Role ${role} may not read app.docs: "body", "embedding"`),
    );
    assertFine(await look());
    assertFine(await fixture.look("role", { table: "app.docs" }));
  } finally {
    await fixture.admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

testWithPgvector("the doctor finds a filter that fails", async () => {
  await using fixture = await createDoctorFixture(healthyTable);
  const results = await fixture.look("table docs", { filter: "kind = 'a'" });
  const message = 'Cannot search table "docs": its filter fails: column "kind" does not exist';
  assert.equal(
    assertFault(results, "error", message),
    "-- Correct the table's settings in the configuration",
  );
});

testWithPgvector(
  "what columns a table has not, and what is no table, get SQL that runs, or words",
  async () => {
    await using fixture = await createDoctorFixture(
      `CREATE TABLE parted (day date) PARTITION BY LIST (day); CREATE TABLE parted_1 PARTITION OF parted DEFAULT;
    INSERT INTO parted VALUES ('2026-01-01'), ('2026-01-02');
    CREATE TABLE docs (body text); CREATE VIEW seen AS SELECT 1 AS number; CREATE MATERIALIZED VIEW kept AS SELECT * FROM seen`,
    );
    for (const table of ["parted", "docs"]) {
      const look = () => fixture.look(`table ${table}`, { table, idColumn: "key" });
      for (const result of await look()) if (!result.ok) await fixture.apply(result.remedy);
      assertFine(await look());
    }
    for (const table of ["seen", "kept"]) {
      for (const textColumn of ["body", "number"]) {
        const results = await fixture.look(`table ${table}`, { table, textColumn, idColumn: "key" });
        assert.equal(results.length, 3);
        for (const result of results) {
          assert.ok(!result.ok);
          assert.ok(result.remedy.split("\n").every((line) => line.startsWith("-- ")), result.remedy);
        }
      }
    }
  },
);

testWithPgvector(
  "the doctor finds vectors of other dimensions than the provider's, and touches none",
  async () => {
    await using fixture = await createDoctorFixture(
      `CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(5), loose vector, sparse sparsevec);
    INSERT INTO docs VALUES (1, 'a', '[1,2,3,4,5]', '[1,2]', '{1:1}/4')`,
    );
    for (const [vectorColumn, stored] of [["embedding", 5], ["loose", 2], ["sparse", 4]] as const) {
      const message = `The vectors in "${vectorColumn}" have ${stored} dimensions, but the provider's have 3`;
      const results = await fixture.look("dimensions of docs", { vectorColumn });
      assert.deepEqual(assertFault(results, "error", message).split("\n"), [
        "-- Set embedding_llm to the model that made the vectors, with its dimensions,",
        "-- or embed every row again with the configured model, by the tool that wrote the vectors",
      ]);
    }
  },
);

testWithPgvector(
  "the doctor tells the lengths in a column that takes any, from a few rows of a large one",
  async () => {
    await using fixture = await createDoctorFixture(
      `CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector, sparse sparsevec, model text);
    INSERT INTO docs VALUES (1, 'a', '[1,2]', '{}/2', 'old'), (2, 'b', '[1]', '{}/1', 'old'), (3, 'c', '[1]', '{}/1', 'old'),
      (4, 'd', '[1,2,3]', '{}/3', 'new'), (5, 'e', NULL, NULL, 'new')`,
    );
    const check = "dimensions of docs";
    for (const vectorColumn of ["embedding", "sparse"]) {
      const look = (filter?: string) =>
        fixture.look(check, { vectorColumn, ...(filter !== undefined && { filter }) });
      const mixed =
        "Of 4 vectors that were read, 2 have 1, 1 have 2 dimensions instead of the provider's 3: questions find their rows only by keywords";
      const remedy = assertFault(await look(), "warning", mixed);
      assert.match(
        remedy,
        /^-- Embed these rows again with the configured model, by the tool that wrote them:\nSELECT "id" FROM public\.docs /,
      );
      assert.deepEqual(await fixture.admin.query(remedy), [["1"], ["2"], ["3"]]);
      const none = `The vectors in "${vectorColumn}" have 1 or 2 dimensions, but the provider's have 3`;
      assertFault(await look("model = 'old'"), "error", none);
      assertFine(await look("model = 'new'"));
      assertFine(await fixture.look("search of docs", { vectorColumn }));
    }
    await fixture.admin.query(
      `INSERT INTO docs SELECT n, 'x', '[1,2,3]' FROM generate_series(10, 50000) n; ANALYZE docs`,
    );
    const [result] = await fixture.look(check, { filter: "id > 5" });
    assert.deepEqual(result, {
      check,
      ok: true,
      note: "3 dimensions, as the provider's, in the vectors that were read; the column sets no length",
    });
  },
  "a large table",
);

testWithPgvector(
  "the doctor finds rows without a vector, and leaves those of others to their tool",
  async () => {
    await using fixture = await createDoctorFixture(
      `${healthyTable} UPDATE docs SET embedding = NULL WHERE id < 6; CREATE VIEW seen AS SELECT * FROM docs;
    CREATE MATERIALIZED VIEW kept AS SELECT * FROM docs`,
    );
    const look = (filter?: string, table = "docs") =>
      fixture.look(`vectors of ${table}`, { table, idColumn: "id", ...(filter !== undefined && { filter }) });
    const message = "Of 20 rows, 5 have no vector: questions find them only by keywords";
    for (const table of ["docs", "seen", "kept"]) {
      const remedy = assertFault(await look(undefined, table), "warning", message);
      const select =
        `SELECT "id" FROM public.${table} AS source WHERE (embedding IS NULL AND body::text ~ '\\S');`;
      assert.equal(remedy, `-- Embed these rows with the tool that wrote them:\n${select}`);
      assert.equal((await fixture.admin.query(remedy)).length, 5);
    }
    assertFine(await look("id > 5"));
    const some = await look("id > 2 -- and more");
    const remedy = assertFault(
      some,
      "warning",
      "Of 18 rows, 3 have no vector: questions find them only by keywords",
    );
    assert.equal((await fixture.admin.query(remedy)).length, 3);
    const none = assertFault(await look("id > 50"), "warning", "No document meets the table's filter");
    assert.doesNotMatch(none, /-ingest/);
    await fixture.admin.query("UPDATE docs SET embedding = NULL");
    assertFault(await look(), "error", "Of 20 rows, 20 have no vector: questions find them only by keywords");
    await fixture.admin.query("TRUNCATE docs; REFRESH MATERIALIZED VIEW kept");
    const command = "server -ingest handbook FOLDER";
    assert.equal(assertFault(await look(), "warning", "There are no documents yet"), command);
    for (const table of ["seen", "kept"]) {
      assert.doesNotMatch(
        assertFault(await look(undefined, table), "warning", "There are no documents yet"),
        /-ingest/,
      );
    }
  },
);

testWithPgvector("the doctor finds documents without an id, or with one that is not unique", async () => {
  await using fixture = await createDoctorFixture(
    "CREATE TABLE docs (code text, body text, embedding vector(3)); INSERT INTO docs VALUES ('a', 'x'), ('a', 'y'), ('b', 'z')",
  );
  const byCode = () => fixture.look("id of docs", { idColumn: "code" });
  assertFault(
    await byCode(),
    "warning",
    '"code" is not unique ("a" appears twice): an answer shows only one of the rows with the same id',
  );
  await fixture.admin.query("UPDATE docs SET code = body");
  const slow = '"code" has no unique index of its own: each answer reads the table to find its documents';
  await fixture.apply(assertFault(await byCode(), "warning", slow));
  assertFine(await byCode());
  const missing =
    "The documents have no id: sources come without an id, and equal texts count as one document";
  await fixture.apply(assertFault(await fixture.look("id of docs"), "warning", missing));
  assertFine(await fixture.look("id of docs"));
  const parted = { table: "parted" };
  await fixture.admin.query(
    `CREATE TABLE parted (day date, body text, embedding vector(3)) PARTITION BY RANGE (day);
    CREATE TABLE parted_1 PARTITION OF parted DEFAULT; INSERT INTO parted VALUES ('2026-01-01', 'x'), ('2026-01-02', 'y')`,
  );
  await fixture.apply(assertFault(await fixture.look("id of parted", parted), "warning", missing));
  assertFine(await fixture.look("id of parted", { ...parted, idColumn: "id" }));
  await fixture.admin.query(
    "ALTER TABLE parted ADD number int, ADD PRIMARY KEY (day, id); UPDATE parted SET number = id",
  );
  const byNumber = () => fixture.look("id of parted", { ...parted, idColumn: "number" });
  const bare = 'No index begins with "number": each answer reads the table to find its documents';
  await fixture.apply(assertFault(await byNumber(), "warning", bare));
  assertFine(await byNumber());
  await fixture.admin.query("CREATE VIEW seen AS SELECT body, embedding, code FROM docs");
  assertFault(await fixture.look("id of seen", { table: "seen" }), "warning", missing);
  assertFine(await fixture.look("id of seen", { table: "seen", idColumn: "code" }));
});

/** What has quotes gets no more of them. */
function inMessage(table: string): string {
  return table.includes('"') ? table : `"${table}"`;
}
