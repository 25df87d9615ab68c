import assert from "node:assert/strict";
import { join } from "node:path";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { createConfigFolder } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPgvectorServer } from "../../support/database.ts";
import { topicVector } from "../../support/handbook_documents.ts";
import {
  configText,
  handbookPipeline,
  keyFile,
  pipelineDatabase,
  vendorKey,
} from "../../support/rag_server.ts";
import { runProgram } from "../../support/server_process.ts";

testWithPgvectorServer("what a role may not do is said with where to give another", async () => {
  await using database = await createTestDatabase();
  const reader = `postern_test_reader_${crypto.randomUUID().slice(0, 8)}`;
  await database.query(`CREATE EXTENSION vector;
    CREATE TABLE pages (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, content text, embedding vector(8));
    CREATE ROLE ${reader} LOGIN; GRANT SELECT ON pages TO ${reader}`);
  try {
    await using openai = createVendor("openai", { embed: topicVector });
    await using anthropic = createVendor("anthropic", { answer: "Quite so." });
    const pipeline = handbookPipeline("handbook", { database, openai, anthropic }, {
      database: pipelineDatabase(database, { username: reader }),
      tables: [{ table: "pages", text_column: "content", vector_column: "embedding", id_column: "id" }],
    });
    await using folder = await createConfigFolder(configText({ pipelines: [pipeline] }));
    await Deno.writeTextFile(join(folder.path, keyFile), vendorKey, { mode: 0o600 });
    const documents = join(folder.path, "documents");
    await Deno.mkdir(documents);
    await Deno.writeTextFile(join(documents, "a.txt"), "Parking is free.\n");
    for (const operation of [["-ingest", "handbook", documents], ["-index-pipeline", "handbook"]]) {
      const { code, stderr } = await runProgram(["-config", folder.configFile, ...operation]);
      assert.equal(code, 1);
      assert.match(
        stderr,
        new RegExp(
          `^postern: Cannot [^\\n]+; role "${reader}" lacks the right; name a role that has it with -db-user\\n$`,
        ),
      );
    }
  } finally {
    await database.query(`DROP OWNED BY ${reader}; DROP ROLE ${reader}`);
  }
});
