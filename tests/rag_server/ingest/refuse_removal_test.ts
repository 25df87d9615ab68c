import assert from "node:assert/strict";
import { join } from "node:path";
import { testWithPgvector } from "../../support/database.ts";
import { countedEmbedding, countsOf, createIngestFixture } from "./ingest_fixture.ts";

const nothing = { added: 0, changed: 0, unchanged: 0, removed: 0, chunksWritten: 0 };

/** Files of one chunk each. */
const files = (folder: string, count: number, text = "File") =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`${folder}/${at}.txt`, `${text} number ${at}.`]),
  );
const gone = (folder: string, from: number, to: number) =>
  Object.fromEntries(
    Array.from({ length: to - from }, (_, at) => [`${folder}/${from + at}.txt`, undefined]),
  );

testWithPgvector("an empty folder removes nothing until that is confirmed", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ ...files("docs", 12), ...files("wiki", 2) });
  const [docs = "", wiki = ""] = ["docs", "wiki"].map((name) => join(fixture.folder, name));
  await fixture.ingest({ paths: [docs, wiki] });
  const rows = () => fixture.database.query("SELECT id, xmin FROM docs WHERE content !~ '^new' ORDER BY id");
  const before = await rows();
  await fixture.write({ ...gone("docs", 0, 12), "docs/new.txt": "New.", "wiki/new.txt": "New." });
  const embedding = countedEmbedding();
  const refused = await fixture.ingest({ embedding, paths: [docs, wiki] });
  const refusal =
    `Cannot remove 12 of the 12 known files of source "docs" (0.txt, 1.txt, 10.txt, …): that is most of them; look ` +
    `whether ${docs} is complete, and if it is, run again with -confirm-removal`;
  assert.deepEqual(refused.refusals, [refusal]);
  // what is new there waits, and the other source does not
  assert.deepEqual(countsOf(refused), { ...nothing, added: 1, unchanged: 2, chunksWritten: 1 });
  assert.equal(embedding.texts.length, 1);
  assert.deepEqual(await rows(), before);
  const dry = await fixture.ingest({ paths: [docs], isDryRun: true });
  assert.deepEqual([dry.refusals, countsOf(dry)], [[refusal], nothing]);
  const confirmed = await fixture.ingest({ paths: [docs], isRemovalConfirmed: true });
  assert.deepEqual(countsOf(confirmed), { ...nothing, added: 1, removed: 12, chunksWritten: 1 });
  assert.equal(await fixture.value("SELECT count(*) FROM docs"), "4");
});

testWithPgvector(
  "half of the files may go, and up to nine, but not most of a folder in a source",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write({ ...files("docs", 20), ...files("docs/api", 10), ...files("few", 9) });
    const [docs = "", api = "", few = ""] = ["docs", "docs/api", "few"].map((name) =>
      join(fixture.folder, name)
    );
    await fixture.ingest({ paths: [docs, few] });
    await fixture.write({ ...gone("few", 0, 9), ...gone("docs/api", 0, 10) });
    assert.equal((await fixture.ingest({ paths: [few] })).removed, 9);
    const part = await fixture.ingest({ paths: [api] });
    assert.match(part.refusals[0] ?? "", /^Cannot remove 10 of the 10 known files of source "docs"/);
    await fixture.write(gone("docs", 0, 5));
    const half = await fixture.ingest({ paths: [docs] });
    assert.deepEqual([half.refusals, half.removed], [[], 15]);
  },
);

testWithPgvector("a file that cannot be looked at is not gone", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ ...files("docs", 2), ...files("docs/api", 12) });
  const docs = join(fixture.folder, "docs");
  await fixture.ingest({ paths: [docs] });
  // as where a share does not answer
  await Deno.remove(join(docs, "api"), { recursive: true });
  const listed = Deno.readDir;
  Deno.readDir = (path) => {
    if (String(path) === join(docs, "api")) throw new Error("Input/output error (os error 5)");
    return listed(path);
  };
  try {
    await Deno.mkdir(join(docs, "api"));
    const summary = await fixture.ingest({ paths: [docs] });
    assert.deepEqual(countsOf(summary), { ...nothing, unchanged: 2 });
    assert.deepEqual(summary.failed, [{ path: "api", reason: "Input/output error (os error 5)" }]);
  } finally {
    Deno.readDir = listed;
  }
});

testWithPgvector("files that no longer hold text are removed, but not most of them at once", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write(files("docs", 12));
  const paths = [join(fixture.folder, "docs")];
  await fixture.ingest({ paths });
  const titles = Object.fromEntries(Object.keys(files("docs", 12)).map((name) => [name, "\n"]));
  await fixture.write({ ...titles, "docs/0.txt": "Another text." });
  const refused = await fixture.ingest({ paths });
  assert.match(refused.refusals[0] ?? "", /^Cannot remove 11 of the 12 known files/);
  assert.deepEqual(countsOf(refused), { ...nothing, changed: 1, chunksWritten: 1 });
  assert.equal((await fixture.ingest({ paths, isRemovalConfirmed: true })).removed, 11);
});
