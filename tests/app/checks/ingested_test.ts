import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { silentLogger } from "../../../src/core/logger.ts";
import { localEmbedding } from "../../../src/llm/local/local_embedding.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { ingest } from "../../../src/rag_server/ingest/ingest.ts";
import { testWithPgvector } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { assertFault, assertFine, createDoctorFixture } from "./fixture.ts";

/** A table of others' rows, into which two files were ingested. */
const setUp =
  `CREATE TABLE docs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text, embedding vector(256));
  INSERT INTO docs (body) VALUES ('of others')`;
const table = { table: "docs", textColumn: "body", vectorColumn: "embedding" };

async function createFixture(changes: Parameters<typeof createDoctorFixture>[1] = {}) {
  const fixture = await createDoctorFixture(setUp, changes);
  const folder = await Deno.realPath(await Deno.makeTempDir());
  await Deno.writeTextFile(join(folder, "a.md"), "# Whales\n\nBlue whales sing.\n");
  await Deno.writeTextFile(join(folder, "b.md"), "# Foxes\n\nRed foxes jump.\n");
  return {
    ...fixture,
    async ingest() {
      const { signal } = new AbortController();
      const connection = await connect(databaseOptions(fixture.admin.url), { signal, logger: silentLogger });
      try {
        const embedding = localEmbedding();
        return await ingest({ connection, table, embedding, paths: [folder], signal, logger: silentLogger });
      } finally {
        await connection.close();
      }
    },
    look: (check: string, others: readonly string[] = []) =>
      fixture.examine({}, {
        embedding: localEmbedding(),
        database: fixture.database,
        ...(others.length > 0 && { tables: [...others, "docs"].map((name) => ({ ...table, table: name })) }),
      }).then((results) => results.filter((result) => result.check === check)),
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

testWithPgvector("rows that one session wrote and analyzed are counted once", async () => {
  await using fixture = await createFixture();
  await fixture.admin.query("DROP TABLE docs");
  await fixture.ingest();
  const [found] = await fixture.look("table docs");
  assert.equal(found?.ok && found.note, "about 2 rows");
});

testWithPgvector(
  "rows that -ingest wrote get their vectors back by it, and the others are left as they are",
  async () => {
    await using fixture = await createFixture();
    await fixture.ingest();
    const rows = () =>
      fixture.admin.query('SELECT body, embedding IS NULL FROM docs ORDER BY body COLLATE "C"');
    const before = await rows();
    assert.equal(before.length, 3);
    await fixture.admin.query("UPDATE docs SET embedding = NULL WHERE body ~ 'foxes'");
    assert.equal((await fixture.ingest()).unchanged, 2, "a run does not see that vectors are gone");
    const message = "Of 3 rows, 2 have no vector: questions find them only by keywords";
    const remedy = assertFault(await fixture.look("vectors of docs"), "warning", message);
    assert.equal(remedy.split("\n").filter((line) => line === "server -ingest handbook FOLDER").length, 1);
    assert.doesNotMatch(remedy, /DELETE|DROP|ALTER|TRUNCATE/);
    await fixture.apply(remedy);
    const { changed, chunksWritten } = await fixture.ingest();
    assert.deepEqual([changed, chunksWritten], [1, 1]);
    assert.deepEqual(await rows(), before);
    // -ingest writes to the first table alone
    await fixture.admin.query("CREATE TABLE first (LIKE docs INCLUDING ALL)");
    const second = await fixture.look("vectors of docs", ["first"]);
    assert.doesNotMatch(
      assertFault(second, "warning", "Of 3 rows, 1 have no vector: questions find them only by keywords"),
      /-ingest/,
    );
  },
);

testWithPgvector("a table of -ingest with other dimensions is filled anew beside the old one", async () => {
  await using fixture = await createFixture();
  await fixture.ingest();
  const results = (await fixture.examine()).filter(({ check }) => check === "dimensions of docs");
  assert.deepEqual(
    assertFault(
      results,
      "error",
      'The vectors in "embedding" have 256 dimensions, but the provider\'s have 3',
    ).split(
      "\n",
    ),
    [
      "-- Set embedding_llm to the model that made the vectors, with its dimensions; or name a new table for the pipeline in the configuration, then make and fill it:",
      "server -ingest handbook FOLDER",
    ],
  );
  const configured = (await fixture.examine({}, { hasSources: true })).filter(({ check }) =>
    check === "dimensions of docs"
  );
  assert.match(assertFault(configured, "error", /have 256 dimensions/), /\nserver -ingest handbook$/);
  assertFine(await fixture.look("dimensions of docs"));
});

testWithPgvector("a role that may not see what -ingest wrote is told so", async () => {
  const role = `postern_doctor_${randomBytes(6).toString("hex")}`;
  await using fixture = await createFixture({ user: role });
  await fixture.admin.query(`CREATE ROLE ${role} LOGIN; GRANT SELECT ON docs TO ${role}`);
  try {
    await fixture.ingest();
    const remedy = assertFault(
      await fixture.look("vectors of docs"),
      "warning",
      /^Of 3 rows, 1 have no vector/,
    );
    assert.equal(
      remedy,
      `-- Embed these rows with the tool that wrote them; role ${role} may not see whether -ingest wrote them:
SELECT "id" FROM public.docs AS source WHERE (embedding IS NULL AND body::text ~ '\\S');`,
    );
  } finally {
    await fixture.admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});
