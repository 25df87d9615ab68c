import assert from "node:assert/strict";
import { basename, join } from "node:path";
import {
  ingestOperation,
  type IngestOperationOptions,
} from "../../../src/cli/operations/ingest_operation.ts";
import { createProgress } from "../../../src/cli/progress_bar.ts";
import { type LogFields, silentLogger } from "../../../src/core/logger.ts";
import { localEmbedding } from "../../../src/llm/local/local_embedding.ts";
import { ProviderError } from "../../../src/llm/provider_error.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { createIngestFixture, type IngestFixture, table } from "../../rag_server/ingest/ingest_fixture.ts";
import { testWithPgvector } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

async function operate(
  fixture: IngestFixture,
  changes: Partial<IngestOperationOptions>,
) {
  const printed: string[] = [];
  const shown: string[] = [];
  const { signal } = new AbortController();
  const connection = await connect(databaseOptions(fixture.database.url), { signal, logger: silentLogger });
  let error: unknown;
  try {
    await ingestOperation({
      pipeline: "handbook",
      connection,
      table,
      embedding: localEmbedding(),
      maxTokens: 400,
      overlapTokens: 60,
      paths: [fixture.folder],
      json: false,
      progress: createProgress({ isTerminal: true, write: (text) => shown.push(text), now: () => 0 }),
      now: () => 0,
      signal,
      logger: silentLogger,
      ...changes,
    }, (line) => printed.push(line));
  } catch (thrown) {
    error = thrown;
  } finally {
    await connection.close();
  }
  return { printed, shown, error };
}

testWithPgvector("ingestOperation() prints what was done, and fails where a file did", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({
    "a.md": "# A\n\nSome text.",
    "b.pdf": "%PDF-1.7 broken",
    "c.txt": Uint8Array.of(0, 1),
    ...Object.fromEntries(["css", "png", "svg", "zip"].map((suffix) => [`d.${suffix}`, "text"])),
    ".git/HEAD": "ref",
  });
  const logged: unknown[] = [];
  const logger = {
    ...silentLogger,
    debug: (message: string, fields?: LogFields) => void logged.push([message, fields]),
  };
  const { printed, shown, error } = await operate(fixture, { logger });
  const broken = printed.pop();
  const source = printed.splice(2, 1);
  assert.match(source[0] ?? "", /^ {2}Source {11}[\da-f]+ \(\/.*\)$/);
  assert.deepEqual(printed, [
    "Ingested into handbook",
    "",
    "  Chunk tokens     400, 60 repeated",
    "  Files added      1",
    "  Files changed    0",
    "  Files unchanged  0",
    "  Files removed    0",
    "  Files skipped    6",
    "  Files failed     1",
    "  Chunks written   1",
    "  Tokens used      5",
    "  Seconds          0",
    "",
    "Skipped:",
    "  its format is not read  4: d.css, d.png, d.svg, …",
    "  it is hidden            1: .git/",
    "  it is not text          1: c.txt",
    "",
    "Failed:",
  ]);
  assert.match(broken ?? "", /^ {2}b\.pdf: \S/);
  assert.match(shown[0] ?? "", /1 of 3 files/);
  assert.equal(shown.at(-1), "\r\x1b[K");
  assert.ok(error instanceof Error);
  assert.equal(error.message, "Cannot ingest 1 file");
  assert.deepEqual(logged, [
    ["file skipped", { path: ".git/", reason: "it is hidden" }],
    ...["css", "png", "svg", "zip"].map((suffix) => [
      "file skipped",
      { path: `d.${suffix}`, reason: "its format is not read" },
    ]),
    ["file skipped", { path: "c.txt", reason: "it is not text" }],
  ]);
});

testWithPgvector(
  "ingestOperation() tells in a line what a further run changed, and else prints nothing",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write({ "a.md": "Some text.", "b.pdf": "%PDF-1.7 broken" });
    const first = await operate(fixture, { isFurther: true });
    assert.match(
      first.printed.join("\n"),
      /^\d{4}-\S+Z Ingested into handbook: 1 added, 0 changed, 0 removed; 1 chunk written$/,
    );
    for (const json of [false, true]) {
      const { printed, error } = await operate(fixture, { isFurther: true, json });
      assert.deepEqual(printed, []);
      assert.ok(error instanceof Error);
      assert.match(error.message, /^Cannot ingest 1 file: b\.pdf: \S/);
    }
  },
);

testWithPgvector("ingestOperation() prints JSON, and says a provider's fault after it", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "a.md": "# A\n\nSome text.", "c.css": "{}" });
  const good = await operate(fixture, { json: true });
  assert.deepEqual(JSON.parse(good.printed.join("\n")), {
    pipeline: "handbook",
    sources: [{ name: basename(fixture.folder), folder: fixture.folder }],
    dry_run: false,
    added: 1,
    changed: 0,
    unchanged: 0,
    removed: 0,
    skipped: [{ source: "c.css", reason: "its format is not read" }],
    failed: [],
    refused: [],
    notices: [],
    chunk_tokens: 400,
    overlap_tokens: 60,
    chunks_written: 1,
    tokens_used: 5,
    seconds: 0,
  });
  await fixture.write({ "b.md": "More." });
  const embed = () => Promise.reject(new ProviderError("rate_limit", "429"));
  const { printed, error } = await operate(fixture, {
    json: true,
    embedding: { ...localEmbedding(), embed },
  });
  assert.equal(JSON.parse(printed.join("\n")).unchanged, 1);
  assert.ok(error instanceof Error);
  assert.equal(
    error.message,
    "Cannot go on with handbook: the provider's rate limit was exceeded; retry later",
  );
});

testWithPgvector(
  "ingestOperation() says what a dry run would do, and why a source was left as it is",
  async () => {
    await using fixture = await createIngestFixture();
    const names = Array.from({ length: 10 }, (_, at) => `docs/${at}.md`);
    await fixture.write(Object.fromEntries(names.map((name) => [name, "Some text."])));
    const paths = [join(fixture.folder, "docs")];
    const dry = await operate(fixture, { paths, isDryRun: true });
    assert.equal(dry.error, undefined);
    assert.deepEqual(dry.printed.slice(0, 5), [
      "Would ingest into handbook; nothing was written",
      "",
      `  Source           docs (${paths[0]})`,
      "  Chunk tokens     400, 60 repeated",
      "  Files added      10",
    ]);
    assert.equal(await fixture.value("SELECT to_regclass('docs')"), null);
    await operate(fixture, { paths });
    await fixture.write(Object.fromEntries(names.map((name) => [name, undefined])));
    const refused = await operate(fixture, { paths });
    assert.ok(refused.error instanceof Error);
    const message =
      'Cannot remove 10 of the 10 known files of source "docs" (0.md, 1.md, 2.md, …): that is most of them; look ' +
      `whether ${paths[0]} is complete, and if it is, run again with -confirm-removal`;
    assert.equal(refused.error.message, message);
    assert.deepEqual(refused.printed, []);
    const { printed } = await operate(fixture, { paths, json: true, isDryRun: true });
    const { dry_run, refused: refusals, removed } = JSON.parse(printed.join("\n"));
    assert.deepEqual([dry_run, refusals, removed], [true, [message], 0]);
    const removal = await operate(fixture, { paths: [], sourceName: "docs", isRemovalConfirmed: true });
    assert.equal(removal.error, undefined);
    assert.match(removal.printed.join("\n"), /^Removed source docs from handbook\n[^]*Files removed {4}10\n/);
  },
);

testWithPgvector(
  "ingestOperation() leaves what it did for a collector of metrics, but not of a dry run",
  async () => {
    await using fixture = await createIngestFixture();
    await using folder = await temporaryFolder();
    await fixture.write({
      "a.md": "# A\n\nSome text.",
      "b.md": "# B\n\nMore text.",
      "c.bin": Uint8Array.of(0, 1),
    });
    const pipeline = "hand/book";
    const path = join(folder.path, "postern_ingest_hand%2Fbook.prom");
    const metricsFolder = folder.path;
    await operate(fixture, { pipeline, metricsFolder, isDryRun: true });
    await assert.rejects(Deno.stat(path), Deno.errors.NotFound);

    await operate(fixture, { pipeline, metricsFolder });
    const text = await Deno.readTextFile(path);
    assert.match(
      text,
      /^# TYPE postern_ingest_success gauge\npostern_ingest_success\{pipeline="hand\/book"\} 1$/m,
    );
    assert.match(text, /^postern_ingest_files\{pipeline="hand\/book",result="added"\} 2$/m);
    assert.match(text, /^postern_ingest_files\{pipeline="hand\/book",result="skipped"\} 1$/m);
    assert.match(text, /^postern_ingest_chunks\{pipeline="hand\/book"\} 2$/m);
    const endedAt = Number(/^postern_ingest_last_run_timestamp_seconds\{.*\} (.*)$/m.exec(text)?.[1]);
    assert.ok(Math.abs(Date.now() / 1_000 - endedAt) < 60);
    if (Deno.build.os !== "windows") assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o644);

    const { error } = await operate(fixture, {
      pipeline,
      metricsFolder,
      paths: [join(fixture.folder, "absent")],
    });
    assert.ok(error !== undefined);
    assert.match(await Deno.readTextFile(path), /^postern_ingest_success\{.*\} 0$/m);
  },
);

testWithPgvector("ingestOperation() does its work where its metrics cannot be written", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "a.md": "# A\n\nSome text." });
  const warned: string[] = [];
  const { error } = await operate(fixture, {
    metricsFolder: "/no/such/folder",
    logger: { ...silentLogger, warn: (message) => void warned.push(message) },
  });
  assert.equal(error, undefined);
  assert.deepEqual(warned, [
    "Cannot write the metrics of the run to /no/such/folder/postern_ingest_handbook.prom",
  ]);
});
