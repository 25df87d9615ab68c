import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { testWithPgvector } from "../../support/database.ts";
import { countedEmbedding, countsOf, createIngestFixture, type IngestFixture } from "./ingest_fixture.ts";

const nothing = { added: 0, changed: 0, unchanged: 0, removed: 0, chunksWritten: 0 };

/** Files of one chunk each. */
function files(folder: string, count: number, text = "File"): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`${folder}/${at}.txt`, `${text} number ${at}.`]),
  );
}

async function folders({ folder }: IngestFixture, ...names: readonly string[]): Promise<string[]> {
  const paths = names.map((name) => join(folder, name));
  for (const path of paths) await Deno.mkdir(path, { recursive: true });
  return paths;
}

const knownSql = `SELECT s.name || ':' || f.path FROM postern.ingested_files f
  JOIN postern.ingested_sources s ON s.id = f.source_id ORDER BY 1`;

testWithPgvector("a folder that moved is known again, and nothing is embedded", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write(files("a/docs", 12));
  await folders(fixture, "b");
  await fixture.ingest({ paths: [join(fixture.folder, "a/docs")] });
  await rename(join(fixture.folder, "a/docs"), join(fixture.folder, "b/docs"));
  await fixture.write({ "b/docs/0.txt": undefined, "b/docs/1.txt": "Another text." });
  const embedding = countedEmbedding();
  const paths = [join(fixture.folder, "b/docs")];
  assert.deepEqual((await fixture.ingest({ embedding, paths })).refusals, [
    `Cannot ingest ${fixture.folder}/b/docs as source "docs": under this name the table has ${fixture.folder}/a/docs; ` +
    'if that was moved here, add -source "docs"; if this is another folder, give it another name with -source NAME',
  ]);
  const { sources, ...summary } = await fixture.ingest({ embedding, paths, sourceName: "docs" });
  assert.deepEqual(sources, [{ name: "docs", folder: join(fixture.folder, "b/docs") }]);
  assert.deepEqual(countsOf({ sources, ...summary }), {
    added: 0,
    changed: 1,
    unchanged: 10,
    removed: 1,
    chunksWritten: 1,
  });
  assert.deepEqual(embedding.texts, ["1\n\nAnother text."]);
  assert.equal(await fixture.value("SELECT count(*) FROM docs"), "11");
  // under another name than its own, too
  await rename(join(fixture.folder, "b/docs"), join(fixture.folder, "b/texts"));
  const unnamed = await fixture.ingest({ embedding, paths: [join(fixture.folder, "b/texts")] });
  assert.deepEqual(unnamed.refusals, [
    `Cannot ingest ${fixture.folder}/b/texts as source "texts": the folder of source "docs", ` +
    `${fixture.folder}/b/docs, is not there any more; if that was moved here, add -source "docs"; if this is another ` +
    'folder, add -source "texts"',
  ]);
  const renamed = { embedding, paths: [join(fixture.folder, "b/texts")], sourceName: "docs" };
  assert.equal((await fixture.ingest(renamed)).unchanged, 11);
  assert.equal(await fixture.value("SELECT count(*) FROM docs"), "11");
});

testWithPgvector("a link to the newest release keeps its files under the name that is given", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ ...files("releases/41", 3), ...files("releases/42", 3) });
  await fixture.write({ "releases/42/2.txt": "Another text." });
  const current = join(fixture.folder, "current");
  await Deno.symlink(join(fixture.folder, "releases/41"), current);
  await fixture.ingest({ paths: [current] });
  await Deno.remove(current);
  await Deno.symlink(join(fixture.folder, "releases/42"), current);
  const summary = await fixture.ingest({ paths: [`${current}/.`], sourceName: "current" });
  assert.deepEqual(countsOf(summary), { ...nothing, changed: 1, unchanged: 2, chunksWritten: 1 });
  assert.deepEqual(await fixture.column(knownSql), ["current:0.txt", "current:1.txt", "current:2.txt"]);
});

testWithPgvector("another folder of the same name does not take a source's place", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ ...files("a/docs", 3), ...files("b/docs", 20, "Another"), ...files("c/docs", 3) });
  const [a = "", b = "", c = ""] = ["a/docs", "b/docs", "c/docs"].map((name) => join(fixture.folder, name));
  await fixture.ingest({ paths: [a] });
  const rows = () => fixture.database.query("SELECT id, source, content, xmin FROM docs ORDER BY id");
  const before = await rows();
  const embedding = countedEmbedding();
  // a confirmed removal does not say that it is the same folder
  for (const [path, isRemovalConfirmed] of [[b, false], [join(b, "0.txt"), false], [b, true]] as const) {
    const refused = await fixture.ingest({ embedding, paths: [path], isRemovalConfirmed });
    assert.deepEqual(refused.refusals, [
      `Cannot ingest ${b} as source "docs": under this name the table has ${a}; if that was moved here, add ` +
      '-source "docs"; if this is another folder, give it another name with -source NAME',
    ]);
    assert.deepEqual(countsOf(refused), nothing);
  }
  assert.deepEqual(embedding.texts, []);
  assert.deepEqual(await rows(), before);
  assert.equal((await fixture.ingest({ paths: [b], sourceName: "b" })).added, 20);
  assert.equal((await fixture.ingest({ paths: [b] })).unchanged, 20, "its folder is known now");
  // who says that it is the same source is believed, of a copy too
  assert.equal((await fixture.ingest({ paths: [c], sourceName: "docs" })).unchanged, 3);
  const [taken = ""] = (await fixture.ingest({ paths: [b], sourceName: "docs" })).refusals;
  assert.match(
    taken,
    /: the table has it as source "b", and would have the files twice; keep that name, or remove/,
  );
});

testWithPgvector("a part of a source is known as that", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "docs/a.md": "One.", "docs/api/b.md": "Two.", "docs/api/v2/c.md": "Three." });
  const [docs = "", api = ""] = ["docs", "docs/api"].map((name) => join(fixture.folder, name));
  await fixture.ingest({ paths: [docs] });
  const embedding = countedEmbedding();
  await fixture.write({ "docs/api/b.md": undefined, "docs/a.md": undefined });
  const inner = await fixture.ingest({ embedding, paths: [api] });
  assert.deepEqual(countsOf(inner), { ...nothing, unchanged: 1, removed: 1 });
  const file = await fixture.ingest({ embedding, paths: [join(api, "v2/c.md")] });
  assert.deepEqual([file.unchanged, file.sources[0]?.name], [1, "docs"]);
  assert.deepEqual(embedding.texts, []);
  assert.deepEqual(await fixture.column(knownSql), ["docs:a.md", "docs:api/v2/c.md"]);
});

testWithPgvector("a folder is refused while the table has its files from another source", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "docs/a.md": "One.", "docs/api/b.md": "Two.", "docs/api/v2/c.md": "Three." });
  const [docs = "", api = ""] = ["docs", "docs/api"].map((name) => join(fixture.folder, name));
  await fixture.ingest({ paths: [api] });
  const before = await fixture.column(knownSql);
  const remove = 'remove that source first, with -source "api" and -confirm-removal without a PATH';
  const inside = `the table has ${api} as source "api", and would have the files twice; ${remove}`;
  const same =
    `the table has it as source "api", and would have the files twice; keep that name, or ${remove}`;
  for (
    const [options, expected] of [
      [{ paths: [docs] }, `Cannot ingest ${docs} as source "docs": ${inside}`],
      [{ paths: [docs], sourceName: "all" }, `Cannot ingest ${docs} as source "all": ${inside}`],
      [{ paths: [api], sourceName: "other" }, `Cannot ingest ${api} as source "other": ${same}`],
      [
        { paths: [], configured: [{ name: "own", path: api }] },
        `Cannot ingest ${api} as source "own": ${same}`,
      ],
    ] as const
  ) {
    for (const isRemovalConfirmed of [false, true]) {
      const refused = await fixture.ingest({ ...options, isRemovalConfirmed });
      assert.deepEqual([countsOf(refused), refused.refusals], [nothing, [expected]]);
    }
  }
  assert.deepEqual(await fixture.column(knownSql), before);
  // as the sentence says
  await fixture.ingest({ paths: [], sourceName: "api", isRemovalConfirmed: true });
  assert.equal((await fixture.ingest({ paths: [docs] })).added, 3);
  assert.deepEqual(await fixture.column(knownSql), ["docs:a.md", "docs:api/b.md", "docs:api/v2/c.md"]);
});

testWithPgvector("a folder is refused too where the files in it have other names now", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "docs/a.md": "One.", "docs/api/b.md": "Two." });
  const [docs = "", api = ""] = ["docs", "docs/api"].map((name) => join(fixture.folder, name));
  await fixture.ingest({ paths: [api] });
  await rename(join(api, "b.md"), join(api, "c.md"));
  for (const options of [{ paths: [docs] }, { paths: [api], sourceName: "other" }]) {
    const [refusal = ""] = (await fixture.ingest(options)).refusals;
    assert.match(refusal, / as source "api", and would have the files twice; /);
  }
  assert.deepEqual(await fixture.column(knownSql), ["api:b.md"]);
});

testWithPgvector("a source elsewhere that gets another name is refused until it is removed", async () => {
  await using fixture = await createIngestFixture();
  // whoever reads it keeps the bytes
  const read = () => Promise.resolve({ bytes: Uint8Array.of(84, 101, 120, 116), mark: "1" });
  const remote = { list: () => Promise.resolve([{ path: "a.md", mark: "1", read }]) };
  const sourceOf = (name: string) => ({ paths: [], configured: [{ name, path: "git:/repository", remote }] });
  await fixture.ingest(sourceOf("old"));
  const [refusal = ""] = (await fixture.ingest(sourceOf("new"))).refusals;
  assert.match(
    refusal,
    /the table has it as source "old", and would have the files twice; keep that name, or remove/,
  );
  await fixture.ingest({ ...sourceOf("new"), sourceName: "old", isRemovalConfirmed: true });
  assert.equal((await fixture.ingest(sourceOf("new"))).added, 1);
  assert.deepEqual(await fixture.column(knownSql), ["new:a.md"]);
});

testWithPgvector("a source that moved out of a folder is not taken in by it in the same run", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "docs/a.md": "One.", "docs/api/b.md": "Two.", "docs/api/c.md": "Three." });
  await folders(fixture, "other");
  const [docs = "", inner = "", outer = ""] = ["docs", "docs/api", "other/api"]
    .map((name) => join(fixture.folder, name));
  await fixture.ingest({ paths: [inner] });
  await rename(inner, outer);
  await fixture.ingest({ paths: [outer], sourceName: "api" });
  const both = await fixture.ingest({ paths: [docs, outer] });
  assert.deepEqual(countsOf(both), { ...nothing, added: 1, unchanged: 2, chunksWritten: 1 });
  assert.deepEqual(await fixture.column(knownSql), ["api:b.md", "api:c.md", "docs:a.md"]);
});

testWithPgvector(
  "a file under a name of its own does not rename the source of another one beside it",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write({ "docs/a.md": "One.", "docs/b.md": "Two." });
    const [one = "", two = ""] = ["docs/a.md", "docs/b.md"].map((name) => join(fixture.folder, name));
    await fixture.ingest({ paths: [one] });
    await fixture.ingest({ paths: [two], sourceName: "other" });
    assert.deepEqual(await fixture.column(knownSql), ["docs:a.md", "other:b.md"]);
    const [twice = ""] = (await fixture.ingest({ paths: [one], sourceName: "other" })).refusals;
    assert.match(twice, /the table has it as source "docs", and would have the files twice/);
  },
);

testWithPgvector("a file does not take in a source whose folder had its name", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "docs/notes/a.md": "One." });
  const notes = join(fixture.folder, "docs/notes");
  await fixture.ingest({ paths: [notes] });
  await Deno.remove(notes, { recursive: true });
  await fixture.write({ "docs/notes": "Two." });
  const file = await fixture.ingest({ paths: [notes], sourceName: "docs" });
  assert.deepEqual(countsOf(file), { ...nothing, added: 1, chunksWritten: 1 });
  assert.deepEqual(await fixture.column(knownSql), ["docs:notes", "notes:a.md"]);
});

testWithPgvector(
  "configured sources are ingested without a path, and a path in one is a part of it",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write({ ...files("one", 2), ...files("two", 2, "Other") });
    const [one = "", two = ""] = ["one", "two"].map((name) => join(fixture.folder, name));
    const configured = [{ name: "first", path: one }, { name: "second", path: two }];
    assert.equal((await fixture.ingest({ paths: [], configured })).added, 4);
    assert.deepEqual(await fixture.column(knownSql), [
      "first:0.txt",
      "first:1.txt",
      "second:0.txt",
      "second:1.txt",
    ]);
    assert.equal((await fixture.ingest({ paths: [one], configured })).unchanged, 2);
    assert.equal((await fixture.ingest({ paths: [], sourceName: "second", configured })).unchanged, 2);
    // one that is gone keeps no other from being ingested
    await fixture.write({ "two/2.txt": "More." });
    await rename(one, `${one}-unmounted`);
    const without = await fixture.ingest({ paths: [], configured });
    assert.deepEqual(countsOf(without), { ...nothing, added: 1, unchanged: 2, chunksWritten: 1 });
    assert.deepEqual(without.refusals, [`Cannot ingest ${one}: there is no such file or folder`]);
    assert.deepEqual(without.notices, [], "its folder is missing, but it is configured");
    await assert.rejects(fixture.ingest({ paths: [] }), {
      code: "invalid",
      message: "Cannot ingest: give a PATH, or list sources of the pipeline",
    });
    await assert.rejects(fixture.ingest({ paths: [], sourceName: "third", configured }), {
      message:
        'Cannot ingest source "third": the pipeline has sources "first", "second"; give the PATH of its folder, ' +
        "or add -confirm-removal to remove what the table has of it",
    });
    await assert.rejects(
      fixture.ingest({ paths: [], configured: [...configured, { name: "all", path: fixture.folder }] }),
      {
        message:
          `Cannot ingest: source "second" (${two}) lies in source "all" (${fixture.folder}), so its files would ` +
          "be in the table twice; take one of the two out of the configuration",
      },
    );
  },
);

testWithPgvector(
  "sources of another pipeline with the same table are neither left over nor to be removed",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write({ ...files("one", 2), ...files("two", 2, "Other") });
    const [one = "", two = ""] = ["one", "two"].map((name) => join(fixture.folder, name));
    await fixture.ingest({ paths: [two] });
    const configured = [{ name: "one", path: one }, { name: "two", path: two, otherPipeline: "wiki" }];
    const summary = await fixture.ingest({ paths: [], configured });
    assert.deepEqual([summary.sources, summary.notices], [[{ name: "one", folder: one }], []]);
    const removal = { paths: [], configured, sourceName: "two", isRemovalConfirmed: true };
    for (const isRemovalConfirmed of [true, false]) {
      await assert.rejects(fixture.ingest({ ...removal, isRemovalConfirmed }), {
        code: "invalid",
        message:
          'Cannot ingest source "two": it is configured for pipeline "wiki"; name that pipeline after -ingest',
      });
    }
    assert.equal((await fixture.ingest({ paths: [two], configured })).unchanged, 2);
  },
);

testWithPgvector("a source that is left over is told of, and removed", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ ...files("one", 2), ...files("two", 2, "Other") });
  const [one = "", two = ""] = ["one", "two"].map((name) => join(fixture.folder, name));
  await fixture.ingest({ paths: [one, two] });
  const embedding = countedEmbedding();
  const left = await fixture.ingest({ embedding, paths: [], configured: [{ name: "one", path: one }] });
  assert.deepEqual(left.notices, [
    'Source "two" is not in the configuration, and its files (2) stay; to remove them, give -source "two" and ' +
    "-confirm-removal without a PATH",
  ]);
  assert.deepEqual(embedding.texts, []);
  assert.deepEqual(await fixture.column(knownSql), ["one:0.txt", "one:1.txt", "two:0.txt", "two:1.txt"]);
  assert.equal(
    (await fixture.ingest({ paths: [], sourceName: "two", isRemovalConfirmed: true })).removed,
    2,
  );
  assert.deepEqual(await fixture.column(knownSql), ["one:0.txt", "one:1.txt"]);
  assert.deepEqual(await fixture.column("SELECT name FROM postern.ingested_sources"), ["one"]);
});

testWithPgvector("names that differ only in Unicode's normalisation are the same name", async () => {
  await using fixture = await createIngestFixture();
  const [nfc, nfd] = ["Gr\u00f6\u00dfe.txt", "Gro\u0308\u00dfe.txt"] as const;
  await fixture.write({ [`docs/${nfd}`]: "Text." });
  const paths = [join(fixture.folder, "docs")];
  await fixture.ingest({ paths });
  await fixture.write({ [`docs/${nfd}`]: undefined, [`docs/${nfc}`]: "Text." });
  assert.deepEqual(countsOf(await fixture.ingest({ paths })), { ...nothing, unchanged: 1 });
  assert.deepEqual(await fixture.column("SELECT source FROM docs"), [nfc]);
  await fixture.write({ [`docs/${nfd}`]: "Another text." });
  assert.deepEqual((await fixture.ingest({ paths })).skipped, [
    { path: nfc, reason: "another file has the same name in Unicode" },
  ]);
});
