import assert from "node:assert/strict";
import { join } from "node:path";
import { localEmbedding } from "../../../src/llm/local/local_embedding.ts";
import { testWithPgvector } from "../../support/database.ts";
import { examplePdf } from "./formats/example_pdf.ts";
import { countedEmbedding, countsOf, createIngestFixture } from "./ingest_fixture.ts";

const sentences = (topic: string, count = 12) =>
  Array.from({ length: count }, (_, at) => `Rule ${at} says something of importance on ${topic}.`).join(" ");

const nothing = { added: 0, changed: 0, unchanged: 0, removed: 0, chunksWritten: 0 };

const handbook = {
  "leave.md": `# Leave\n\n${sentences("annual leave")}\n\n## Parental leave\n\n${sentences("parents")}\n`,
  "it/laptops.html": `<title>Laptops – Acme</title><main><h1>Laptops</h1><p>${sentences("laptops")}</main>`,
  "notes.txt": sentences("parking"),
};

testWithPgvector(
  "ingest() makes the table from a folder of files, with an index for nearest neighbours",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write({
      ...handbook,
      "scan.pdf": examplePdf([[{ text: "Fire exits are marked green.", y: 700 }]]),
    });
    const summary = await fixture.ingest();
    assert.deepEqual(countsOf(summary), { added: 4, changed: 0, unchanged: 0, removed: 0, chunksWritten: 5 });
    assert.ok(summary.promptTokens > 0);
    assert.deepEqual([summary.skipped, summary.failed, summary.fault], [[], [], undefined]);
    const rows = await fixture.database.query(
      "SELECT id, source, title, position, split_part(content, E'\\n', 1), vector_dims(embedding) FROM docs ORDER BY id",
    );
    assert.deepEqual(rows, [
      ["1", "it/laptops.html", "Laptops", "0", "Laptops", "256"],
      ["2", "leave.md", "Leave", "0", "Leave", "256"],
      ["3", "leave.md", "Leave", "1", "Leave > Parental leave", "256"],
      ["4", "notes.txt", "notes", "0", "notes", "256"],
      ["5", "scan.pdf", "scan", "0", "scan", "256"],
    ]);
    assert.deepEqual(
      await fixture.column("SELECT heading FROM docs WHERE source = 'leave.md' ORDER BY position"),
      [
        "Leave",
        "Leave > Parental leave",
      ],
    );
    assert.equal(
      await fixture.value(
        "SELECT bool_and(char_end - char_start = length(substr(content, length(heading) + 3))) FROM docs",
      ),
      "t",
    );
    assert.equal(await fixture.value("SELECT reltuples FROM pg_class WHERE oid = 'docs'::regclass"), "5");
    assert.match(
      String(
        await fixture.value(
          "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'docs'::regclass AND NOT indisprimary ORDER BY indexrelid DESC",
        ),
      ),
      /USING hnsw \(embedding (?:public\.)?vector_cosine_ops\)$/,
    );
    const { vectors } = await localEmbedding().embed({
      texts: ["How many days of parental leave?"],
      purpose: "query",
      signal: new AbortController().signal,
    });
    assert.equal(
      await fixture.value(`SELECT id FROM docs ORDER BY embedding <=> '[${vectors[0]?.join(",")}]' LIMIT 1`),
      "3",
    );
  },
);

testWithPgvector(
  "ingest() asks nothing of the provider and writes nothing where nothing has changed",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write(handbook);
    await fixture.ingest();
    const before = await fixture.database.query("SELECT xmin, ctid, id FROM docs ORDER BY id");
    const embedding = countedEmbedding();
    assert.deepEqual(countsOf(await fixture.ingest({ embedding })), {
      added: 0,
      changed: 0,
      unchanged: 3,
      removed: 0,
      chunksWritten: 0,
    });
    assert.deepEqual(embedding.texts, []);
    assert.deepEqual(await fixture.database.query("SELECT xmin, ctid, id FROM docs ORDER BY id"), before);
  },
);

testWithPgvector(
  "ingest() embeds only the chunks of a changed file that are new, and keeps the others' rows",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write(handbook);
    await fixture.ingest();
    const parental = await fixture.value("SELECT id FROM docs WHERE content LIKE 'Leave > Parental%'");
    await fixture.write({
      "leave.md": handbook["leave.md"].replace(
        "## Parental",
        `## Sick\n\n${sentences("ills")}\n\n## Parental`,
      ),
    });
    const embedding = countedEmbedding();
    const summary = await fixture.ingest({ embedding });
    assert.deepEqual(countsOf(summary), { added: 0, changed: 1, unchanged: 2, removed: 0, chunksWritten: 1 });
    assert.deepEqual(embedding.texts.map((text) => text.split("\n")[0]), ["Leave > Sick"]);
    assert.deepEqual(
      await fixture.database.query(
        "SELECT split_part(content, E'\\n', 1), position FROM docs WHERE source = 'leave.md' ORDER BY position",
      ),
      [["Leave", "0"], ["Leave > Sick", "1"], ["Leave > Parental leave", "2"]],
    );
    assert.equal(await fixture.value("SELECT id FROM docs WHERE content LIKE 'Leave > Parental%'"), parental);
  },
);

testWithPgvector("ingest() removes what is gone, below the given paths alone", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ ...handbook, "it/phones.md": "Phones are cheap." });
  await fixture.ingest();
  await fixture.write({ "notes.txt": undefined, "it/phones.md": undefined });
  const inIt = await fixture.ingest({ paths: [join(fixture.folder, "it")] });
  assert.deepEqual(countsOf(inIt), { added: 0, changed: 0, unchanged: 1, removed: 1, chunksWritten: 0 });
  assert.deepEqual(await fixture.column("SELECT DISTINCT source FROM docs ORDER BY 1"), [
    "it/laptops.html",
    "leave.md",
    "notes.txt",
  ]);
  assert.equal((await fixture.ingest()).removed, 1);
  assert.deepEqual(await fixture.column("SELECT DISTINCT source FROM docs ORDER BY 1"), [
    "it/laptops.html",
    "leave.md",
  ]);
  // what cannot be read any more is gone too
  await fixture.write({ "leave.md": "\n" });
  const summary = await fixture.ingest();
  assert.deepEqual([summary.removed, summary.skipped], [1, [{
    path: "leave.md",
    reason: "it holds no text",
  }]]);
  assert.deepEqual(await fixture.column("SELECT path FROM postern.ingested_files"), ["it/laptops.html"]);
});

testWithPgvector(
  "ingest() leaves out what is not for reading, says why, and goes on after a broken file",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write({
      ".hidden.md": "hidden",
      ".git/config.txt": "hidden",
      "node_modules/x/README.md": "package",
      "large.txt": "x ".repeat(2_000),
      "picture.png": Uint8Array.of(0x89, 0x50, 0, 0, 1),
      "picture.txt": Uint8Array.of(0x89, 0x50, 0, 0, 1),
      "openapi.xml": "{}",
      "empty.md": "",
      "broken.pdf": "%PDF-1.7 broken",
      "z.txt": "The last one.",
    });
    await Deno.symlink(join(fixture.folder, "z.txt"), join(fixture.folder, "link.txt"));
    const summary = await fixture.ingest({ maxFileBytes: 3_000 });
    assert.deepEqual(countsOf(summary), { added: 1, changed: 0, unchanged: 0, removed: 0, chunksWritten: 1 });
    assert.deepEqual(summary.skipped, [
      { path: ".git/", reason: "it is hidden" },
      { path: ".hidden.md", reason: "it is hidden" },
      { path: "empty.md", reason: "it is empty" },
      { path: "large.txt", reason: "it has more than 2.9 KiB" },
      { path: "link.txt", reason: "it is a symbolic link" },
      { path: "node_modules/", reason: "it holds installed packages" },
      { path: "openapi.xml", reason: "its format is not read" },
      { path: "picture.png", reason: "its format is not read" },
      { path: "picture.txt", reason: "it is not text" },
    ]);
    assert.deepEqual(summary.failed.map(({ path }) => path), ["broken.pdf"]);
  },
);

testWithPgvector("ingest() keeps the chunks of a file that cannot be read for now", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "a.pdf": examplePdf([[{ text: "Fire exits are marked green.", y: 700 }]]) });
  await fixture.ingest();
  await fixture.write({ "a.pdf": "%PDF-1.7 half written" });
  const summary = await fixture.ingest();
  assert.deepEqual([summary.removed, summary.failed.length], [0, 1]);
  assert.deepEqual(await fixture.column("SELECT source FROM docs"), ["a.pdf"]);
});

testWithPgvector(
  "ingest() writes to a table of the user's own and never touches rows that it did not write",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.database.query(`CREATE EXTENSION vector;
    CREATE TABLE "Own docs" (key uuid PRIMARY KEY, body varchar NOT NULL, vec halfvec(256), lang text DEFAULT 'en', metadata jsonb);
    INSERT INTO "Own docs" VALUES ('00000000-0000-0000-0000-000000000001', 'mine', NULL, 'de', '{}')`);
    const own = { table: "Own docs", textColumn: "body", vectorColumn: "vec" };
    await fixture.write(handbook);
    await fixture.ingest({ table: own });
    assert.deepEqual(
      await fixture.database.query(
        `SELECT metadata ->> 'source', metadata ->> 'title', metadata ->> 'position', lang, vec IS NOT NULL FROM "Own docs"
        WHERE body LIKE 'Leave%' ORDER BY body`,
      ),
      [["leave.md", "Leave", "0", "en", "t"], ["leave.md", "Leave", "1", "en", "t"]],
    );
    await fixture.write({ "leave.md": undefined, "notes.txt": "Other." });
    assert.equal((await fixture.ingest({ table: own })).removed, 1);
    await fixture.write({ "it/laptops.html": undefined, "notes.txt": undefined });
    await fixture.ingest({ table: own });
    assert.deepEqual(await fixture.column(`SELECT body FROM "Own docs"`), ["mine"]);
  },
);

testWithPgvector("ingest() writes again what somebody deleted from the table", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write(handbook);
  await fixture.ingest();
  await fixture.database.query("DELETE FROM docs WHERE content LIKE 'Leave > Parental%'");
  const embedding = countedEmbedding();
  const summary = await fixture.ingest({ embedding });
  assert.deepEqual(countsOf(summary), { added: 0, changed: 1, unchanged: 2, removed: 0, chunksWritten: 1 });
  await fixture.database.query("DROP TABLE docs");
  assert.equal((await fixture.ingest()).added, 3);
  assert.equal(await fixture.value("SELECT count(*) FROM postern.ingested_files"), "3");
});

testWithPgvector("ingest() embeds a text that comes again once, in one batch and in the next", async () => {
  await using fixture = await createIngestFixture();
  const notice = "All rights are reserved by the library.";
  const names = ["a/notice.txt", "b/notice.txt", "d/notice.txt", "e/notice.txt"];
  await fixture.write(Object.fromEntries(names.map((name) => [name, notice])));
  await fixture.write({ "c/hours.txt": "Opening hours are from nine to five." });
  const embedding = countedEmbedding();
  const summary = await fixture.ingest({ embedding, batchChunks: 2 });
  assert.equal(summary.chunksWritten, 5);
  const texts = embedding.texts.map((text) => text.split("\n").at(-1));
  assert.deepEqual(texts.toSorted(), [notice, "Opening hours are from nine to five."]);
  assert.equal(await fixture.value("SELECT count(DISTINCT embedding) FROM docs"), "2");
});

testWithPgvector("ingest() embeds everything anew for another model or other bounds", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write(handbook);
  await fixture.ingest();
  const embedding = { ...countedEmbedding(), name: "local/other" };
  assert.equal((await fixture.ingest({ embedding })).chunksWritten, 4);
  assert.equal(await fixture.value("SELECT count(*) FROM docs"), "4");
  const summary = await fixture.ingest({ embedding, maxTokens: 100, overlapTokens: 10 });
  assert.equal(summary.changed, 3);
  assert.ok(summary.chunksWritten > 4);
});

testWithPgvector(
  "a document without a chunk is skipped, and what an earlier run made of it removed, but not one that is a heading",
  async () => {
    await using fixture = await createIngestFixture();
    const withText = {
      "heading.md": "# Title\n\nText.\n",
      "matter.md": "---\ntitle: Title\n---\n\nText.\n",
      "navigation.html": "<title>T</title><nav><a href=x>Home</a></nav><p>Text.</p>",
      "title.html": "<title>T</title><h1>T</h1><p>Text.</p>",
      "underlined.rst": "Title\n=====\n\nText.\n",
      "equals.adoc": "= Title\n\nText.\n",
      "blank.txt": "Text.",
      "paper.pdf": examplePdf([[{ text: "Text.", y: 700 }]]),
    };
    const without = {
      "heading.md": "# Title\n",
      "matter.md": "---\ntitle: Title\n---\n",
      "navigation.html": "<title>T</title><nav><a href=x>Home</a></nav>",
      "title.html": "<title>T</title><h1>T</h1>",
      "underlined.rst": "Title\n=====\n",
      "equals.adoc": "= Title\n",
      "blank.txt": " \n\t\n",
      "paper.pdf": examplePdf([[]]),
    };
    await fixture.write(withText);
    assert.equal((await fixture.ingest()).added, 8);
    await fixture.write(without);
    const summary = await fixture.ingest();
    // a heading is text, be it the title; front matter, and a page's own title, are none
    assert.deepEqual(countsOf(summary), { ...nothing, changed: 4, chunksWritten: 4, removed: 4 });
    assert.deepEqual(summary.skipped.map(({ path, reason }) => [path, reason]), [
      ["blank.txt", "it holds no text"],
      ["matter.md", "it holds no text"],
      ["navigation.html", "it holds no text"],
      ["paper.pdf", "it holds no text; perhaps its pages are pictures"],
    ]);
    assert.deepEqual(await fixture.database.query("SELECT source, content FROM docs ORDER BY source"), [
      ["equals.adoc", "Title"],
      ["heading.md", "Title"],
      ["title.html", "T"],
      ["underlined.rst", "Title"],
    ]);
    assert.deepEqual(countsOf(await fixture.ingest()), { ...nothing, unchanged: 4 });
    assert.equal(await fixture.value("SELECT count(*) FROM postern.ingested_files"), "4");
  },
);

testWithPgvector(
  "a record without chunks, as an earlier version made it, goes with the next run",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write({ "a.md": "Text.", "b.md": "\n" });
    await fixture.ingest();
    await fixture.database.query(
      `INSERT INTO postern.ingested_files (target, source_id, path, hash, ingested_at)
      SELECT target, source_id, 'b.md', hash, ingested_at FROM postern.ingested_files`,
    );
    assert.deepEqual(countsOf(await fixture.ingest()), { ...nothing, unchanged: 1, removed: 1 });
  },
);

testWithPgvector(
  "a scan without text is not given to the program for OCR again until it changes",
  async () => {
    await using fixture = await createIngestFixture();
    const [log, texts] = [join(fixture.folder, "log"), join(fixture.folder, "texts")];
    await fixture.write({ "docs/a.md": "Text.", "docs/blank.pdf": examplePdf([[]]), log: "", texts: "" });
    const ocrCommand = ["/bin/sh", "-c", `echo asked >> ${log}; cat ${texts}`];
    const ingest = () => fixture.ingest({ ocrCommand, paths: [join(fixture.folder, "docs")] });
    const asked = async () => (await Deno.readTextFile(log)).split("\n").length - 1;
    for (let run = 0; run < 3; run++) {
      const { skipped, removed } = await ingest();
      assert.deepEqual([skipped, removed], [[{ path: "blank.pdf", reason: "it holds no text" }], 0]);
      assert.equal(await asked(), 1);
    }
    await fixture.write({ "docs/blank.pdf": examplePdf([[], []]), texts: "Typed." });
    assert.equal((await ingest()).changed, 1);
    // one that has lost its text loses its rows
    await fixture.write({ "docs/blank.pdf": examplePdf([[]]), texts: "" });
    assert.equal((await ingest()).removed, 1);
    assert.deepEqual(await fixture.column("SELECT source FROM docs"), ["a.md"]);
    const before = await asked();
    assert.deepEqual([(await ingest()).removed, await asked()], [0, before]);
  },
);

testWithPgvector("a dry run says what would be done, and neither writes nor asks the provider", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "a.md": "One.", "b.md": "Two.", "c.md": "Three.", "d.xml": "{}" });
  const embedding = countedEmbedding();
  const first = await fixture.ingest({ embedding, isDryRun: true });
  assert.deepEqual(countsOf(first), { ...nothing, added: 3, chunksWritten: 3 });
  assert.deepEqual(first.skipped, [{ path: "d.xml", reason: "its format is not read" }]);
  assert.deepEqual(embedding.texts, []);
  assert.deepEqual(
    await fixture.column(
      "SELECT to_regclass('docs')::text UNION ALL SELECT to_regnamespace('postern')::text",
    ),
    [null, null],
  );
  await fixture.ingest();
  await fixture.write({ "a.md": "Another text.", "b.md": undefined, "e.md": "Four." });
  const written = () =>
    fixture.database.query(
      "SELECT xmin::text, ctid FROM docs UNION ALL SELECT xmin::text, ctid FROM postern.ingested_files " +
        "UNION ALL SELECT xmin::text, ctid FROM postern.ingested_sources ORDER BY 1, 2",
    );
  const before = await written();
  const dry = await fixture.ingest({ embedding, isDryRun: true });
  const expected = { added: 1, changed: 1, unchanged: 1, removed: 1, chunksWritten: 2 };
  assert.deepEqual(countsOf(dry), expected);
  assert.deepEqual(embedding.texts, []);
  assert.deepEqual(await written(), before);
  assert.deepEqual(countsOf(await fixture.ingest({ embedding })), expected);
});

testWithPgvector("a file that got another path keeps its rows, which tell the new one", async () => {
  await using fixture = await createIngestFixture();
  await fixture.database.query(`CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE docs (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, content text, embedding vector(256), source text,
      title text, metadata json)`);
  await fixture.write(handbook);
  await fixture.ingest();
  const rows = "SELECT concat_ws('|', id, source, title, metadata ->> 'source') FROM docs ORDER BY id";
  const before = await fixture.column(rows);
  assert.deepEqual(before, [
    "1|it/laptops.html|Laptops|it/laptops.html",
    "2|leave.md|Leave|leave.md",
    "3|leave.md|Leave|leave.md",
    "4|notes.txt|notes|notes.txt",
  ]);
  await fixture.write({
    "leave.md": undefined,
    "it/laptops.html": undefined,
    "people/leave.md": handbook["leave.md"],
    "people/copy.md": handbook["leave.md"],
    "it/computers.txt": handbook["it/laptops.html"],
  });
  const embedding = countedEmbedding();
  const expected = { added: 1, changed: 2, unchanged: 1, removed: 0, chunksWritten: 3 };
  assert.deepEqual(countsOf(await fixture.ingest({ isDryRun: true })), expected);
  assert.deepEqual(countsOf(await fixture.ingest({ embedding })), expected);
  assert.deepEqual(await fixture.column(rows), [
    "2|people/copy.md|Leave|people/copy.md",
    "3|people/copy.md|Leave|people/copy.md",
    "4|notes.txt|notes|notes.txt",
    "5|it/computers.txt|computers|it/computers.txt",
    "6|people/leave.md|Leave|people/leave.md",
    "7|people/leave.md|Leave|people/leave.md",
  ]);
  assert.equal(embedding.texts.length, 3);
  assert.deepEqual(countsOf(await fixture.ingest()), { ...nothing, unchanged: 4 });
});

/** Pages whose words name them, of lines to a page's end and beyond, and with a sentence over more than a chunk. */
function pagedPdf() {
  const lines = (page: number) =>
    Array.from({ length: 30 }, (_, line) => {
      const words = Array.from({ length: 8 }, (_, at) => `p${page}${at % 3 === 1 ? "\xad" : ""}x${line}`);
      // the fourth page and the fifth have no sentences
      const end = page === 4 || page === 5 ? "" : line % 4 === 3 ? "." : "";
      return { text: `${words.join(" ")}${end}`, y: 700 - line * 14 };
    });
  return examplePdf(
    [1, 2, 3, 4, 5, 6].map((
      page,
    ) => [...page === 3 ? [{ text: "Chapter", y: 730, size: 16 }] : [], ...lines(page)]),
  );
}

testWithPgvector("a passage of a PDF names the page where it begins, wherever it is cut", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "manual.pdf": pagedPdf(), "leave.md": "# Leave\n\nThirty days." });
  for (const [maxTokens, overlapTokens] of [[400, 60], [90, 40], [150, 0]] as const) {
    await fixture.ingest({ maxTokens, overlapTokens });
    const rows = await fixture.database.query(
      `SELECT page::text, substring(split_part(content, E'\n\n', 2) FROM '^p(\\d)') FROM docs WHERE source = 'manual.pdf'`,
    );
    assert.ok(new Set(rows.map(([page]) => page)).size > 4);
    for (const [page, named] of rows) assert.equal(page, named);
  }
  assert.equal(await fixture.value("SELECT page FROM docs WHERE source = 'leave.md'"), null);
  // as a table that was made before
  await fixture.database.query("ALTER TABLE docs DROP page");
  await fixture.ingest({ maxTokens: 200 });
  await fixture.database.query("ALTER TABLE docs ADD page int NOT NULL DEFAULT 7");
  await fixture.ingest({ maxTokens: 300 });
  assert.deepEqual(await fixture.column("SELECT DISTINCT page FROM docs"), ["7"]);
  // and one with JSON
  await fixture.database.query("ALTER TABLE docs DROP page, ADD metadata jsonb");
  await fixture.ingest({ maxTokens: 100, overlapTokens: 0 });
  assert.deepEqual(
    await fixture.column("SELECT DISTINCT metadata ->> 'page' FROM docs ORDER BY 1"),
    ["1", "2", "3", "4", "5", "6", null],
  );
});

testWithPgvector("what others wrote beside a text that has not changed stays", async () => {
  await using fixture = await createIngestFixture();
  await fixture.database.query(`CREATE EXTENSION vector;
    CREATE TABLE docs (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, content text, embedding vector(256), title text,
      metadata jsonb)`);
  await fixture.write(handbook);
  await fixture.ingest();
  await fixture.database.query(
    `UPDATE docs SET metadata = '{"seen": true}', title = 'Theirs' WHERE title = 'Leave'`,
  );
  const [first] = await fixture.column("SELECT content FROM docs WHERE title = 'Theirs' ORDER BY id");
  await fixture.write({ "leave.md": `${handbook["leave.md"]}\n# Sabbatical\n\nAfter ten years.\n` });
  assert.equal((await fixture.ingest()).chunksWritten, 1);
  const row = `SELECT concat_ws('|', title, metadata) FROM docs WHERE content = '${first}'`;
  assert.equal(await fixture.value(row), 'Leave|{"seen": true}');
});
