import { join } from "node:path";
import { createVendor, type Vendor } from "../../llm/wire/vendors/vendor.ts";
import { type ConfigFolder, createConfigFolder } from "../../support/configured_server.ts";
import { requireTestDatabaseUrl, type TestDatabase } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import {
  configText,
  handbookPipeline,
  keyFile,
  pipelineDatabase,
  type RagConfig,
  vendorKey,
} from "../../support/rag_server.ts";

/** A configuration with pipelines over the handbook, and the vendors that they ask. */
export interface DocumentFolder extends AsyncDisposable {
  readonly folder: ConfigFolder;
  readonly database: TestDatabase;
  readonly openai: Vendor;
  readonly anthropic: Vendor;
  readonly config: RagConfig;
}

/**
 * `handbook` (pages without titles), `manuals` (titles, sources and addresses; alice's alone), `closed` (shows no
 * documents) and `broken` (no such database), and the database itself as `shop`.
 */
export async function createDocumentFolder(
  more: RagConfig = {},
  answer = "25 days [1].",
): Promise<DocumentFolder> {
  await using opening = new AsyncDisposableStack();
  const database = opening.use(await createHandbookDatabase());
  await database.query(`
    CREATE TABLE manuals (code text PRIMARY KEY, title text, source text, url text, position int, secret text, body text,
      embedding vector(8));
    INSERT INTO manuals VALUES
      ('kb/1 ü', 'Laptops', 'it/laptop.md', NULL, 0, 's3cret', 'A laptop is renewed after three years.', '[0,0,1,0,0,0,0,0.1]'),
      ('kb-2', 'Gold', 'https://example.com/gold', NULL, 1, 's3cret', 'Gold leave is for gold staff.', '[1,0,0,0,2,0,0,0.1]'),
      ('kb-3', NULL, NULL, 'https://example.com/hidden', 2, 's3cret', 'Hidden leave.', '[1,0,0,0,0,0,0,0.1]')`);
  const openai = opening.use(createVendor("openai", { embed: topicVector }));
  const anthropic = opening.use(createVendor("anthropic", { answer }));
  const parts = { database, openai, anthropic };
  const { hostname, port, username } = new URL(requireTestDatabaseUrl());
  const config: RagConfig = {
    databases: [{
      name: "shop",
      host: hostname,
      port: Number(port),
      database: database.name,
      user: username,
      sslmode: "disable",
    }],
    pipelines: [
      handbookPipeline("handbook", parts, { description: "Rules of the house", top_n: 3 }),
      handbookPipeline("manuals", parts, {
        available_to_users: ["alice"],
        tables: [{
          table: "manuals",
          text_column: "body",
          vector_column: "embedding",
          filter: "body NOT LIKE 'Hidden%'",
        }],
      }),
      handbookPipeline("closed", parts, { allow_include_sources: false }),
      handbookPipeline("broken", parts, { database: pipelineDatabase({ name: "postern_test_none" }) }),
    ],
    ...more,
  };
  const folder = opening.use(await createConfigFolder(configText(config)));
  await Deno.writeTextFile(join(folder.path, keyFile), vendorKey, { mode: 0o600 });
  const stack = opening.move();
  return { folder, database, openai, anthropic, config, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
