import assert from "node:assert/strict";
import { join } from "node:path";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { logIn, writeUsers } from "../../support/accounts.ts";
import { createConfigFolder } from "../../support/configured_server.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import {
  configText,
  handbookPipeline,
  keyFile,
  pipelineDatabase,
  vendorKey,
} from "../../support/rag_server.ts";
import { startServer } from "../../support/server_process.ts";
import { createToolClient } from "../../support/tool_client.ts";

testWithPgvectorServer("a row-level policy hides documents from search, fetch and resources", async () => {
  await using database = await createHandbookDatabase();
  const suffix = crypto.randomUUID().slice(0, 8);
  const [alice, bob, reader] = [`alice_${suffix}`, `bob_${suffix}`, `reader_${suffix}`];
  await database.query(`
    CREATE ROLE "${alice}"; CREATE ROLE "${bob}"; GRANT SELECT ON pages TO "${alice}", "${bob}";
    CREATE ROLE "${reader}" LOGIN IN ROLE "${alice}", "${bob}"; GRANT SELECT ON pages TO "${reader}";
    ALTER TABLE pages ENABLE ROW LEVEL SECURITY;
    CREATE POLICY of_all ON pages USING (audience = 'all' OR current_user = '${alice}')`);
  try {
    await using openai = createVendor("openai", { embed: topicVector });
    await using anthropic = createVendor("anthropic", { answer: "Quite so." });
    const pipeline = handbookPipeline("handbook", { database, openai, anthropic }, {
      database: pipelineDatabase(database, { username: reader }),
      role_from_user: true,
    });
    await using folder = await createConfigFolder(
      configText({ pipelines: [pipeline], server: { auth: { enabled: true } } }),
    );
    await Deno.writeTextFile(join(folder.path, keyFile), vendorKey, { mode: 0o600 });
    await writeUsers(folder, [alice, bob]);
    await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
    for (const [username, sees] of [[alice, true], [bob, false]] as const) {
      const { session } = await logIn(server, username);
      const { call, request } = createToolClient({ url: server.url, token: session.session_token });
      const { text: found } = await call("search", { query: "expense above 500 euros" });
      assert.equal(found.includes("handbook/1-3"), sees, found);
      assert.equal(found.includes("handbook/1-1"), true, found);
      const { isError, text } = await call("fetch", { id: "handbook/1-3" });
      assert.equal(isError, !sees, text);
      const read = await request("resources/read", { uri: "postern://pipelines/handbook/1-3" });
      assert.equal(read.error?.code, sees ? undefined : -32602);
    }
  } finally {
    await database.query(
      `DROP OWNED BY "${alice}", "${bob}", "${reader}"; DROP ROLE "${alice}", "${bob}", "${reader}"`,
    );
  }
});
