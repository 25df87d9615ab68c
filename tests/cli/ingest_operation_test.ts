import assert from "node:assert/strict";
import { ingestOperation } from "../../src/cli/ingest_operation.ts";
import { createProgress } from "../../src/cli/progress_bar.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { localEmbedding } from "../../src/llm/local/local_embedding.ts";
import { ProviderError } from "../../src/llm/provider_error.ts";
import { connect } from "../../src/postgres/connect/connect.ts";
import { createIngestFixture, type IngestFixture, table } from "../rag_server/ingest/ingest_fixture.ts";
import { testWithPgvector } from "../support/database.ts";
import { databaseOptions } from "../support/database_options.ts";

async function operate(
  fixture: IngestFixture,
  changes: { json?: boolean; embedding?: ReturnType<typeof localEmbedding> },
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
    "c.bin": Uint8Array.of(0, 1),
  });
  const { printed, shown, error } = await operate(fixture, {});
  const broken = printed.pop();
  assert.deepEqual(printed, [
    "Ingested into handbook",
    "",
    "  Files added      1",
    "  Files changed    0",
    "  Files unchanged  0",
    "  Files removed    0",
    "  Files skipped    1",
    "  Files failed     1",
    "  Chunks written   1",
    "  Tokens used      5",
    "  Seconds          0",
    "",
    "Skipped:",
    "  c.bin: it is not text",
    "",
    "Failed:",
  ]);
  assert.match(broken ?? "", /^ {2}b\.pdf: \S/);
  assert.match(shown[0] ?? "", /1 of 3 files/);
  assert.equal(shown.at(-1), "\r\x1b[K");
  assert.ok(error instanceof Error);
  assert.equal(error.message, "Cannot ingest 1 file");
});

testWithPgvector("ingestOperation() prints JSON, and says a provider's fault after it", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "a.md": "# A\n\nSome text." });
  const good = await operate(fixture, { json: true });
  assert.deepEqual(JSON.parse(good.printed.join("\n")), {
    pipeline: "handbook",
    added: 1,
    changed: 0,
    unchanged: 0,
    removed: 0,
    skipped: [],
    failed: [],
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
