import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { pg } from "../../../src/postgres/connection.ts";
import { testWithPgvector, testWithPgvectorServer } from "../../support/database.ts";
import { formerFiles, formerReadingSql, formerRecordsSql } from "./former_records.ts";
import { countedEmbedding, countsOf, createIngestFixture, type IngestFixture } from "./ingest_fixture.ts";

async function createFormerFixture(): Promise<IngestFixture & { readonly docs: string }> {
  const fixture = await createIngestFixture();
  await fixture.write(formerFiles);
  await fixture.database.query(formerRecordsSql(fixture.folder));
  return { ...fixture, docs: join(fixture.folder, "docs") };
}

const recordsSql =
  `SELECT coalesce(s.name, '-'), f.path, coalesce(f.former_path, '-') FROM postern.ingested_files f
  LEFT JOIN postern.ingested_sources s ON s.id = f.source_id ORDER BY f.id`;
const rowsSql = "SELECT id, source, xmin, content, embedding::text FROM docs ORDER BY id";

testWithPgvector(
  "ingest() takes an earlier version's records into the source in one transaction, without embedding",
  async () => {
    await using fixture = await createFormerFixture();
    const before = await fixture.database.query(rowsSql);
    const embedding = countedEmbedding();
    const summary = await fixture.ingest({ embedding, paths: [fixture.docs] });
    assert.deepEqual(countsOf(summary), { added: 0, changed: 0, unchanged: 3, removed: 0, chunksWritten: 0 });
    assert.deepEqual([embedding.texts, summary.refusals, summary.notices], [[], [], []]);
    assert.deepEqual(await fixture.database.query(recordsSql), [
      ["docs", "api/calls.md", "-"],
      ["docs", "leave.md", "-"],
      ["docs", "api/errors.md", "-"],
      ["-", "notes.txt", `${fixture.folder}/notes.txt`],
    ]);
    assert.equal(
      await fixture.value(
        "SELECT count(DISTINCT xmin::text) FROM (SELECT xmin FROM postern.ingested_files WHERE source_id IS NOT NULL " +
          "UNION ALL SELECT xmin FROM postern.ingested_sources) renamed",
      ),
      "1",
    );
    const after = await fixture.database.query(rowsSql);
    // the one that was ingested from the inner folder, and is now known from the outer one
    assert.deepEqual(after[2]?.[1], "api/errors.md");
    assert.deepEqual([after[0], after[1], after[3]], [before[0], before[1], before[3]]);
    assert.deepEqual([after[2]?.[0], after[2]?.[3], after[2]?.[4]], [
      before[2]?.[0],
      before[2]?.[3],
      before[2]?.[4],
    ]);
    const moved = join(fixture.folder, "moved");
    await Deno.mkdir(moved);
    await rename(fixture.docs, join(moved, "docs"));
    assert.deepEqual(
      countsOf(await fixture.ingest({ embedding, paths: [join(moved, "docs")] })).unchanged,
      3,
    );
    assert.deepEqual(embedding.texts, []);
    // and the file that was given itself
    await fixture.ingest({ embedding, paths: [join(fixture.folder, "notes.txt")] });
    assert.deepEqual(embedding.texts, []);
    assert.equal(
      await fixture.value("SELECT count(*) FROM postern.ingested_files WHERE source_id IS NULL"),
      "0",
    );
    assert.equal(await fixture.value("SELECT count(*) FROM docs"), "4");
  },
);

testWithPgvector("ingest() of an inner folder knows it as a part of the one that was ingested", async () => {
  await using fixture = await createFormerFixture();
  const embedding = countedEmbedding();
  const summary = await fixture.ingest({ embedding, paths: [join(fixture.docs, "api")] });
  assert.deepEqual(summary.sources, [{ name: "docs", folder: fixture.docs }]);
  assert.equal(summary.unchanged, 2);
  assert.deepEqual(embedding.texts, []);
  assert.equal((await fixture.ingest({ embedding, paths: [fixture.docs] })).unchanged, 3);
  assert.deepEqual(embedding.texts, []);
});

testWithPgvector(
  "ingest() says what an earlier version left behind, and removes it when told to",
  async () => {
    await using fixture = await createFormerFixture();
    const moved = join(fixture.folder, "elsewhere");
    await rename(fixture.docs, moved);
    const { added, notices } = await fixture.ingest({ paths: [moved] });
    assert.equal(added, 3);
    const remedy = (folder: string) =>
      `to remove them, give -source "${folder}" and -confirm-removal without a PATH`;
    assert.deepEqual(notices, [
      `An earlier version ingested ${fixture.docs}, which is not there any more, and its files (2) stay; ` +
      remedy(fixture.docs),
      `An earlier version ingested ${fixture.docs}/api, which is not there any more, and its files (1) stay; ` +
      remedy(`${fixture.docs}/api`),
    ]);
    const removal = { paths: [], sourceName: fixture.docs, isRemovalConfirmed: true };
    assert.equal((await fixture.ingest({ ...removal, isDryRun: true })).removed, 3);
    assert.equal((await fixture.ingest(removal)).removed, 3);
    assert.deepEqual(await fixture.column("SELECT source FROM docs ORDER BY 1"), [
      "api/calls.md",
      "api/errors.md",
      "leave.md",
      "notes.txt",
    ]);
    await assert.rejects(fixture.ingest(removal), {
      code: "not_found",
      message: `Cannot remove source "${fixture.docs}": the table has no files of it`,
    });
  },
);

testWithPgvectorServer(
  "the records are migrated beside readers, and an earlier version stops at its first look",
  async () => {
    await using fixture = await createFormerFixture();
    const reader = new pg.Client({ connectionString: fixture.database.url });
    await reader.connect();
    await reader.query("BEGIN");
    assert.equal((await reader.query(formerReadingSql)).rows.length, 4);
    let isDone = false;
    const run = fixture.ingest({ paths: [fixture.docs] }).finally(() => isDone = true);
    // whoever comes while the migration waits is not held up by it for longer than its patience
    for (let at = 0; at < 5; at++) {
      assert.equal((await fixture.database.query(formerReadingSql)).length, 4);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    assert.equal(isDone, false);
    await reader.query("COMMIT");
    await reader.end();
    assert.equal((await run).unchanged, 3);
    await assert.rejects(fixture.database.query(formerReadingSql), /column f\.source does not exist/);
  },
);

testWithPgvector("a dry run reads an earlier version's records and leaves them as they are", async () => {
  await using fixture = await createFormerFixture();
  const summary = await fixture.ingest({ paths: [fixture.docs], isDryRun: true });
  assert.deepEqual(countsOf(summary), { added: 0, changed: 0, unchanged: 3, removed: 0, chunksWritten: 0 });
  assert.equal((await fixture.database.query(formerReadingSql)).length, 4);
  assert.equal(await fixture.value("SELECT to_regclass('postern.ingested_sources')"), null);
});

testWithPgvector("a role that does not own the records is refused, and nothing is changed", async () => {
  await using fixture = await createFormerFixture();
  const role = `${fixture.database.name}_writer`;
  await fixture.database.query(
    `CREATE ROLE ${role} LOGIN; GRANT USAGE, CREATE ON SCHEMA postern, public TO ${role};
    GRANT ALL ON ALL TABLES IN SCHEMA postern, public TO ${role}`,
  );
  try {
    await assert.rejects(fixture.ingest({ paths: [fixture.docs] }, role), {
      message: 'Cannot ingest into "docs": must be owner of table ingested_files',
      data: { sqlState: "42501" },
    });
    assert.equal((await fixture.database.query(formerReadingSql)).length, 4);
    assert.equal(await fixture.value("SELECT to_regclass('postern.ingested_sources')"), null);
  } finally {
    await fixture.database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

testWithPgvector(
  "ingest() knows a folder that was moved before the upgrade, if it kept its name",
  async () => {
    await using fixture = await createFormerFixture();
    await fixture.database.query("DELETE FROM postern.ingested_files WHERE path LIKE '%errors.md'");
    await Deno.mkdir(join(fixture.folder, "other"));
    const moved = join(fixture.folder, "other/docs");
    await rename(fixture.docs, moved);
    const embedding = countedEmbedding();
    const summary = await fixture.ingest({ embedding, paths: [moved] });
    assert.deepEqual(countsOf(summary), { added: 1, changed: 0, unchanged: 2, removed: 0, chunksWritten: 1 });
    assert.deepEqual([summary.notices, embedding.texts.length], [[], 1]);
    assert.deepEqual(await fixture.database.query(recordsSql), [
      ["docs", "api/calls.md", "-"],
      ["docs", "leave.md", "-"],
      ["-", "notes.txt", `${fixture.folder}/notes.txt`],
      ["docs", "api/errors.md", "-"],
    ]);
  },
);
