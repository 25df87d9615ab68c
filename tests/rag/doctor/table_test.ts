import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { testWithPostgres } from "../../support/database.ts";
import { assertFault, assertFine, createDoctorFixture, healthyTable } from "./fixture.ts";

testWithPostgres(
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
    assert.match(notes[2]?.[1] ?? "", /^PostgreSQL \d+.* answers at 127\.0\.0\.1:\d+$/);
    assert.match(notes[4]?.[1] ?? "", /^pgvector 0\.\d+\.\d+$/);
    assert.deepEqual(notes.toSpliced(4, 1).toSpliced(2, 1), [
      ["embedding by test/three", "3 dimensions"],
      ["completion by local/extractive", undefined],
      ["role", "fault"],
      ["table docs", "about 20 rows"],
      ["dimensions of docs", "3 dimensions, as the provider's"],
      ["id of docs", "id, unique"],
      ["vectors of docs", "every row that was looked at has one"],
      ["vector index of docs", "none, and for about 20 rows none is needed"],
      ["keyword index of docs", "none, and for about 20 rows none is needed"],
      ["statistics of docs", undefined],
      ["search of docs", notes.at(-1)?.[1]],
    ]);
    assert.match(notes.at(-1)?.[1] ?? "", /^10 documents in \d+ ms$/);
  },
);

testWithPostgres("the doctor finds a database without pgvector", async () => {
  await using fixture = await createDoctorFixture("DROP EXTENSION vector");
  const results = await fixture.examine();
  assert.deepEqual(results.filter(({ check }) => check.startsWith("table")), []);
  const look = () => fixture.look("pgvector");
  await fixture.apply(assertFault(await look(), "error", "The database does not have the extension vector"));
  assertFine(await look());
});

testWithPostgres(
  "the doctor finds a table that is not there, and gives the statement that makes it",
  async () => {
    await using fixture = await createDoctorFixture("");
    for (const table of ["docs", '"Odd ""Name"', "odd name; --"]) {
      const look = () => fixture.look(`table ${table}`, { table });
      await fixture.apply(assertFault(await look(), "error", `There is no table or view "${table}"`));
      assertFine(await look());
    }
    assert.deepEqual(
      assertFault(await fixture.look("vectors of docs"), "warning", "There are no documents yet"),
      "server -ingest handbook FOLDER",
    );
  },
);

testWithPostgres("the doctor finds columns that are missing or of another type", async () => {
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
  for (const [table, findings] of cases) {
    const look = () => fixture.look("table docs", table);
    const faults = (await look()).flatMap((result) => result.ok ? [] : [result]);
    assert.deepEqual(faults.map(({ finding }) => finding), findings);
    for (const { remedy } of faults) await fixture.apply(remedy);
    assertFine(await look());
  }
});

testWithPostgres("the doctor finds what the role may not read", async () => {
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

testWithPostgres("the doctor finds a filter that fails", async () => {
  await using fixture = await createDoctorFixture(healthyTable);
  const results = await fixture.look("table docs", { filter: "kind = 'a'" });
  const finding = 'Cannot search table "docs": its filter fails: column "kind" does not exist';
  assert.equal(
    assertFault(results, "error", finding),
    "-- Correct the table's settings in the configuration",
  );
});

testWithPostgres("the doctor finds vectors of other dimensions than the provider's", async () => {
  await using fixture = await createDoctorFixture(
    `CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(5), loose vector, sparse sparsevec);
    INSERT INTO docs VALUES (1, 'a', '[1,2,3,4,5]', '[1,2]', '{1:1}/4')`,
  );
  for (const [vectorColumn, stored] of [["embedding", 5], ["loose", 2], ["sparse", 4]] as const) {
    const look = () => fixture.look("dimensions of docs", { vectorColumn });
    const finding = `The vectors in "${vectorColumn}" have ${stored} dimensions, the provider's 3`;
    const remedy = assertFault(await look(), "error", finding);
    assert.ok(remedy.endsWith("server -ingest handbook FOLDER"));
    await fixture.apply(remedy);
    assertFine(await look());
  }
});

testWithPostgres("the doctor finds rows without a vector", async () => {
  await using fixture = await createDoctorFixture(
    `${healthyTable} UPDATE docs SET embedding = NULL WHERE id < 6`,
  );
  const look = (filter?: string) => fixture.look("vectors of docs", filter === undefined ? {} : { filter });
  const finding = "Of 20 rows, 5 have no vector: only their words can be found";
  assert.equal(assertFault(await look(), "warning", finding), "server -ingest handbook FOLDER");
  assertFine(await look("id > 5"));
  assertFault(await look("id > 50"), "warning", "No document meets the table's filter");
  await fixture.admin.query("UPDATE docs SET embedding = NULL");
  assertFault(await look(), "error", "Of 20 rows, 20 have no vector: only their words can be found");
});

testWithPostgres("the doctor finds documents without an id, or with one that is not unique", async () => {
  await using fixture = await createDoctorFixture(
    "CREATE TABLE docs (code text, body text, embedding vector(3)); INSERT INTO docs VALUES ('a', 'x'), ('a', 'y'), ('b', 'z')",
  );
  const byCode = () => fixture.look("id of docs", { idColumn: "code" });
  assertFault(
    await byCode(),
    "warning",
    '"code" is not unique ("a" is there twice): of the rows with one id, an answer shows one',
  );
  await fixture.admin.query("UPDATE docs SET code = body");
  const slow = 'No unique index is on "code" alone: each answer reads the table to find its documents';
  await fixture.apply(assertFault(await byCode(), "warning", slow));
  assertFine(await byCode());
  const missing = "The documents have no id: sources come without one, and equal texts count as one document";
  await fixture.apply(assertFault(await fixture.look("id of docs"), "warning", missing));
  assertFine(await fixture.look("id of docs"));
  await fixture.admin.query("CREATE VIEW seen AS SELECT body, embedding, code FROM docs");
  assertFault(await fixture.look("id of seen", { table: "seen" }), "warning", missing);
  assertFine(await fixture.look("id of seen", { table: "seen", idColumn: "code" }));
});
