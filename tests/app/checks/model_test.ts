import assert from "node:assert/strict";
import { doctor } from "../../../src/app/checks/all_checks.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { localEmbedding } from "../../../src/llm/local/local_embedding.ts";
import { testWithPgvector } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { createWatchFixture, numbered } from "../../rag_server/watch/watch_fixture.ts";
import { assertFault, assertFine, createDoctorFixture, healthyTable } from "./fixture.ts";

const setUp = `${healthyTable}
  ALTER TABLE docs ADD COLUMN next vector(256);
  CREATE SCHEMA postern;
  CREATE TABLE postern.embedded_columns
    (name text, target regclass, vector_column text, model text, is_current boolean, format int DEFAULT 1)`;

testWithPgvector("the doctor finds a column whose vectors are of another model", async () => {
  await using fixture = await createDoctorFixture(setUp);
  await fixture.admin.query(
    "INSERT INTO postern.embedded_columns VALUES ('a', 'docs', 'embedding', 'test/other', false)",
  );
  assert.equal(
    assertFault(
      await fixture.look("model"),
      "error",
      'Cannot use table "docs": its column "embedding" has vectors of test/other, but embedding_llm is test/three',
    ),
    "-- Set embedding_llm to that model, or vector_column to a column of test/three",
  );
});

testWithPgvector("a model on this machine keeps its name by the setting, not by its folder", async () => {
  await using fixture = await createDoctorFixture(setUp);
  const told = async (recorded: string, own: string) => {
    await fixture.admin.query(
      `DELETE FROM postern.embedded_columns;
      INSERT INTO postern.embedded_columns VALUES ('a', 'docs', 'embedding', '${recorded}', false)`,
    );
    const [found] = await fixture.look("model", {}, { embedding: { ...localEmbedding(), name: own } });
    assert.ok(found !== undefined && !found.ok);
    return found.message;
  };
  assert.match(
    await told("onnx/e5", "onnx/e5-new"),
    /is onnx\/e5-new; if only its folder was renamed, set model: e5 beside model_path$/,
  );
  assert.match(await told("openai/e5", "onnx/e5"), /is onnx\/e5$/);
  assert.match(await told("onnx/e5", "openai/e5"), /is openai\/e5$/);
});

testWithPgvector("the doctor looks at the pair that questions are searched by", async () => {
  await using fixture = await createDoctorFixture(setUp);
  const embedding = localEmbedding();
  const next = { embedding, vectorColumn: "next" };
  const notes = async () => {
    const results = await fixture.examine({}, { next });
    return ["model", "dimensions of docs"].map((name) =>
      results.flatMap((result) => result.check === name && result.ok ? [result.note] : [])[0]
    );
  };
  await fixture.admin.query(
    `INSERT INTO postern.embedded_columns VALUES ('b', 'docs', 'next', '${embedding.name}', false)`,
  );
  assert.deepEqual(await notes(), [
    "test/three, in column embedding",
    "3 dimensions, as the provider's",
  ]);
  await fixture.admin.query("UPDATE postern.embedded_columns SET is_current = true");
  assert.deepEqual(await notes(), [
    `${embedding.name}, in column next`,
    "256 dimensions, as the provider's",
  ]);
  const checks = (await fixture.examine({}, { next })).map(({ check }) => check);
  assert.ok(checks.includes(`embedding by ${embedding.name}`) && checks.includes("embedding by test/three"));
});

testWithPgvector("rows that wait for a worker or are set aside are told with what takes them", async () => {
  await using watched = await createWatchFixture();
  await watched.query(
    "INSERT INTO docs (body, embedding) VALUES ('done', '[4,1]'), (' ', NULL), (NULL, NULL)",
  );
  const look = async () => {
    const [found] = await doctor({
      pipelines: [{
        name: "handbook",
        database: watched.database,
        options: databaseOptions(watched.admin.url),
        tables: [{ table: "docs", textColumn: "body", vectorColumn: "embedding" }],
        isHybrid: true,
        embedding: numbered(),
        completions: [],
        keyFiles: [],
      }],
      databases: [],
      signal: new AbortController().signal,
      logger: silentLogger,
    });
    return (found?.results ?? []).filter(({ check }) => check === "vectors of docs");
  };
  await watched.setUp();
  assertFine(await look());
  await watched.query("INSERT INTO docs (body) VALUES ('one'), ('two')");
  const message = "Of 5 rows, 2 have no vector: questions find them only by keywords";
  const worker = "server -watch-pipeline handbook";
  // the blank one waits as well
  assert.equal(
    assertFault(await look(), "warning", message),
    `-- 3 wait in the queue: keep a worker running\n${worker}`,
  );
  await watched.query("UPDATE postern.embedding_queue SET reason = 'too long'");
  assert.equal(
    assertFault(await look(), "warning", message),
    `-- 3 are set aside: mend what postern.embedding_queue says in reason, then\n${worker} -retry-failed`,
  );
  await watched.query("DELETE FROM postern.embedding_queue");
  assert.match(assertFault(await look(), "warning", message), /the tool that wrote them/);
});
