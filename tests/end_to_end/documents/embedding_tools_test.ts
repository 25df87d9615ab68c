import assert from "node:assert/strict";
import { logIn, writeUsers } from "../../support/accounts.ts";
import { startConfiguredServer } from "../../support/configured_server.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import { startServer } from "../../support/server_process.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { topicVector } from "../../support/handbook_documents.ts";
import { createDocumentFolder } from "./document_servers.ts";

Deno.test("generate_embedding is there where embedding names a provider", async () => {
  await using openai = createVendor("openai", { embed: topicVector, key: "sk-own" });
  const config = (settings: string) =>
    `embedding: { ${settings} provider: openai, model: e, openai_api_key: sk-own, openai_base_url: "${openai.url}" }`;
  await using running = await startConfiguredServer(config(""));
  assert.deepEqual((await running.client.call("generate_embedding", { text: "leave and leave" })).data, {
    model: "e",
    dimensions: 8,
    vector: [2, 0, 0, 0, 0, 0, 0, 0.1],
  });
  const { text } = await running.client.call("generate_embedding", { text: "gold" });
  assert.equal(text, "Model: e\nDimensions: 8\n\n[0,0,0,0,1,0,0,0.1]");
  openai.fail(401);
  const failed = await running.client.call("generate_embedding", { text: "gold" });
  assert.equal(failed.text, "Cannot embed the text: the provider rejected the server's credentials");
  assert.doesNotMatch(running.server.stderr(), /sk-own/);

  await using off = await startConfiguredServer(config("enabled: false,"));
  const { error } = await off.client.request("tools/call", {
    name: "generate_embedding",
    arguments: { text: "gold" },
  });
  assert.equal(error.code, -32602);
});

testWithPgvectorServer("search_knowledgebase searches its pipeline, for whoever may use that", async () => {
  await using fixture = await createDocumentFolder({ knowledgebase: { pipeline: "manuals" } });
  const { folder } = fixture;
  await writeUsers(folder, ["alice", "bob"]);
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const [alice, bob] = await Promise.all(["alice", "bob"].map(async (name) => {
    const { session } = await logIn(server, name);
    return createToolClient({ url: server.url, token: session.session_token });
  }));
  assert.ok(alice && bob);
  const { data, text } = await alice.call("search_knowledgebase", { query: "gold leave", top_n: 1 });
  const { score, ...found } = Object(data["results"])[0];
  assert.deepEqual(found, {
    id: "manuals/1-kb-2",
    title: "Gold",
    url: "https://example.com/gold",
    source: "https://example.com/gold",
    text: "Gold leave is for gold staff.",
  });
  assert.ok(score > 0);
  assert.match(text, /^1 passage, the best first:\n\n<data-[0-9a-f]+>\nid: manuals\/1-kb-2\n/);
  const refused = await bob.request("tools/call", {
    name: "search_knowledgebase",
    arguments: { query: "gold" },
  });
  assert.match(refused.error.message, /there is no such tool/);
});
